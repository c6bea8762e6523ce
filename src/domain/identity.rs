//! Who a person is: tenant, issuer and the issuer's immutable subject claims, compared byte for byte and never normalised.

use std::fmt;

use crate::{IssuerSlug, TenantSlug};

/// An issuer's identifier exactly as configured; equality is equality of bytes (RFC 8414 section 3.3, RFC 9207 section 2.4).
#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct IssuerUrl(Box<str>);

impl IssuerUrl {
    /// Keeps the text as it is, after checking that it can be an issuer at all: an http(s) URL without query or fragment.
    ///
    /// # Errors
    /// A sentence saying what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let url = url::Url::parse(text).map_err(|_| "not an absolute URL")?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err("an issuer is an https URL");
        }
        if url.query().is_some() || url.fragment().is_some() || text.contains('#') {
            return Err("an issuer has neither query nor fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an issuer carries no user name or password");
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IssuerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The values of an issuer's subject claims, in the order of its claim list.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Subject(Vec<Box<str>>);

/// The values cannot name a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSubject {
    /// A claim is missing, empty or longer than [`Subject::MAX_VALUE`].
    #[error("a subject claim is missing, empty or too long")]
    Value,
    /// More or fewer values than the issuer's claim list.
    #[error("the number of subject claims is not that of the issuer")]
    Count,
}

impl Subject {
    /// Longest value of one claim, in bytes.
    pub const MAX_VALUE: usize = 255;
    /// Most claims an issuer may name.
    pub const MAX_CLAIMS: usize = 4;

    /// Makes a subject from one value for each claim.
    ///
    /// # Errors
    /// [`BadSubject`] when there is no value, too many, or one that is empty or too long.
    pub fn new<I, T>(values: I) -> Result<Self, BadSubject>
    where
        I: IntoIterator<Item = T>,
        T: Into<Box<str>>,
    {
        let values: Vec<Box<str>> = values.into_iter().map(Into::into).collect();
        if values.is_empty() || values.len() > Self::MAX_CLAIMS {
            return Err(BadSubject::Count);
        }
        if values
            .iter()
            .any(|value| value.is_empty() || value.len() > Self::MAX_VALUE)
        {
            return Err(BadSubject::Value);
        }
        Ok(Self(values))
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// `LP(value)` for each claim: the injective form that stands in associated data and under keyed hashes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.iter().map(|v| v.len() + 4).sum());
        for value in &self.0 {
            out.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(value.as_bytes());
        }
        out
    }

    /// Reads back what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`BadSubject`] for any other bytes.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, BadSubject> {
        let mut values: Vec<Box<str>> = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<4>().ok_or(BadSubject::Value)?;
            let length =
                usize::try_from(u32::from_be_bytes(*length)).map_err(|_| BadSubject::Value)?;
            let (value, rest) = rest.split_at_checked(length).ok_or(BadSubject::Value)?;
            values.push(
                std::str::from_utf8(value)
                    .map_err(|_| BadSubject::Value)?
                    .into(),
            );
            bytes = rest;
        }
        Self::new(values)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subject(..)") // a person's identifier does not belong in a log
    }
}

/// A person, as one tenant's issuer knows them. Two identities are the same person only if every byte is equal.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Tenant in which the person was identified.
    pub tenant: TenantSlug,
    /// The issuer's configuration.
    pub issuer: IssuerSlug,
    /// The issuer's identifier.
    pub issuer_url: IssuerUrl,
    /// The subject claims.
    pub subject: Subject,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({}/{})", self.tenant, self.issuer)
    }
}

/// The MCP client that started a request, and how we know.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "known", content = "id")]
pub enum McpClient {
    /// `client_id` or `azp` of a verified subject token.
    Verified(Box<str>),
    /// As the server asserted it.
    Asserted(Box<str>),
    /// Neither the token nor the server named a client.
    Unnamed,
}

impl McpClient {
    /// Injective bytes, for digests that bind a client.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Verified(id) => [b"v", id.as_bytes()].concat(),
            Self::Asserted(id) => [b"a", id.as_bytes()].concat(),
            Self::Unnamed => b"u".to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_bytes_are_injective_and_read_back() {
        let ab_c = Subject::new(["ab", "c"]).unwrap();
        let a_bc = Subject::new(["a", "bc"]).unwrap();
        assert_ne!(ab_c.to_bytes(), a_bc.to_bytes());
        assert_eq!(Subject::from_bytes(&ab_c.to_bytes()), Ok(ab_c));
        assert!(Subject::from_bytes(&[0, 0, 0, 9, b'x']).is_err());
        assert!(Subject::from_bytes(&[]).is_err());
    }

    #[test]
    fn issuers_that_look_alike_are_different() {
        let one = IssuerUrl::parse("https://as.corp.test").unwrap();
        for other in [
            "https://as.corp.test/",
            "https://AS.corp.test",
            "https://as.corp.test:443",
        ] {
            assert_ne!(IssuerUrl::parse(other).unwrap(), one);
        }
        for wrong in [
            "as.corp.test",
            "ftp://as.test",
            "https://as.test?x=1",
            "https://as.test#f",
            "https://u@as.test",
        ] {
            assert!(IssuerUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
