//! Things to show: one server, one provider, one issuer, one person.

use std::sync::Arc;
use std::time::Duration;

use actors::doors::{
    AskView, ConnectionView, EndedView, OwnView, PersonView, ProviderRevocation, RevocationReceipt,
    Tokens, WaitingView,
};
use domain::{
    AccessTokenRules, AccountSource, ClientAuth, ElicitationId, EndpointHosts, Endpoints, GrantId,
    GrantStatus, Holds, Issuer, IssuerSlug, IssuerUrl, McpClient, Means, Oauth, OauthClient, Pkce,
    Provider, ProviderSlug, ScopeEffect, ScopeInfo, ScopeSet, Server, ServerSlug, SubjectMode,
    TenantSlug, Timestamp,
};
use url::Url;

/// Markup that would run if anybody wrote it into a page.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>";

fn tenant() -> TenantSlug {
    TenantSlug::parse("northwind").expect("a slug")
}

fn client() -> OauthClient {
    OauthClient {
        id: "vault".into(),
        auth: ClientAuth::Public,
    }
}

pub(super) fn scopes(list: &str) -> ScopeSet {
    ScopeSet::parse_list(list, ' ').expect("scopes")
}

pub(super) fn issuer() -> Arc<Issuer> {
    Arc::new(Issuer {
        slug: IssuerSlug::parse("staff").expect("a slug"),
        tenant: tenant(),
        url: IssuerUrl::parse("https://login.northwind.example/realm").expect("an issuer"),
        endpoint_hosts: EndpointHosts::default(),
        client: client(),
        algorithms: Vec::new(),
        subject_claims: vec!["sub".into()],
        id_token_claims: vec!["sub".into()],
        login_scopes: scopes("openid"),
        access_tokens: AccessTokenRules {
            require_at_jwt: true,
            leeway: Duration::ZERO,
            max_age: Duration::from_secs(3600),
            several_audiences: false,
        },
        site: Some("northwind.example".into()),
    })
}

pub(super) fn server() -> Arc<Server> {
    Arc::new(Server {
        slug: ServerSlug::parse("notes").expect("a slug"),
        tenant: tenant(),
        name: "Release <b>notes".into(),
        resource: "https://notes.mcp.northwind.example/mcp".into(),
        issuer: IssuerSlug::parse("staff").expect("a slug"),
        subject_mode: SubjectMode::Token,
        allowed: Vec::new(),
        site: Some("northwind.example".into()),
    })
}

pub(super) fn provider() -> Arc<Provider> {
    let scope = |name: &str, effect, words: Option<&str>| ScopeInfo {
        name: name.into(),
        effect,
        words: words.map(Into::into),
        words_in: match words {
            Some("your repositories") => vec![("zh-Hans".into(), "您的代码仓库".into())],
            _ => Vec::new(),
        },
    };
    Arc::new(Provider {
        slug: ProviderSlug::parse("github").expect("a slug"),
        tenant: tenant(),
        name: "GitHub".into(),
        means: Means::Oauth(Oauth {
            client: client(),
            endpoints: Endpoints::Pinned {
                authorization: Url::parse("https://github.example/login/authorize").expect("a URL"),
                token: Url::parse("https://github.example/token").expect("a URL"),
                revocation: None,
                issuer: None,
                iss_required: false,
            },
            endpoint_hosts: EndpointHosts::default(),
            pkce: Pkce::S256,
            scope_joiner: " ".into(),
            authorize_extra: Vec::new(),
            token_extra: Vec::new(),
            default_life_s: None,
        }),
        scopes: vec![
            scope("repo:read", ScopeEffect::See, Some("your repositories")),
            scope("repo:write", ScopeEffect::Change, Some("your code")),
            scope("odd", ScopeEffect::See, None),
        ],
        extra_scopes: scopes("offline_access"),
        account: AccountSource::Unknown,
        allowed_hosts: Vec::new(),
        header_name: "Authorization".into(),
        header_prefix: "Bearer ".into(),
        site: None,
    })
}

pub(super) fn ask_view() -> AskView {
    AskView {
        server: server(),
        provider: provider(),
        authorization_endpoint: Some("https://github.example/login/authorize".into()),
        issuer: issuer(),
        person: PersonView {
            name: Some("Ada L.".into()),
            login: "ada@northwind.example".into(),
        },
        scopes: scopes("repo:read repo:write"),
        client: McpClient::Asserted("https://client.example/".into()),
        reason: Some(HOSTILE.into()),
        locale: None,
        left: Duration::from_secs(9 * 60 + 1),
        reference: "7QK4-2M9D".into(),
    }
}

pub(super) fn tokens() -> Tokens {
    Tokens {
        yes: "csrf-yes".into(),
        no: "csrf-no".into(),
        again: "csrf-again".into(),
        sign_out: "csrf-out".into(),
    }
}

/// The id of everything here.
const ID: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

pub(super) fn own_view() -> OwnView {
    let (server, provider) = (server(), provider());
    OwnView {
        person: ask_view().person,
        waiting: vec![WaitingView {
            id: ElicitationId::from_bytes(ID),
            server: server.clone(),
            provider: provider.clone(),
            left: Duration::from_secs(61),
            decline: "csrf-decline".into(),
        }],
        connections: vec![ConnectionView {
            id: GrantId::from_bytes(ID),
            server: (server.slug.clone(), Some(server)),
            provider: (provider.slug.clone(), Some(provider)),
            account: Some(HOSTILE.into()),
            status: GrantStatus::Active,
            holds: Holds::Tokens,
            scopes: scopes("repo:read odd"),
            created: Timestamp::from_seconds(0),
            last_use: Some(Timestamp::from_seconds(1_796_126_700)),
            end: "csrf-end".into(),
        }],
        sign_out: "csrf-leave".into(),
    }
}

pub(super) fn ended_view() -> EndedView {
    let (server, provider) = (server(), provider());
    EndedView {
        server: (server.slug.clone(), Some(server)),
        provider: (provider.slug.clone(), Some(provider)),
        holds: Holds::Tokens,
        receipt: RevocationReceipt {
            grant: GrantId::from_bytes(ID),
            ended: Timestamp::from_seconds(0),
            provider: ProviderRevocation::Revoked,
        },
    }
}
