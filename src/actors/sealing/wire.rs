//! The plaintext layout inside sealed records: fields in fixed order, each with a u32 length before it.

use domain::{Identity, IssuerSlug, IssuerUrl, Subject, TenantSlug};
use secret::SecretBytes;
use zeroize::Zeroizing;

/// Collects fields into a buffer that is wiped.
#[derive(Default)]
pub(super) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// A buffer with room for `capacity` bytes, so that growing leaves no copies behind.
    pub(super) fn with_room(capacity: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(capacity)))
    }

    /// Adds one field.
    #[must_use]
    pub(super) fn field(mut self, bytes: &[u8]) -> Self {
        self.0
            .extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a field that may be absent: no field, or one field.
    #[must_use]
    pub(super) fn optional(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => self.field(&[0]),
            Some(bytes) => self.field(&[1]).field(bytes),
        }
    }

    /// The plaintext.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads fields back in the same order.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts at the first field.
    pub(super) fn new(plaintext: &'a SecretBytes) -> Self {
        Self(plaintext.expose())
    }

    /// The next field; `None` when the layout is broken.
    pub(super) fn field(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (field, rest) =
            rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        self.0 = rest;
        Some(field)
    }

    /// The next field as text.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.field()?).ok()
    }

    /// The next field as a fixed number of bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.field()?.try_into().ok()
    }

    /// The next two fields as issuer URL and subject: who a person is at this issuer.
    pub(super) fn identity(
        &mut self,
        (tenant, issuer): (&TenantSlug, &IssuerSlug),
    ) -> Option<Identity> {
        let (url, subject) = (self.text()?, self.field()?);
        Some(Identity {
            tenant: tenant.clone(),
            issuer: issuer.clone(),
            issuer_url: IssuerUrl::parse(url).ok()?,
            subject: Subject::from_bytes(subject).ok()?,
        })
    }

    /// The next optional field as text.
    #[expect(
        clippy::option_option,
        reason = "a broken layout is not an absent field"
    )]
    pub(super) fn optional_text(&mut self) -> Option<Option<&'a str>> {
        match self.field()? {
            [0] => Some(None),
            [1] => self.text().map(Some),
            _ => None,
        }
    }
}
