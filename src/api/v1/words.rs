//! What people read in their client about a link and how it ended, in the language that the link was asked for in.

use domain::Locale;
use pages::{Language, with_name};

use crate::browser::language_of;

/// One thing to say. `{name}` is the provider's, `{url}` the link, `{code}` why.
#[derive(Clone, Copy)]
pub(crate) enum Saying {
    /// There is a link.
    Connect,
    /// Where it is.
    Open,
    /// It is out, and not finished.
    Unfinished,
    /// How to get another one.
    Again,
    /// The person said no.
    Declined,
    /// Somebody else opened it.
    Mismatched,
    /// It was taken back.
    Cancelled,
    /// There was a connection.
    Ended,
    /// Nobody used it.
    Unused,
    /// It came back in another browser.
    WrongBrowser,
    /// What came back belonged to something else.
    WrongCallback,
    /// The provider said no.
    Refused,
    /// The vault stopped in the middle.
    Interrupted,
    /// Nobody confirmed the account.
    NotConfirmed,
    /// The provider does not answer.
    Down,
    /// The operator has to act.
    Operator,
}

impl Saying {
    /// In English and in Chinese.
    const fn both(self) -> [&'static str; 2] {
        match self {
            Self::Connect => [
                "Connect your {name} account to continue.",
                "请连接您的 {name} 账号以继续。",
            ],
            // A comma right behind an address would become part of it wherever addresses are made links.
            Self::Open => [
                "Open {url} in your browser, then ask again.",
                "请在浏览器中打开 {url} ，完成后再次提问。",
            ],
            Self::Unfinished => [
                "The {name} account is not connected yet. Finish in the browser page that is open, then ask again.",
                "您的 {name} 账号尚未连接。请在已打开的浏览器页面中完成操作，然后再次提问。",
            ],
            Self::Again => [
                "To connect your {name} account, ask again and use the new link.",
                "如需连接您的 {name} 账号，请再次提问并使用新的链接。",
            ],
            Self::Declined => [
                "You chose not to connect your {name} account, so this cannot go on. If you change your mind, ask again.",
                "您选择了不连接您的 {name} 账号，因此无法继续。如果您改变主意，请再次提问。",
            ],
            Self::Mismatched => [
                "The link was opened by somebody signed in to another account and no longer works.",
                "打开此链接的人登录的是另一个账号，链接已失效。",
            ],
            Self::Cancelled => ["Connecting was cancelled.", "连接已取消。"],
            Self::Ended => [
                "The connection to your {name} account has ended since.",
                "与您的 {name} 账号的连接此后已终止。",
            ],
            Self::Unused => ["The link was not used in time.", "链接未及时使用。"],
            _ => self.failed(),
        }
    }

    const fn failed(self) -> [&'static str; 2] {
        match self {
            Self::WrongBrowser => [
                "The link was used in another browser or by somebody else and no longer works.",
                "链接在另一个浏览器中或被其他人使用，已失效。",
            ],
            Self::WrongCallback => [
                "What came back from {name} did not belong to this request, so it was stopped.",
                "从 {name} 返回的内容不属于此请求，因此已停止。",
            ],
            Self::Refused => ["{name} refused the connection.", "{name} 拒绝了连接。"],
            Self::Interrupted => [
                "Connecting was interrupted before it was finished.",
                "连接在完成前中断了。",
            ],
            Self::NotConfirmed => [
                "The account was not confirmed in time.",
                "账号未及时得到确认。",
            ],
            Self::Down => [
                "{name} does not answer at present. Nothing is lost; try again in a few minutes.",
                "{name} 目前没有响应。没有丢失任何内容；请几分钟后重试。",
            ],
            _ => [
                "{name} cannot be used until whoever runs this server has corrected its settings ({code}). Your connection is kept.",
                "此服务器的运营者修正设置（{code}）之前，无法使用 {name}。您的连接会保留。",
            ],
        }
    }
}

/// Who is spoken to, and about what.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    language: Language,
    name: &'a str,
}

impl<'a> Voice<'a> {
    /// About the provider `name`, in the language of `locale` if we have it, else in English.
    pub(crate) fn new(locale: Option<&Locale>, name: &'a str) -> Self {
        let language = locale.and_then(language_of).unwrap_or(Language::English);
        Self { language, name }
    }

    /// Says it.
    pub(crate) fn say(self, saying: Saying) -> String {
        let [english, chinese] = saying.both();
        let words = match self.language {
            Language::English => english,
            Language::Chinese => chinese,
        };
        with_name(words, "{name}", self.name)
    }

    /// Says where the link is.
    pub(crate) fn open(self, url: &str) -> String {
        self.say(Saying::Open).replace("{url}", url)
    }

    /// Says that the operator has to act, and why.
    pub(crate) fn operator(self, code: &str) -> String {
        self.say(Saying::Operator).replace("{code}", code)
    }

    /// Two sentences, one after the other: there is a space between them only in English.
    pub(crate) fn both(self, one: &str, other: &str) -> String {
        match self.language {
            Language::English => format!("{one} {other}"),
            Language::Chinese => format!("{one}{other}"),
        }
    }

    /// Says it, and how to get a new link.
    pub(crate) fn and_again(self, saying: Saying) -> String {
        self.both(&self.say(saying), &self.say(Saying::Again))
    }
}

#[cfg(test)]
mod tests {
    use super::{Saying, Voice};
    use domain::Locale;

    const ALL: [Saying; 16] = [
        Saying::Connect,
        Saying::Open,
        Saying::Unfinished,
        Saying::Again,
        Saying::Declined,
        Saying::Mismatched,
        Saying::Cancelled,
        Saying::Ended,
        Saying::Unused,
        Saying::WrongBrowser,
        Saying::WrongCallback,
        Saying::Refused,
        Saying::Interrupted,
        Saying::NotConfirmed,
        Saying::Down,
        Saying::Operator,
    ];

    #[test]
    fn both_languages_say_the_same_of_the_same_things() {
        let mut seen = std::collections::BTreeSet::new();
        for saying in ALL {
            let [english, chinese] = saying.both();
            assert!(seen.insert(english) && seen.insert(chinese), "{english}");
            for name in ["{name}", "{url}", "{code}"] {
                let both = [english, chinese].map(|words| words.matches(name).count());
                assert_eq!(both[0], both[1], "{english}");
            }
            assert!(!english.contains('!') && !chinese.contains(['!', '！', '你']));
        }
    }

    #[test]
    fn a_name_stands_in_a_sentence_of_either_language() {
        let said = |tag: &str, name| {
            let locale = Locale::parse(tag).ok();
            let voice = Voice::new(locale.as_ref(), name);
            let link = voice.open("https://vault.test/c/x");
            voice.both(&voice.say(Saying::Connect), &link)
        };
        assert_eq!(
            said("zh-CN", "GitHub"),
            "请连接您的 GitHub 账号以继续。请在浏览器中打开 https://vault.test/c/x ，完成后再次提问。"
        );
        assert!(said("zh-CN", "飞书").starts_with("请连接您的飞书账号以继续。"));
        for tag in ["en", "de", "none at all"] {
            assert_eq!(
                said(tag, "GitHub"),
                "Connect your GitHub account to continue. Open https://vault.test/c/x in your browser, then ask again."
            );
        }
    }
}
