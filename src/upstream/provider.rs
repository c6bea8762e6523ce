//! What we ask of providers: an authorization, the exchange of its code (C11), refreshes and revocations.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use domain::{
    Clock, Endpoints, ExchangedTokens, ExpectedIssuer, KnownIssuer, Oauth, Pkce, Provider,
    Returned, SamePerson, ScopeSet, Timestamp, TokenAnswer,
};
use oauth2::{
    AuthorizationCode, PkceCodeVerifier, RedirectUrl, RevocationUrl, StandardRevocableToken,
    TokenUrl,
};
use secret::{AccessToken, RefreshToken, Reveal as _};
use url::Url;

use crate::authorize::{self, AuthorizationRequest};
use crate::failure::{ProviderFailure, RefreshFailure, RevokeFailure, RevokeOutcome, Unkept};
use crate::metadata::{Endpoint, FetchFailure, Source};
use crate::outbound::CallKind;
use crate::scrub;
use crate::snapshots::Snapshot;
use crate::token_call::{PinnedCall, Seen, library_client};
use crate::token_reply::TokenReply;
use crate::upstream::Upstream;

mod accounts;

use accounts::named_account;

/// What a provider's answer is exchanged with.
pub struct ProviderCode<'a> {
    /// The code of the callback.
    pub code: secret::AuthorizationCode,
    /// The PKCE verifier whose challenge was sent.
    pub verifier: &'a secret::PkceVerifier,
    /// The scopes that were asked for; they count as granted when the answer names none (RFC 6749 section 5.1).
    pub asked: &'a ScopeSet,
}

/// Where one provider's tokens come from. It is learnt before a lease is taken, for that may take a while.
pub struct TokenEndpoint(Url);

/// What is redeemed.
pub struct Redemption<'a> {
    /// The refresh token.
    pub refresh: &'a RefreshToken,
    /// The scopes of the grant; they stay when the answer names none.
    pub granted: &'a ScopeSet,
}

/// A token to revoke.
#[derive(Clone, Copy)]
pub enum TokenToRevoke<'a> {
    /// An access token.
    Access(&'a AccessToken),
    /// A refresh token; at most providers its end is the end of the grant.
    Refresh(&'a RefreshToken),
}

/// Where the endpoints of one provider are, whatever they come from.
enum Found<'a> {
    Pinned(&'a Endpoints),
    Snapshot(Arc<Snapshot>),
}

impl Found<'_> {
    fn authorization(&self) -> Option<&Url> {
        match self {
            Self::Pinned(Endpoints::Pinned { authorization, .. }) => Some(authorization),
            Self::Pinned(Endpoints::Discovered(_)) => None,
            Self::Snapshot(snapshot) => snapshot.metadata.authorization.as_ref(),
        }
    }

    fn token(&self) -> Option<&Url> {
        match self {
            Self::Pinned(Endpoints::Pinned { token, .. }) => Some(token),
            Self::Pinned(Endpoints::Discovered(_)) => None,
            Self::Snapshot(snapshot) => snapshot.metadata.token.usable(),
        }
    }

    /// Where tokens are revoked, if anywhere. A host that nobody approved is not the same as none.
    fn revocation(&self) -> Result<Option<&Url>, RevokeFailure> {
        match self {
            Self::Pinned(Endpoints::Pinned { revocation, .. }) => Ok(revocation.as_ref()),
            Self::Pinned(Endpoints::Discovered(_)) => Ok(None),
            Self::Snapshot(snapshot) => match &snapshot.metadata.revocation {
                Endpoint::At(url) => Ok(Some(url)),
                Endpoint::Absent => Ok(None),
                Endpoint::Foreign => Err(RevokeFailure::Misconfigured),
            },
        }
    }
}

impl Upstream {
    /// Which `iss` the callbacks of `provider` must carry (RFC 9207 section 2.4).
    ///
    /// # Errors
    /// [`ProviderFailure`] when its metadata cannot be had.
    pub async fn expected_issuer(
        &self,
        provider: &Provider,
        now: Timestamp,
    ) -> Result<ExpectedIssuer, ProviderFailure> {
        let oauth = oauth_of(provider)?;
        match &oauth.endpoints {
            Endpoints::Pinned {
                authorization,
                issuer,
                iss_required,
                ..
            } => Ok(ExpectedIssuer {
                issuer: match issuer {
                    Some(issuer) => KnownIssuer::Named(issuer.clone()),
                    None => KnownIssuer::At(authorization.clone()),
                },
                required: *iss_required,
            }),
            Endpoints::Discovered(issuer) => {
                let of = Source::provider(oauth, issuer);
                let snapshot = self.snapshots().get(self.outbound(), &of, now).await?;
                Ok(ExpectedIssuer {
                    issuer: KnownIssuer::Named(issuer.clone()),
                    required: snapshot.metadata.names_issuer,
                })
            }
        }
    }

    /// Whether `provider` can be connected at all: its endpoints are known and do not contradict its file.
    ///
    /// # Errors
    /// [`ProviderFailure`]; only `Misconfigured` says that it will not pass.
    pub async fn usable(&self, provider: &Provider, now: Timestamp) -> Result<(), ProviderFailure> {
        let found = self.endpoints(provider, now).await?;
        let both = found.authorization().and(found.token());
        both.map(drop).ok_or(ProviderFailure::Misconfigured)
    }

    /// Where the browser goes to give its consent at `provider`; only for the person that was asked.
    ///
    /// # Errors
    /// [`ProviderFailure`] when its metadata cannot be had.
    pub async fn authorization_url(
        &self,
        _person: &SamePerson,
        provider: &Provider,
        request: &AuthorizationRequest<'_>,
        now: Timestamp,
    ) -> Result<Url, ProviderFailure> {
        let found = self.endpoints(provider, now).await?;
        let endpoint = found.authorization();
        let endpoint = endpoint.ok_or(ProviderFailure::Misconfigured)?;
        // Nobody gives a consent for a code that we could not exchange.
        found.token().ok_or(ProviderFailure::Misconfigured)?;
        let back = self.redirect_uri(&provider.slug);
        let oauth = oauth_of(provider)?;
        let extra = &provider.extra_scopes;
        Ok(authorize::provider_url(
            endpoint,
            (oauth, extra),
            &back,
            request,
        ))
    }

    /// C11: exchanges the code of a callback that was accepted, judges the tokens, and learns the account.
    ///
    /// # Errors
    /// [`ProviderFailure`]; with the tokens where they cannot be used, or where the account cannot be learnt though the
    /// provider file says where it stands.
    pub async fn exchange(
        &self,
        _returned: &Returned,
        provider: &Provider,
        code: ProviderCode<'_>,
        clock: &dyn Clock,
    ) -> Result<ExchangedTokens, Unkept<ProviderFailure>> {
        let now = clock.now();
        let found = (self.endpoints(provider, now).await).map_err(ProviderFailure::from)?;
        let endpoint = found.token().ok_or(ProviderFailure::Misconfigured)?;
        let asked = code.asked;
        let oauth = oauth_of(provider).map_err(ProviderFailure::from)?;
        let back = self.redirect_uri(&provider.slug);
        let (reply, seen) = self.exchange_code((oauth, back), endpoint, code).await?;
        let answer = token_answer(reply, oauth);
        let life = default_life(oauth);
        // The life counts from before the request: a token is never believed longer than its issuer believes it.
        let mut tokens =
            ExchangedTokens::check_first(answer, asked, life, now).map_err(Unkept::refused)?;
        match self
            .account_of(provider, &tokens.access, seen.as_ref())
            .await
        {
            Ok(account) => tokens.account = account,
            Err(failure) => {
                // A fresh token that is not let in is no key that somebody mistyped.
                let failure = match failure {
                    ProviderFailure::KeyRefused => ProviderFailure::Unreadable,
                    failure => failure,
                };
                return Err(Unkept {
                    failure,
                    tokens: Some(tokens.into()),
                });
            }
        }
        Ok(tokens)
    }

    /// Where the refresh tokens of `provider` are redeemed.
    ///
    /// # Errors
    /// [`RefreshFailure`] when its metadata cannot be had; nothing was sent.
    pub async fn token_endpoint(
        &self,
        provider: &Provider,
        now: Timestamp,
    ) -> Result<TokenEndpoint, RefreshFailure> {
        let found = self.endpoints(provider, now).await?;
        let endpoint = found.token().ok_or(RefreshFailure::Misconfigured)?;
        Ok(TokenEndpoint(endpoint.clone()))
    }

    /// Redeems a refresh token (RFC 6749 section 6), in one call to `endpoint` and nothing besides. An answer without refresh
    /// token means that the old one goes on. Where the account stands in token answers it is read again, and the caller
    /// compares; an answer that names none says nothing new.
    ///
    /// # Errors
    /// [`RefreshFailure`]; only `InvalidGrant` ends the grant by itself. Tokens that cannot be used come with it, their refresh
    /// token only if it is another than the one redeemed, which has been replaced then.
    pub async fn redeem(
        &self,
        provider: &Provider,
        TokenEndpoint(endpoint): &TokenEndpoint,
        what: Redemption<'_>,
        clock: &dyn Clock,
    ) -> Result<ExchangedTokens, Unkept<RefreshFailure>> {
        let now = clock.now();
        let oauth = oauth_of(provider).map_err(RefreshFailure::from)?;
        let client =
            library_client(&oauth.client).set_token_uri(TokenUrl::from_url(endpoint.clone()));
        let call = PinnedCall::new(self.outbound(), CallKind::Token, endpoint);
        let token = oauth2::RefreshToken::new(what.refresh.reveal().to_owned());
        let reply = client
            .exchange_refresh_token(&token)
            .request_async(&call)
            .await;
        let seen = call.into_seen();
        let reply = reply.map_err(|error| scrub::refresh_failure(error, seen.as_ref()))?;
        let mut answer = token_answer(reply, oauth);
        answer.account = named_account(provider, seen.as_ref());
        let life = default_life(oauth);
        ExchangedTokens::check(answer, what.granted, life, now).map_err(|(why, mut tokens)| {
            let sent = what.refresh.reveal();
            tokens.refresh = tokens.refresh.filter(|token| token.reveal() != sent);
            Unkept::refused((why, tokens))
        })
    }

    /// Asks the provider to end a token (RFC 7009).
    pub async fn revoke(
        &self,
        provider: &Provider,
        token: TokenToRevoke<'_>,
        now: Timestamp,
    ) -> RevokeOutcome {
        let Some(oauth) = provider.oauth() else {
            return RevokeOutcome::NoEndpoint; // a key is ended where it was made, by whoever made it
        };
        let found = match self.endpoints(provider, now).await {
            Ok(found) => found,
            Err(FetchFailure::Misconfigured) => {
                return RevokeOutcome::Failed(RevokeFailure::Misconfigured);
            }
            Err(_) => return RevokeOutcome::Failed(RevokeFailure::Unavailable),
        };
        let endpoint = match found.revocation() {
            Ok(Some(endpoint)) => endpoint,
            Ok(None) => return RevokeOutcome::NoEndpoint,
            Err(failure) => return RevokeOutcome::Failed(failure),
        };
        let client = library_client(&oauth.client).set_revocation_url(revocation_url(endpoint));
        let token = match token {
            TokenToRevoke::Access(token) => StandardRevocableToken::AccessToken(
                oauth2::AccessToken::new(token.reveal().to_owned()),
            ),
            TokenToRevoke::Refresh(token) => StandardRevocableToken::RefreshToken(
                oauth2::RefreshToken::new(token.reveal().to_owned()),
            ),
        };
        let call = PinnedCall::new(self.outbound(), CallKind::Revocation, endpoint);
        let Ok(request) = client.revoke_token(token) else {
            return RevokeOutcome::Failed(RevokeFailure::Misconfigured);
        };
        match request.request_async(&call).await {
            Ok(()) => RevokeOutcome::Revoked,
            Err(error) => scrub::revoke_failure(error, call.into_seen().as_ref()),
        }
    }

    async fn endpoints<'p>(
        &self,
        provider: &'p Provider,
        now: Timestamp,
    ) -> Result<Found<'p>, FetchFailure> {
        let oauth = oauth_of(provider)?;
        match &oauth.endpoints {
            pinned @ Endpoints::Pinned { .. } => Ok(Found::Pinned(pinned)),
            Endpoints::Discovered(issuer) => {
                let of = Source::provider(oauth, issuer);
                Ok(Found::Snapshot(
                    self.snapshots().get(self.outbound(), &of, now).await?,
                ))
            }
        }
    }

    async fn exchange_code(
        &self,
        (oauth, back): (&Oauth, Url),
        endpoint: &Url,
        code: ProviderCode<'_>,
    ) -> Result<(TokenReply, Option<Seen>), ProviderFailure> {
        let client = library_client(&oauth.client)
            .set_token_uri(TokenUrl::from_url(endpoint.clone()))
            .set_redirect_uri(RedirectUrl::from_url(back));
        let mut request =
            client.exchange_code(AuthorizationCode::new(code.code.reveal().to_owned()));
        if oauth.pkce == Pkce::S256 {
            request =
                request.set_pkce_verifier(PkceCodeVerifier::new(code.verifier.reveal().to_owned()));
        }
        for (name, value) in &oauth.token_extra {
            request = request.add_extra_param(Cow::Borrowed(&**name), Cow::Borrowed(&**value));
        }
        let call = PinnedCall::new(self.outbound(), CallKind::Token, endpoint);
        let reply = request.request_async(&call).await;
        let seen = call.into_seen();
        match reply {
            Ok(reply) => Ok((reply, seen)),
            Err(error) => Err(scrub::exchange_failure(error, seen.as_ref())),
        }
    }
}

/// How OAuth is done there. A provider that gives out keys is asked for nothing else by anybody, so this is a slip of ours.
fn oauth_of(provider: &Provider) -> Result<&Oauth, FetchFailure> {
    provider.oauth().ok_or(FetchFailure::Misconfigured)
}

/// The library's tokens become ours here and go no further.
fn token_answer(mut reply: TokenReply, oauth: &Oauth) -> TokenAnswer {
    TokenAnswer {
        access: reply.access(),
        refresh: reply.take_refresh(),
        token_type: reply.kind(),
        expires_in: reply.life(),
        scopes: reply.granted(&oauth.scope_joiner),
        account: None,
    }
}

fn default_life(oauth: &Oauth) -> Option<Duration> {
    oauth
        .default_life_s
        .map(|life| Duration::from_secs(life.into()))
}

/// The library refuses revocation over plain http, which our own client allows for loopback in development alone. The request
/// goes to the pinned address, so the library may be told the https form of it.
fn revocation_url(endpoint: &Url) -> RevocationUrl {
    let mut named = endpoint.clone();
    if named.set_scheme("https").is_err() {
        return RevocationUrl::from_url(endpoint.clone()); // never between http and https
    }
    RevocationUrl::from_url(named)
}

#[cfg(test)]
mod tests;
