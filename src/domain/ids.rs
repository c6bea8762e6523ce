//! Names of things: 128-bit random ids with a text prefix, and the immutable slugs of what is declared in the configuration.
//!
//! An id is 16 random bytes and its text form is `<prefix><32 lower-case hex digits>`; there is exactly one text form for
//! each id. Ids are never ordered by time and say nothing about what they name.

use std::fmt;
use std::str::FromStr;

/// The text is not the one canonical form of the id or slug that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {0}")]
pub struct BadName(pub &'static str);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 16]);

        impl $name {
            /// The prefix of the text form.
            pub const PREFIX: &'static str = $prefix;

            /// Wraps 16 bytes that came from the operating system's generator or from storage.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The raw bytes, as they stand in keys and associated data.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                let bad = BadName(stringify!($name));
                unhex(text.strip_prefix($prefix).ok_or(bad)?).map(Self).ok_or(bad)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

ids! {
    /// This installation; keeps records from moving between installations.
    VaultId = "va_",
    /// One request that a user do something in the browser.
    ElicitationId = "el_",
    /// The durable fact that a person let a server act at a provider.
    GrantId = "gr_",
    /// A person inside a tenant; owns exactly one data key.
    UserId = "us_",
    /// One browser's walk through an elicitation.
    BrowserFlowId = "bf_",
    /// A key of the hierarchy (root, tenant, data or purpose key).
    KeyId = "ke_",
    /// One HTTP request, for logs and problem documents.
    RequestId = "rq_",
}

/// Decodes exactly 32 lower-case hex digits.
fn unhex(text: &str) -> Option<[u8; 16]> {
    let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
    let mut out = [0; 16];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = *pair else { return None };
        *byte = nibble(high)? << 4 | nibble(low)?;
    }
    Some(out)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

macro_rules! slugs {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Accepts `[a-z0-9-]{1,32}` and nothing else.
            ///
            /// # Errors
            /// [`BadName`] for any other text.
            pub fn parse(text: &str) -> Result<Self, BadName> {
                if is_slug(text) { Ok(Self(text.into())) } else { Err(BadName(stringify!($name))) }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

slugs! {
    /// Isolation boundary inside one installation.
    TenantSlug,
    /// An authorization server that identifies users.
    IssuerSlug,
    /// A registered MCP server.
    ServerSlug,
    /// A third-party service.
    ProviderSlug,
    /// Which of a user's accounts at a provider a grant is for; `default` unless the server names another.
    AccountAlias,
    /// One token set inside a grant; `main` unless the provider has several.
    SlotName,
}

fn is_slug(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_exactly_one_text_form() {
        let id = ElicitationId::from_bytes([0xab; 16]);
        let text = id.to_string();
        assert_eq!(text, format!("el_{}", "ab".repeat(16)));
        assert_eq!(text.parse(), Ok(id));
        for wrong in [
            text.to_uppercase(),
            text.replace("el_", "gr_"),
            format!("{text}0"),
            format!(" {text}"),
            text[..34].into(),
        ] {
            assert!(wrong.parse::<ElicitationId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_slug_is_lower_case_ascii_and_short() {
        assert!(ServerSlug::parse("release-notes-2").is_ok());
        for wrong in ["", "A", "a_b", "a/b", "ä", "a b", &"a".repeat(33)] {
            assert!(ServerSlug::parse(wrong).is_err(), "{wrong}");
        }
    }
}
