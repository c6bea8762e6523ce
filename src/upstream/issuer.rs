//! What we ask of issuers: the keys that verify subject tokens (C2), and the browser login (C5).

use std::sync::Arc;

use domain::{
    ExpectedIssuer, IdTokenClaims, Issuer, KnownIssuer, LoginAnswer, LoginRefused, Server,
    SignatureAlgorithm, SignedToken, SubjectRefused, Timestamp, VerifiedLogin, VerifiedSubject,
};
use oauth2::{AuthorizationCode, PkceCodeVerifier, RedirectUrl, TokenUrl};
use openidconnect::core::{CoreIdToken, CoreIdTokenVerifier, CoreJwsSigningAlgorithm};
use openidconnect::{ClientId, IssuerUrl, Nonce};
use secret::{IdToken, Reveal as _, SubjectToken};
use url::Url;

use crate::authorize::{self, LoginRequest};
use crate::failure::ProviderFailure;
use crate::jws::{BadJws, Jws};
use crate::keys::NoKey;
use crate::metadata::{Endpoint, FetchFailure, Source};
use crate::outbound::CallKind;
use crate::scrub;
use crate::snapshots::Snapshot;
use crate::token_call::{PinnedCall, library_client};
use crate::upstream::Upstream;

/// Largest subject token, in bytes.
const MAX_SUBJECT_TOKEN: usize = 16 * 1024;

/// What the answer of a login is redeemed with.
pub struct LoginCode<'a> {
    /// The code of the callback.
    pub code: secret::AuthorizationCode,
    /// The nonce that was sent.
    pub nonce: &'a secret::Nonce,
    /// The PKCE verifier whose challenge was sent.
    pub verifier: &'a secret::PkceVerifier,
}

impl Upstream {
    /// C2: whom `token` names, as far as `server` may use it.
    ///
    /// # Errors
    /// The first [`SubjectRefused`] that applies.
    pub async fn verify_subject(
        &self,
        token: &SubjectToken,
        server: &Server,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<VerifiedSubject, SubjectRefused> {
        if let Some(subject) = self.memory().recall(token, (server, issuer), now) {
            return Ok(subject);
        }
        let jws = Jws::parse(token.reveal(), MAX_SUBJECT_TOKEN).map_err(|bad| match bad {
            BadJws::Malformed => SubjectRefused::Malformed,
            BadJws::Algorithm => SubjectRefused::Signature,
        })?;
        self.check_signature(&jws, issuer, now)
            .await
            .map_err(|bad| match bad {
                BadSignature::Keys(_) => SubjectRefused::KeysUnavailable,
                BadSignature::Refused => SubjectRefused::Signature,
            })?;
        let signed = SignedToken {
            claims: jws.claims().ok_or(SubjectRefused::Malformed)?,
            typ: jws.typ,
        };
        let subject = VerifiedSubject::check_token(&signed, server, issuer, now)?;
        self.memory()
            .remember(token, (server, issuer), &subject, now);
        Ok(subject)
    }

    /// Where the browser goes to sign in.
    ///
    /// # Errors
    /// [`LoginRefused::Unreachable`] or [`LoginRefused::Misconfigured`] when the issuer's metadata cannot be used.
    pub async fn login_url(
        &self,
        issuer: &Issuer,
        request: &LoginRequest<'_>,
        now: Timestamp,
    ) -> Result<Url, LoginRefused> {
        let snapshot = self.issuer_snapshot(issuer, now).await?;
        let endpoint = snapshot.metadata.authorization.as_ref();
        let endpoint = endpoint.ok_or(LoginRefused::Misconfigured)?;
        if matches!(snapshot.metadata.token, Endpoint::Foreign) {
            return Err(LoginRefused::Misconfigured); // nobody signs in for a code that we would not exchange
        }
        let back = self.login_redirect_uri(&issuer.slug);
        Ok(authorize::login_url(endpoint, issuer, &back, request))
    }

    /// Which `iss` the callback of a login must carry (RFC 9207 section 2.4).
    ///
    /// # Errors
    /// As [`Self::login_url`].
    pub async fn issuer_iss_rule(
        &self,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<ExpectedIssuer, LoginRefused> {
        let snapshot = self.issuer_snapshot(issuer, now).await?;
        Ok(ExpectedIssuer {
            issuer: KnownIssuer::Named(issuer.url.clone()),
            required: snapshot.metadata.names_issuer,
        })
    }

    /// C5: redeems the code of a login that was started in this browser and judges the ID token.
    ///
    /// # Errors
    /// [`LoginRefused`].
    pub async fn finish_login(
        &self,
        answer: &LoginAnswer,
        issuer: &Issuer,
        login: LoginCode<'_>,
        now: Timestamp,
    ) -> Result<VerifiedLogin, LoginRefused> {
        let snapshot = self.issuer_snapshot(issuer, now).await?;
        let endpoint = snapshot.metadata.token.usable();
        let endpoint = endpoint.ok_or(LoginRefused::Misconfigured)?;
        let nonce = login.nonce;
        let id_token = self.redeem_login(issuer, endpoint, login).await?;
        let claims = self.judge_id_token(&id_token, issuer, nonce, now).await?;
        VerifiedLogin::check(answer, &claims, issuer, now)
    }

    async fn redeem_login(
        &self,
        issuer: &Issuer,
        endpoint: &Url,
        login: LoginCode<'_>,
    ) -> Result<IdToken, LoginRefused> {
        let client = library_client(&issuer.client)
            .set_token_uri(TokenUrl::from_url(endpoint.clone()))
            .set_redirect_uri(RedirectUrl::from_url(self.login_redirect_uri(&issuer.slug)));
        let call = PinnedCall::new(self.outbound(), CallKind::Token, endpoint);
        let reply = client
            .exchange_code(AuthorizationCode::new(login.code.reveal().to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(login.verifier.reveal().to_owned()))
            .request_async(&call)
            .await;
        // The access token of the login is of no use to us and is dropped here.
        let mut reply = reply.map_err(|error| {
            match scrub::exchange_failure(error, call.into_seen().as_ref()) {
                ProviderFailure::Refused(code) if code.as_str() == "invalid_grant" => {
                    LoginRefused::Refused
                }
                failure @ (ProviderFailure::Refused(_) | ProviderFailure::Misconfigured) => {
                    tracing::warn!(issuer.id = %issuer.slug, ?failure, "the issuer's token endpoint refuses our login client; check its client_id, secret and redirect URI");
                    LoginRefused::Misconfigured
                }
                failure => {
                    tracing::warn!(issuer.id = %issuer.slug, ?failure, "the issuer's token endpoint gave no usable answer");
                    LoginRefused::Unreachable
                }
            }
        })?;
        reply.take_id_token().ok_or(LoginRefused::IdToken)
    }

    /// Signature by one of the issuer's keys with one of our algorithms, then the checks of the library, then all claims.
    async fn judge_id_token(
        &self,
        token: &IdToken,
        issuer: &Issuer,
        nonce: &secret::Nonce,
        now: Timestamp,
    ) -> Result<IdTokenClaims, LoginRefused> {
        let jws =
            Jws::parse(token.reveal(), domain::MAX_TOKEN).map_err(|_| LoginRefused::IdToken)?;
        let signature = self.check_signature(&jws, issuer, now).await;
        let snapshot = signature.map_err(|bad| match bad {
            BadSignature::Keys(failure) => login_refused(failure),
            BadSignature::Refused => LoginRefused::IdToken,
        })?;
        let keys = snapshot.keys.as_ref().ok_or(LoginRefused::Misconfigured)?;
        let moment = now.rfc3339().parse().map_err(|_| LoginRefused::IdToken)?;
        // A public verifier has no secret, so that no HMAC can ever be right for it.
        let verifier = CoreIdTokenVerifier::new_public_client(
            ClientId::new(issuer.client.id.to_string()),
            IssuerUrl::new(issuer.url.as_str().to_owned())
                .map_err(|_| LoginRefused::Misconfigured)?,
            keys.openid().clone(),
        )
        .set_allowed_algs(
            issuer
                .algorithms
                .iter()
                .map(|algorithm| library_name(*algorithm)),
        )
        .set_time_fn(move || moment);
        let library_token: CoreIdToken =
            token.reveal().parse().map_err(|_| LoginRefused::IdToken)?;
        library_token
            .claims(&verifier, &Nonce::new(nonce.reveal().to_owned()))
            .map_err(|_| LoginRefused::IdToken)?;
        let claims = jws.claims().ok_or(LoginRefused::IdToken)?;
        let from_here =
            claims.get("iss").and_then(serde_json::Value::as_str) == Some(issuer.url.as_str());
        if !from_here {
            return Err(LoginRefused::IdToken);
        }
        Ok(IdTokenClaims { claims })
    }

    /// Whether a token is signed by a key of `issuer` with an algorithm that we accept from it. Gives back the snapshot with
    /// that key.
    async fn check_signature(
        &self,
        jws: &Jws<'_>,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>, BadSignature> {
        if !issuer.algorithms.contains(&jws.algorithm) {
            return Err(BadSignature::Refused);
        }
        let of = Source::issuer(issuer);
        let mut snapshot =
            (self.snapshots().get(self.outbound(), &of, now).await).map_err(BadSignature::Keys)?;
        if choose(&snapshot, jws) == Err(NoKey::UnknownKid) {
            snapshot = self
                .snapshots()
                .after_key_miss(self.outbound(), &of, snapshot, now)
                .await;
        }
        if choose(&snapshot, jws) == Ok(Signature::Good) {
            Ok(snapshot)
        } else {
            Err(BadSignature::Refused)
        }
    }

    async fn issuer_snapshot(
        &self,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>, LoginRefused> {
        let of = Source::issuer(issuer);
        let snapshot = self.snapshots().get(self.outbound(), &of, now).await;
        snapshot.map_err(login_refused)
    }
}

enum BadSignature {
    /// There are no keys to judge it by.
    Keys(FetchFailure),
    /// Algorithm, key or signature do not fit.
    Refused,
}

#[derive(PartialEq, Eq)]
enum Signature {
    Good,
    Bad,
}

fn choose(snapshot: &Snapshot, jws: &Jws<'_>) -> Result<Signature, NoKey> {
    let keys = snapshot.keys.as_ref().ok_or(NoKey::Unfit)?;
    let key = keys.select(jws.kid.as_deref(), jws.algorithm)?;
    Ok(if jws.verifies(key) {
        Signature::Good
    } else {
        Signature::Bad
    })
}

fn login_refused(failure: FetchFailure) -> LoginRefused {
    match failure {
        FetchFailure::Misconfigured => LoginRefused::Misconfigured,
        FetchFailure::Unreachable | FetchFailure::Timeout | FetchFailure::Unreadable => {
            LoginRefused::Unreachable
        }
    }
}

fn library_name(algorithm: SignatureAlgorithm) -> CoreJwsSigningAlgorithm {
    match algorithm {
        SignatureAlgorithm::Rs256 => CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
        SignatureAlgorithm::Ps256 => CoreJwsSigningAlgorithm::RsaSsaPssSha256,
        SignatureAlgorithm::Es256 => CoreJwsSigningAlgorithm::EcdsaP256Sha256,
        SignatureAlgorithm::Es384 => CoreJwsSigningAlgorithm::EcdsaP384Sha384,
        SignatureAlgorithm::EdDsa => CoreJwsSigningAlgorithm::EdDsa,
    }
}

#[cfg(test)]
mod tests;
