//! Names as others might choose them, friendly and hostile.

/// Names as others might choose them.
pub(crate) struct Cast {
    /// What this cast is for; a folder name.
    pub(crate) label: &'static str,
    /// Name of the server.
    pub(crate) server: &'static str,
    /// Origin of the server.
    pub(crate) server_origin: &'static str,
    /// Name of the provider; the operator's, but still escaped.
    pub(crate) provider: &'static str,
    /// Account at the provider.
    pub(crate) account: &'static str,
    /// Another account there.
    pub(crate) other_account: &'static str,
    /// Full name of the person.
    pub(crate) person: &'static str,
    /// Login of the person.
    pub(crate) login: &'static str,
    /// Reason in the server's words.
    pub(crate) reason: &'static str,
    /// Language of the reason, as the server names it.
    pub(crate) lang: &'static str,
    /// Client as asserted.
    pub(crate) client: &'static str,
    /// A permission nobody has put into words.
    pub(crate) raw: &'static str,
}

/// Two friendly casts, in Latin and in Han, and three hostile ones.
pub(crate) const CASTS: [Cast; 5] = [
    Cast {
        label: "ordinary",
        server: "Release Notes",
        server_origin: "release-notes.mcp.northwind.example",
        provider: "GitHub",
        account: "alice-chen",
        other_account: "mallory-dev",
        person: "Alice Chen",
        login: "alice@northwind.example",
        reason: "I need to read merged pull requests since v2.3 to draft the release notes you asked for.",
        lang: "en",
        client: "desktop-assistant",
        raw: "admin:enterprise",
    },
    Cast {
        label: "han",
        server: "发布说明",
        server_origin: "xn--xhqt8ko60avf.mcp.northwind.example",
        provider: "飞书",
        account: "陈爱丽",
        other_account: "王小明",
        person: "陈爱丽",
        login: "爱丽@northwind.example",
        reason: "我需要读取 v2.3 之后合并的拉取请求，以便起草您要的发布说明。",
        lang: "zh-CN",
        client: "桌面助手",
        raw: "管理:企业",
    },
    Cast {
        label: "markup",
        server: "<script>alert(1)</script>",
        server_origin: "\"><img src=x onerror=alert(2)>.example",
        provider: "</title><style>*{display:none}</style>",
        account: "</bdi></main><form action=/evil>",
        other_account: "{login} *bold* <!--",
        person: "<b>Alice</b> &amp; 'Co' \"Ltd\"",
        login: "'><a href=javascript:alert(3)>x</a>@northwind.example",
        reason: "</blockquote><h1>Connected</h1> {provider} says *yes* & <iframe>",
        lang: "en\" onclick=\"alert(6)",
        client: "<svg onload=alert(4)>",
        raw: "\"' autofocus onfocus=alert(5) <",
    },
    Cast {
        label: "rtl",
        server: "\u{202e}ملاحظات الإصدار",
        server_origin: "xn--mgbh0fb.mcp.northwind.example",
        provider: "גיטהאב",
        account: "עליזה\u{202e}nehc",
        other_account: "مالوري",
        person: "أليس تشن",
        login: "أليس@northwind.example",
        reason: "أحتاج إلى قراءة طلبات الدمج \u{2067}منذ الإصدار 2.3",
        lang: "ar",
        client: "مساعد",
        raw: "צפייה:\u{202e}nimda",
    },
    Cast {
        label: "long",
        server: "ReleaseNotesReleaseNotesReleaseNotesReleaseNotesReleaseNotesRels",
        server_origin: "a-very-long-label-that-goes-on-and-on-and-on-until-sixty-three-x.mcp.northwind.example",
        provider: "InternationalInternationalInternationalInternationalInternation",
        account: "alicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealicealiceali",
        other_account: "mallorymallorymallorymallorymallorymallorymallorymallorymallorym",
        person: "WolfeschlegelsteinhausenbergerdorffWolfeschlegelsteinhausenberge",
        login: "alicealicealicealicealicealicealicealice@northwindnorthwindnorthwindnorthwind.example",
        reason: "IneedtoreadmergedpullrequestsIneedtoreadmergedpullrequestsIneedtoreadmergedpullrequestsIneedtoreadmergedpullrequestsIneedtoreadmergedpullrequestsIneedtoreadmergedpullrequestsIneedtoreadmergedpullreq",
        lang: "en",
        client: "desktopassistantdesktopassistantdesktopassistantdesktopassistant",
        raw: "https://www.provider.example/auth/permissions.read.write.admin.everything.everywhere",
    },
];
