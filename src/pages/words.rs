//! Puts values into strings. The only place that makes ready HTML out of text, so the only place where escaping can go wrong.

use std::{borrow::Borrow, fmt};

use askama::filters::{Html, HtmlSafe, escape};

use crate::views::{Address, Chrome};

/// Escaped HTML, made here and nowhere else.
pub(crate) struct Text(String);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Holds by construction: [`Words`] escapes every value and every literal part.
impl HtmlSafe for Text {}

/// Values that strings of a page may name. An absent value renders as nothing; tests see to it that none is missed.
#[derive(Default)]
pub(crate) struct Words<'a> {
    pub(crate) operator: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) server: &'a str,
    pub(crate) account: &'a str,
    pub(crate) login: &'a str,
}

/// What a placeholder stands for.
enum Value<'a> {
    /// Named by an outsider: isolated and bold.
    Other(&'a str),
    /// What somebody signs in with: as above, and read from the left like the identifier it is.
    Login(&'a str),
    /// Named by the operator: isolated.
    Ours(&'a str),
    Number(u32),
    Code(&'a str),
    Address(&'a Address),
}

impl<'a> Value<'a> {
    /// The text, where somebody chose it freely.
    fn name(&self) -> &'a str {
        match self {
            Self::Other(text) | Self::Login(text) | Self::Ours(text) => text,
            Self::Number(_) | Self::Code(_) | Self::Address(_) => "",
        }
    }
}

impl<'a> Words<'a> {
    /// Only what the frame knows.
    pub(crate) fn new(chrome: &'a Chrome) -> Self {
        Self {
            operator: chrome.operator_name(),
            ..Self::default()
        }
    }

    /// A string with the names of this page.
    pub(crate) fn say(&self, string: &str) -> Text {
        self.fill(string, None)
    }

    /// A string that counts, in its form for `n`; templates hand over numbers by value or by reference.
    pub(crate) fn count(&self, one: &str, other: &str, n: impl Borrow<u32>) -> Text {
        let n = *n.borrow();
        let string = if n == 1 { one } else { other };
        self.fill(string, Some(&Value::Number(n)))
    }

    /// A string that names an address.
    pub(crate) fn at(&self, string: &str, address: &Address) -> Text {
        self.fill(string, Some(&Value::Address(address)))
    }

    /// A string that names a code or reference.
    pub(crate) fn code(&self, string: &str, code: &str) -> Text {
        self.fill(string, Some(&Value::Code(code)))
    }

    /// A string that names another account than the one of this page.
    pub(crate) fn other(&self, string: &str, account: &str) -> Text {
        self.fill(string, Some(&Value::Other(account)))
    }

    /// An address by itself.
    pub(crate) fn origin(&self, address: &Address) -> Text {
        self.at("{host}", address)
    }

    /// A string without markup, for `<title>`; not escaped, the template does that.
    pub(crate) fn plain(&self, string: &str) -> String {
        with_name(&string.replace('*', ""), "{provider}", self.provider)
    }

    /// `special` answers `{n}`, `{host}`, `{code}`, `{ref}` and, for another account, `{account}`.
    fn fill(&self, string: &str, special: Option<&Value<'_>>) -> Text {
        let mut out = String::with_capacity(string.len() * 2);
        let mut bold = false;
        let mut rest = string;
        while let Some(at) = rest.find(['{', '*']) {
            let (before, tail) = rest.split_at(at);
            if let Some(after) = tail.strip_prefix('*') {
                put(&mut out, before);
                out.push_str(if bold { "</b>" } else { "<b>" });
                bold = !bold;
                rest = after;
            } else if let Some((name, after)) =
                tail.strip_prefix('{').and_then(|t| t.split_once('}'))
            {
                let named = self.named(name, special);
                put(&mut out, up_to(before, named.name()));
                value(&mut out, &named);
                rest = on_from(named.name(), after);
            } else {
                break; // no closing brace: a slip in a table, which a test of the tables refuses
            }
        }
        put(&mut out, rest);
        if bold {
            out.push_str("</b>");
        }
        Text(out)
    }

    fn named<'b>(&'b self, name: &str, special: Option<&'b Value<'b>>) -> Value<'b> {
        match (name, special) {
            ("account", Some(Value::Other(account))) => Value::Other(account),
            ("n", Some(Value::Number(n))) => Value::Number(*n),
            ("host", Some(Value::Address(address))) => Value::Address(address),
            ("code" | "ref", Some(Value::Code(code))) => Value::Code(code),
            ("server", _) => Value::Other(self.server),
            ("account", _) => Value::Other(self.account),
            ("login", _) => Value::Login(self.login),
            ("provider", _) => Value::Ours(self.provider),
            ("operator", _) => Value::Ours(self.operator),
            _ => Value::Ours(""),
        }
    }
}

/// Puts a name into a sentence, as often as its placeholder stands there, without the spaces that would be holes. For text that
/// is no markup.
pub fn with_name(sentence: &str, placeholder: &str, name: &str) -> String {
    let mut out = String::with_capacity(sentence.len() + name.len());
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(placeholder) {
        out.push_str(up_to(before, name));
        out.push_str(name);
        rest = on_from(name, after);
    }
    out.push_str(rest);
    out
}

/// What stands before a name. Strings have a space between Han and a name, for most names are Latin; beside one that is Han
/// itself it would be a hole.
fn up_to<'s>(before: &'s str, name: &str) -> &'s str {
    match before.strip_suffix(' ') {
        Some(closed) if closed.ends_with(is_han) && name.starts_with(is_han) => closed,
        _ => before,
    }
}

/// What stands after a name, likewise.
fn on_from<'s>(name: &str, after: &'s str) -> &'s str {
    match after.strip_prefix(' ') {
        Some(closed) if closed.starts_with(is_han) && name.ends_with(is_han) => closed,
        _ => after,
    }
}

/// Han, kana and the full-width punctuation that goes with them (UAX 11): written without spaces.
fn is_han(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Appends one value with the markup its kind asks for.
fn value(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Other(text) => wrap(out, "<bdi><b>", text, "</b></bdi>"),
        Value::Login(text) => wrap(out, "<bdi dir=\"ltr\"><b>", text, "</b></bdi>"),
        Value::Ours(text) => wrap(out, "<bdi>", text, "</bdi>"),
        Value::Number(n) => put(out, &n.to_string()),
        Value::Code(text) => wrap(out, "<code>", text, "</code>"),
        Value::Address(address) => {
            let [before, bold, after] = split_site(address);
            out.push_str("<span class=\"origin\">");
            put(out, before);
            wrap(out, "<b>", bold, "</b>");
            put(out, after);
            out.push_str("</span>");
        }
    }
}

fn wrap(out: &mut String, open: &str, text: &str, close: &str) {
    out.push_str(open);
    put(out, text);
    out.push_str(close);
}

/// Appends text, escaped.
fn put(out: &mut String, text: &str) {
    let Ok(escaped) = escape(text, Html); // infallible
    out.push_str(&escaped.to_string());
}

/// Cuts an address into what stands before, in and after the bold part: the declared site where it ends the host on a
/// label boundary, else everything after the scheme.
fn split_site(address: &Address) -> [&str; 3] {
    let text = address.text.as_str();
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = text.split_at(start);
    let host_end = rest.find(['/', ':', '?', '#']).unwrap_or(rest.len());
    let (host, after) = rest.split_at(host_end);
    let site = address.site.as_deref().filter(|site| !site.is_empty());
    let label_start = site
        .and_then(|site| host.strip_suffix(site))
        .filter(|head| head.is_empty() || head.ends_with('.'));
    match label_start {
        Some(head) => {
            let (before, tail) = text.split_at(scheme.len() + head.len());
            let (bold, _) = tail.split_at(host.len() - head.len());
            [before, bold, after]
        }
        None => [scheme, rest, ""],
    }
}

#[cfg(test)]
mod tests {
    use super::{Words, split_site};
    use crate::views::Address;

    #[test]
    fn bolds_only_the_declared_site_on_a_label_boundary() {
        let at =
            |text: &str, site: &str| split_site(&Address::with_site(text, site)).map(str::to_owned);
        assert_eq!(
            at("https://login.northwind.example/x", "northwind.example"),
            ["https://login.", "northwind.example", "/x"]
        );
        assert_eq!(
            at("northwind.example", "northwind.example"),
            ["", "northwind.example", ""]
        );
        assert_eq!(
            at("http://localhost:7601", "localhost"),
            ["http://", "localhost", ":7601"]
        );
        assert_eq!(
            at("evilnorthwind.example", "northwind.example"),
            ["", "evilnorthwind.example", ""]
        );
        assert_eq!(
            at("northwind.example.evil.test", "northwind.example"),
            ["", "northwind.example.evil.test", ""]
        );
        assert_eq!(at("github.com", ""), ["", "github.com", ""]);
        assert_eq!(
            split_site(&Address::new("https://github.com:8/y")),
            ["https://", "github.com:8/y", ""]
        );
    }

    #[test]
    fn values_are_escaped_isolated_and_never_read_as_strings() {
        let words = Words {
            server: "{provider} <b>*x*</b>",
            provider: "A&B",
            ..Words::default()
        };
        let html = words.say("*Ours:* {server} at {provider}").to_string();
        assert_eq!(
            html,
            "<b>Ours:</b> <bdi><b>{provider} &#60;b&#62;*x*&#60;/b&#62;</b></bdi> at <bdi>A&#38;B</bdi>"
        );
    }

    #[test]
    fn names_in_han_stand_without_spaces_and_others_with() {
        let said = |provider| {
            let words = Words {
                provider,
                ..Words::default()
            };
            let html = words.say("连接您的 {provider} 账号：{provider} 与 {n}");
            (html.to_string(), words.plain("连接*您的* {provider} 账号"))
        };
        assert_eq!(
            said("飞书"),
            (
                "连接您的<bdi>飞书</bdi>账号：<bdi>飞书</bdi>与 <bdi></bdi>".to_owned(),
                "连接您的飞书账号".to_owned()
            )
        );
        assert_eq!(
            said("GitHub"),
            (
                "连接您的 <bdi>GitHub</bdi> 账号：<bdi>GitHub</bdi> 与 <bdi></bdi>".to_owned(),
                "连接您的 GitHub 账号".to_owned()
            )
        );
        assert!(
            said("QQ 音乐")
                .0
                .starts_with("连接您的 <bdi>QQ 音乐</bdi>账号")
        );
        let words = Words {
            provider: "飞书",
            ..Words::default()
        };
        assert_eq!(
            words.say("Your {provider} account").to_string(),
            "Your <bdi>飞书</bdi> account"
        );
    }

    #[test]
    fn counts_take_the_form_for_one() {
        let words = Words::default();
        assert_eq!(
            words.count("{n} minute", "{n} minutes", 1_u32).to_string(),
            "1 minute"
        );
        assert_eq!(
            words.count("{n} minute", "{n} minutes", 0_u32).to_string(),
            "0 minutes"
        );
    }
}
