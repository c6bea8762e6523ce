//! Records of a person: the session in a browser, the data key, the sealed profile.

use crypto::{Kind, MetadataDigest, SealContext, SealKey, Sealed};
use domain::{
    Blob, BrowserSession, Digest, Identity, IssuerUrl, Pseudonym, Subject, TenantSlug, Timestamp,
    UserId,
};
use secret::{CsrfSecret, RevealOwn as _};

use super::flow::word_text;
use super::seal;
use super::wire::{Reader, Writer};
use crate::core::Core;
use crate::doors::Refusal;
use crate::rows::{UserRow, WrappedRow};

/// A session record, opened.
pub(crate) struct OpenSession {
    /// Who is signed in.
    pub(crate) session: BrowserSession,
    /// The secret of its form tokens.
    pub(crate) csrf: CsrfSecret,
}

/// What a new session record is made of.
pub(crate) struct SessionSecrets<'a> {
    /// Who signed in.
    pub(crate) session: &'a BrowserSession,
    /// The secret of its form tokens.
    pub(crate) csrf: &'a CsrfSecret,
}

/// A person's opened data key and the person's identity: what all records of the person's grants are sealed with.
pub(crate) struct DataKey {
    /// The key.
    pub(crate) key: SealKey,
    /// The person's internal id.
    pub(crate) user: UserId,
    /// The person.
    pub(crate) identity: Identity,
}

impl Core {
    /// Seals a session.
    pub(crate) fn seal_session(&self, parts: &SessionSecrets<'_>) -> Result<Blob, Refusal> {
        let (session, tenant) = (parts.session, &parts.session.identity.tenant);
        let subject = session.identity.subject.to_bytes();
        let plain = Writer::with_room(2048)
            .field(session.identity.issuer.as_str().as_bytes())
            .field(session.identity.issuer_url.as_str().as_bytes())
            .field(&subject)
            .optional(session.name.as_deref().map(str::as_bytes))
            .optional(session.login.as_deref().map(str::as_bytes))
            .field(&session.signed_in.as_ms().to_be_bytes())
            .field(parts.csrf.as_bytes());
        self.seal_flow(
            tenant,
            &self.session_context(tenant, &session.id),
            plain.bytes(),
        )
    }

    /// Opens a session.
    pub(crate) fn open_session(
        &self,
        tenant: &TenantSlug,
        id: Digest,
        blob: &Blob,
    ) -> Result<OpenSession, Refusal> {
        let plain = self.open_flow(&self.session_context(tenant, &id), blob)?;
        read_session(tenant, id, &mut Reader::new(&plain)).ok_or(Refusal::Internal)
    }

    fn session_context<'a>(&self, tenant: &'a TenantSlug, id: &Digest) -> SealContext<'a> {
        SealContext {
            tenant: Some(tenant),
            metadata: MetadataDigest::of_parts(&[b"session", &id.0]),
            ..SealContext::new(Kind::Session, self.vault)
        }
    }

    /// Makes the row of a new person: a fresh data key and a profile sealed under it.
    pub(crate) fn new_user(
        &self,
        identity: &Identity,
        pseudonym: &Pseudonym,
        now: Timestamp,
    ) -> Result<(UserRow, DataKey), Refusal> {
        let user = UserId::from_bytes(self.id_bytes());
        let made = self
            .keyring
            .new_data_key(&identity.tenant, user, now.as_ms(), &*self.entropy);
        let (key, wrapped) = made.map_err(|error| {
            tracing::error!(error = %error, "a data key cannot be made");
            Refusal::Internal
        })?;
        let subject = identity.subject.to_bytes();
        let plain = Writer::with_room(1024)
            .field(identity.issuer_url.as_str().as_bytes())
            .field(&subject);
        let context = self.profile_context(&identity.tenant, user, pseudonym);
        let profile = seal(&key, &context, plain.bytes(), self)?;
        let row = UserRow {
            id: user,
            tenant: identity.tenant.clone(),
            issuer: identity.issuer.clone(),
            data_key: WrappedRow::from(&wrapped),
            profile,
            created: now,
        };
        Ok((
            row,
            DataKey {
                key,
                user,
                identity: identity.clone(),
            },
        ))
    }

    /// Opens a person's data key for a request that has proven who it is about.
    pub(crate) fn data_key(&self, row: &UserRow, identity: &Identity) -> Result<DataKey, Refusal> {
        Ok(DataKey {
            key: self.open_data_key(row)?,
            user: row.id,
            identity: identity.clone(),
        })
    }

    /// Opens a person's data key for work in the background: the identity comes from the sealed profile, so that a row
    /// that was pointed at another person opens nothing.
    pub(crate) fn data_key_from_profile(
        &self,
        row: &UserRow,
        pseudonym: &Pseudonym,
    ) -> Result<DataKey, Refusal> {
        let key = self.open_data_key(row)?;
        let sealed = Sealed::parse(row.profile.0.clone())?;
        let plain = key.open(
            &self.profile_context(&row.tenant, row.id, pseudonym),
            &sealed,
        )?;
        let mut reader = Reader::new(&plain);
        let identity = reader.identity((&row.tenant, &row.issuer));
        let identity = identity.ok_or(Refusal::Internal)?;
        Ok(DataKey {
            key,
            user: row.id,
            identity,
        })
    }

    fn open_data_key(&self, row: &UserRow) -> Result<SealKey, Refusal> {
        let wrapped = row.data_key.to_key().ok_or(Refusal::Internal)?;
        if wrapped.facts.user != Some(row.id) || wrapped.facts.tenant.as_ref() != Some(&row.tenant)
        {
            tracing::error!("a data key stands in the row of another person");
            return Err(Refusal::Internal);
        }
        Ok(self.keyring.open_data_key(&wrapped)?)
    }

    fn profile_context<'a>(
        &self,
        tenant: &'a TenantSlug,
        user: UserId,
        pseudonym: &Pseudonym,
    ) -> SealContext<'a> {
        SealContext {
            tenant: Some(tenant),
            user: Some(user),
            metadata: MetadataDigest::of_parts(&[b"profile", &pseudonym.0]),
            ..SealContext::new(Kind::UserProfile, self.vault)
        }
    }
}

fn read_session(tenant: &TenantSlug, id: Digest, reader: &mut Reader<'_>) -> Option<OpenSession> {
    let identity = Identity {
        tenant: tenant.clone(),
        issuer: reader.text()?.parse().ok()?,
        issuer_url: IssuerUrl::parse(reader.text()?).ok()?,
        subject: Subject::from_bytes(reader.field()?).ok()?,
    };
    let name = reader.optional_text()?.map(Into::into);
    let login = reader.optional_text()?.map(Into::into);
    let signed_in = Timestamp::from_ms(i64::from_be_bytes(reader.array()?));
    let csrf = CsrfSecret::parse(&word_text(reader.field()?)).ok()?;
    Some(OpenSession {
        session: BrowserSession {
            identity,
            name,
            login,
            signed_in,
            id,
        },
        csrf,
    })
}
