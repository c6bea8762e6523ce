//! Scope sets: parsed once, sorted, compared as sets (RFC 6749 section 3.3).

use std::collections::BTreeSet;
use std::fmt;

/// A set of scopes, sorted by their bytes.
#[derive(Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ScopeSet(BTreeSet<Box<str>>);

/// The text is not a set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scope has 1 to 256 visible ASCII characters without quote and backslash, and a set has at most 64"
)]
pub struct BadScope;

impl ScopeSet {
    /// Most scopes in one set.
    pub const MAX: usize = 64;

    /// Makes a set from single scopes; doubles count once.
    ///
    /// # Errors
    /// [`BadScope`] when a scope breaks RFC 6749 section 3.3 or a limit is passed.
    pub fn new<I, T>(scopes: I) -> Result<Self, BadScope>
    where
        I: IntoIterator<Item = T>,
        T: Into<Box<str>>,
    {
        let set: BTreeSet<Box<str>> = scopes.into_iter().map(Into::into).collect();
        let good = |scope: &str| {
            (1..=256).contains(&scope.len())
                && scope
                    .bytes()
                    .all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
        };
        if set.len() > Self::MAX || !set.iter().all(|scope| good(scope)) {
            return Err(BadScope);
        }
        Ok(Self(set))
    }

    /// Reads a list joined by `joiner` or by spaces, as providers answer it.
    ///
    /// # Errors
    /// [`BadScope`] as [`Self::new`].
    pub fn parse_list(text: &str, joiner: char) -> Result<Self, BadScope> {
        Self::new(text.split([' ', joiner]).filter(|scope| !scope.is_empty()))
    }

    /// The scopes, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether every scope of `other` is here too.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.is_subset(&self.0)
    }

    /// What `self` has and `other` has not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// Both together; at most twice [`Self::MAX`].
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The list as a request carries it.
    pub fn join(&self, joiner: &str) -> String {
        self.iter().collect::<Vec<_>>().join(joiner)
    }
}

impl fmt::Debug for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.join(" "))
    }
}

impl TryFrom<Vec<String>> for ScopeSet {
    type Error = BadScope;

    fn try_from(scopes: Vec<String>) -> Result<Self, BadScope> {
        Self::new(scopes)
    }
}

impl From<ScopeSet> for Vec<String> {
    fn from(set: ScopeSet) -> Self {
        set.0.into_iter().map(Into::into).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_doubles_do_not_matter() {
        let a = ScopeSet::parse_list("b a  a", ' ').unwrap();
        let b = ScopeSet::parse_list("a,b", ',').unwrap();
        assert_eq!(a, b);
        assert_eq!(a.join(" "), "a b");
    }

    #[test]
    fn a_scope_is_visible_ascii() {
        for wrong in ["a b", "a\"b", "a\\b", "ä", "", &"x".repeat(257)] {
            assert_eq!(ScopeSet::new([wrong]), Err(BadScope), "{wrong:?}");
        }
    }
}
