//! The pages of a lab: plain HTML without script, which say in large words that this is practice.

use crate::config::Person;

/// What the consent page shows.
pub(crate) struct Consent<'a> {
    pub(crate) transaction: &'a str,
    pub(crate) client: &'a str,
    pub(crate) person: &'a Person,
    pub(crate) scope: &'a str,
}

/// The login page: one button per person.
pub(crate) fn login(server: &str, transaction: &str, people: &[Person]) -> String {
    let mut body = String::from(
        "<h2>Who are you today?</h2>\n<p>Pick any account. No password is asked.</p>\n",
    );
    body.push_str("<form method=\"post\" action=\"/authorize/account\">\n");
    hidden(&mut body, "transaction", transaction);
    for person in people {
        button(
            &mut body,
            "account",
            &person.id,
            &format!("{} ({})", person.name, person.email),
        );
    }
    body.push_str("</form>\n");
    page(server, "Sign in", &body)
}

/// The consent page: yes, no, or another account.
pub(crate) fn consent(server: &str, ask: &Consent<'_>) -> String {
    let mut body = format!(
        "<h2>Let <bdi>{}</bdi> in?</h2>\n<p>You are <strong><bdi>{}</bdi></strong> (<bdi>{}</bdi>).</p>\n",
        escape(ask.client),
        escape(&ask.person.name),
        escape(&ask.person.id),
    );
    body.push_str("<p>It asks for:</p>\n<ul>\n");
    for scope in ask.scope.split_whitespace() {
        body.push_str("<li><code>");
        body.push_str(&escape(scope));
        body.push_str("</code></li>\n");
    }
    body.push_str("</ul>\n<form method=\"post\" action=\"/authorize/consent\">\n");
    hidden(&mut body, "transaction", ask.transaction);
    button(&mut body, "consent", "yes", "Yes, allow");
    button(&mut body, "consent", "no", "No, refuse");
    button(&mut body, "consent", "other", "Use another account");
    body.push_str("</form>\n");
    page(server, "Allow access", &body)
}

/// A form that carries the callback parameters to the client.
pub(crate) fn form_post(server: &str, target: &str, params: &[(String, String)]) -> String {
    let mut body = String::from("<h2>Back to where you came from</h2>\n");
    body.push_str("<form method=\"post\" action=\"");
    body.push_str(&escape(target));
    body.push_str("\">\n");
    for (name, value) in params {
        hidden(&mut body, name, value);
    }
    button(&mut body, "continue", "yes", "Continue");
    body.push_str("</form>\n");
    page(server, "Continue", &body)
}

/// A page that only says something.
pub(crate) fn notice(server: &str, title: &str, text: &str) -> String {
    page(
        server,
        title,
        &format!("<h2>{}</h2>\n<p>{}</p>\n", escape(title), escape(text)),
    )
}

/// Escapes text for element content and double-quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

fn hidden(body: &mut String, name: &str, value: &str) {
    let (name, value) = (escape(name), escape(value));
    let parts = [
        "<input type=\"hidden\" name=\"",
        &name,
        "\" value=\"",
        &value,
        "\">\n",
    ];
    body.push_str(&parts.concat());
}

fn button(body: &mut String, name: &str, value: &str, label: &str) {
    let parts = [
        "<button type=\"submit\" name=\"",
        name,
        "\" value=\"",
        &escape(value),
        "\">",
    ];
    body.push_str(&parts.concat());
    body.push_str(&escape(label));
    body.push_str("</button>\n");
}

fn page(server: &str, title: &str, body: &str) -> String {
    let (server, title) = (escape(server), escape(title));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – {server} (practice)</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header role=\"note\"><p class=\"big\">PRACTICE SERVER</p>\n\
         <p class=\"big\">This is not a real login.</p></header>\n\
         <main>\n<h1>{server}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = "\
body{font:1.125rem/1.5 system-ui,sans-serif;margin:0;color:#1a1a1a;background:#fff}\
header{background:#ffd400;color:#000;border-bottom:.5rem dashed #000;padding:1rem;text-align:center}\
.big{font-size:2rem;font-weight:800;line-height:1.2;margin:0}\
main{max-width:36rem;margin:0 auto;padding:1rem}\
button{display:block;width:100%;min-height:3rem;margin:.75rem 0;padding:.5rem 1rem;font:inherit;\
text-align:start;color:#1a1a1a;background:#f3f3f3;border:2px solid #1a1a1a;border-radius:.5rem}\
button:hover{background:#e0e0e0}button:focus-visible{outline:4px solid #0b57d0;outline-offset:2px}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_markup_are_shown_as_text() {
        let person = Person::new("\"><script>", "<b>Eve</b>", &[]);
        let html = login("Lab & Co", "t\"", std::slice::from_ref(&person));
        assert!(!html.contains("<script") && !html.contains("<b>Eve"));
        assert!(html.contains("Lab &amp; Co") && html.contains("t&quot;"));
    }

    #[test]
    fn pages_say_that_they_are_practice_and_have_stable_buttons() {
        let person = Person::new("alice", "Alice", &[]);
        let html = login("Lab", "t", std::slice::from_ref(&person));
        assert!(html.contains("not a real login"));
        assert!(html.contains("name=\"account\" value=\"alice\""));
        let ask = Consent {
            transaction: "t",
            client: "<c>",
            person: &person,
            scope: "a b",
        };
        let html = consent("Lab", &ask);
        assert!(html.contains("name=\"consent\" value=\"yes\"") && html.contains("&lt;c&gt;"));
        assert!(html.contains("value=\"no\"") && html.contains("not a real login"));
    }
}
