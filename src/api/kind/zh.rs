//! The same problems in Simplified Chinese, for the pages that explain them. The documents themselves stay English: programs
//! and logs read those.

use super::Kind;

macro_rules! chinese {
    ($($name:ident = $title:literal, $detail:literal;)+) => {
        impl Kind {
            /// Title and detail in Chinese.
            pub(crate) const fn in_chinese(self) -> (&'static str, &'static str) {
                match self {$(
                    Self::$name => ($title, $detail),
                )+}
            }
        }
    };
}

chinese! {
    Unauthenticated = "密钥缺失或无效",
        "请发送一个 Authorization 请求头，内容为 `Bearer` 和此监听端的一个有效密钥，并完整复制密钥。用 `strongroom server new-key` 为服务器创建密钥，用 `strongroom admin-key new` 为管理监听端创建密钥。";
    KeyMisplaced = "密钥放错了位置",
        "在 URL、请求头或请求体中发现了 Strongroom 密钥，日志可能会留下它。请吊销该密钥，另建一个新的，并且只在 Authorization 请求头中发送。管理员可以在日志中找到它的公开 ID。";
    BrowserRequest = "此处不接受浏览器请求",
        "请求带有 Cookie、Origin 或 Sec-Fetch-Site。此监听端供服务器使用：请从您的服务器调用，并去掉这些请求头。";
    InvalidRequest = "请求无效",
        "请求中有内容缺失、未知或超出范围。`errors` 列出了具体内容和位置。";
    MalformedJson = "无法读取请求体",
        "请求体必须是一个 UTF-8 编码的 JSON 对象，没有重复的成员，最多嵌套 16 层，最多 1,000 个成员。`errors` 指出了读取停止的位置。";
    UnsupportedMediaType = "此处只接受 JSON",
        "请以 `Content-Type: application/json` 发送 UTF-8 编码的请求体，不要使用内容编码。";
    TooLarge = "请求体过大",
        "请求体最多 64 KiB。请减少发送的内容。";
    UrlTooLong = "URL 过长",
        "路径和查询合计最多 4 KiB、32 个参数。请减少发送的内容。";
    HeadTooLarge = "请求头过大",
        "请求头合计最多 32 KiB、64 项。请减少发送的内容。";
    MethodNotAllowed = "此地址不支持该方法",
        "此地址存在，但不支持该方法；Allow 列出了支持的方法。";
    RequestTimeout = "请求体到达太慢",
        "请求体没有在 10 秒内到达；没有更改任何内容。请重新发送。";
    NotFound = "未找到",
        "对于此调用方和此用户，这里没有任何内容。请检查地址和 ID。";
    SubjectTokenInvalid = "用户身份未经证明",
        "用户令牌或所声明的用户未被接受。请发送用户当前的访问令牌，它须由此服务器的登录服务为此服务器的资源签发；直接声明用户需要管理员许可。审计日志记录了未通过的检查。";
    IssuerUnavailable = "无法取得登录服务的公钥",
        "用户令牌的登录服务没有响应，因此无法验证该令牌。请在 Retry-After 给出的秒数之后重试。";
    ProviderNotPermitted = "不允许使用此第三方服务",
        "此服务器不得请求此第三方服务，或者该服务不存在。请检查拼写，或请管理员允许。";
    ScopesNotPermitted = "权限超出允许范围",
        "此服务器不得请求 `missing` 中列出的权限。请去掉它们，或请管理员允许。";
    RequestStateInvalid = "无法使用此 requestState",
        "此 request_state 对本次调用无效，或已失效。请去掉它，再次调用 ensure。";
    ElicitationGone = "此请求已结束",
        "此请求已经结束。请调用 ensure 了解当前状态，或新建一个请求。";
    IdempotencyConflict = "Idempotency-Key 已被使用",
        "此 Idempotency-Key 曾用于另一个请求。请为新的请求使用新的值。";
    KeyLimit = "此服务器已有两个有效密钥",
        "一个服务器最多有两个有效密钥：旧密钥及其后继。请先吊销其中一个，再新建。";
    TooManyRequests = "请求过多",
        "短时间内的请求过多；没有更改任何内容。请在 Retry-After 给出的秒数之后重试。";
    Busy = "保管库繁忙",
        "队列已满，或其他请求此刻正在更改同一内容；没有更改任何内容。请在 Retry-After 给出的秒数之后重试。";
    Unavailable = "保管库目前无法提供服务",
        "存储或审计日志目前无法写入。请在 Retry-After 给出的秒数之后重试；管理员可以在日志和管理监听端的 /readyz 中找到原因。";
    Internal = "保管库出错",
        "保管库内部出错。请把 request_id 告诉管理员，日志中有相关记录。";
}
