//! Text of others that people read on our pages: what may not stand in it. One list for all who show such text.

/// Whether a character changes how the text around it is read, or cannot be seen: controls, separators of lines,
/// bidirectional marks and overrides, fillers, and what has no width.
pub fn is_misleading(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether something in a text can be taken for an address: a host, an e-mail address, or a scheme with what follows it. A
/// page of ours must not be the place where a server tells people to go elsewhere.
pub fn names_an_address(text: &str) -> bool {
    let ends_word = |c: char| {
        c.is_whitespace() || "()[]{}<>\"'`,;!|*\u{3001}\u{ff0c}\u{201c}\u{201d}".contains(c)
    };
    text.split(ends_word)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '\\'))
        .any(is_address)
}

fn is_address(word: &str) -> bool {
    let parts = || word.split(['/', '\\', ':', '@', '?', '#', '=', '&']);
    word.contains("//")
        || word.contains("\\\\")
        || word.to_lowercase().starts_with("www.")
        || has_scheme(word)
        || word
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        || parts().any(is_host)
}

/// `mailto:x`, `javascript:…`: a letter, then letters, digits, plus, point or hyphen (RFC 3986 section 3.1), a colon, and
/// something after it.
fn has_scheme(word: &str) -> bool {
    let Some((scheme, rest)) = word.split_once(':') else {
        return false;
    };
    let first = scheme
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic());
    let others = scheme
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
    first && others && scheme.len() > 1 && !rest.is_empty()
}

/// `evil.example`: two labels or more, the last one of two letters or more; or four numbers, an IPv4 address. A full stop
/// of another script counts between ASCII letters alone, where a browser would take it for a dot: others end sentences with
/// it and put no space after it.
fn is_host(part: &str) -> bool {
    let wide = ['\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let part = if part.chars().all(|c| c.is_ascii() || wide.contains(&c)) {
        part.replace(wide, ".")
    } else {
        part.to_owned()
    };
    let labels: Vec<&str> = part.trim_end_matches('.').split('.').collect();
    let formed = |label: &&str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let number = |label: &&str| label.bytes().all(|b| b.is_ascii_digit());
    let named = labels.last().is_some_and(|last| {
        last.chars().count() > 1 && last.chars().next().is_some_and(char::is_alphabetic)
    });
    let numbered = labels.len() == 4 && labels.iter().all(number);
    labels.len() > 1 && labels.iter().all(formed) && (named || numbered)
}

/// Whether a word that was typed in as a key is plainly something else: an address (AT-055: a callback pasted by somebody who
/// was told to), a signed token, a key or a state of this vault.
pub fn is_foreign_secret(word: &str) -> bool {
    let pair = |name: &str| word.contains(&format!("{name}="));
    word.contains("://")
        || (pair("code") && pair("state"))
        || word.starts_with("srk_")
        || word.starts_with("srs1.")
        || (word.starts_with("eyJ") && word.bytes().filter(|byte| *byte == b'.').count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_turns_text_is_misleading() {
        for c in "\u{0}\n\u{7f}\u{85}\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{3164}\u{feff}\u{fff9}\u{e0001}".chars() {
            assert!(is_misleading(c), "{:x}", u32::from(c));
        }
        for c in "aZ9 .-é中あ🙂\u{301}\u{fe0f}".chars() {
            assert!(!is_misleading(c), "{c}");
        }
    }

    #[test]
    fn hosts_mail_addresses_and_schemes_are_addresses() {
        for text in [
            "evil.example/login",
            "Go to evil.example.",
            "(evil.example)",
            "first,evil.example",
            "EVIL.EXAMPLE",
            "evil.example:8443",
            "xn--e1afmkfd.xn--p1ai",
            "пример.рф",
            "evil。example",
            "evil．example",
            "mailto:x@y.z",
            "write to x@y",
            "javascript:alert(1)",
            "data:text/html,x",
            "tel:123",
            "https://x",
            "see //evil/x",
            "\\\\evil\\share",
            "www.x",
            "127.0.0.1",
            "localhost:8080",
        ] {
            assert!(names_an_address(text), "{text}");
        }
    }

    #[test]
    fn plain_sentences_are_not() {
        for text in [
            "",
            "To read your notes for today's summary.",
            "Reason: the calendar is needed, e.g. for 12:30.",
            "Version 1.2.3 of the report (draft)...",
            "Ask Dr. No, i.e. me; U.S.A. only!",
            "This and/or that, 50% off @ noon, @alice",
            "为了读取您的笔记。然后继续。",
            "Чтобы прочитать заметки. Спасибо.",
            "It said: \"yes\"",
        ] {
            assert!(!names_an_address(text), "{text}");
        }
    }
}
