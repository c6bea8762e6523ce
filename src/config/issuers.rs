//! `[[tenant]]`, `[[issuer]]` and `[[server]]`.

use std::time::Duration;

use domain::{
    AccessTokenRules, Allowance, EndpointHosts, Issuer, IssuerSlug, ProviderSlug, Server,
    ServerSlug, SignatureAlgorithm, SubjectMode, Tenant, TenantSlug,
};
use url::Url;

use super::clients::client;
use super::keys::{ALLOW, TENANT};
use super::section::Section;
use super::words::{hosts, issuer_url, name, scopes, site, slug};

/// Claims that people or administrators can change, or that are given to somebody else later.
const MUTABLE_CLAIMS: [&str; 12] = [
    "email",
    "email_verified",
    "preferred_username",
    "username",
    "user_name",
    "unique_name",
    "upn",
    "name",
    "nickname",
    "given_name",
    "family_name",
    "phone_number",
];

/// Reads every `[[tenant]]`; without any there is the tenant `default`.
pub(super) fn tenants(root: &Section<'_>, operator: Option<&str>) -> Vec<Tenant> {
    let sections = root.tables("tenant", TENANT, "slug");
    if sections.is_empty() {
        let slug = TenantSlug::parse("default").ok();
        let name = operator.unwrap_or("Default").into();
        return slug.map(|slug| Tenant { slug, name }).into_iter().collect();
    }
    sections
        .iter()
        .filter_map(|section| {
            let slug = slug(section, "slug", |text| TenantSlug::parse(text).ok());
            let name = name(section, "name");
            Some(Tenant {
                slug: slug?,
                name: name?,
            })
        })
        .collect()
}

/// The tenant that a declaration belongs to.
pub(super) fn tenant_of(section: &Section<'_>) -> Option<TenantSlug> {
    slug(section, "tenant", |text| TenantSlug::parse(text).ok())
}

/// Reads one `[[issuer]]`.
pub(super) fn issuer(section: &Section<'_>) -> Option<Issuer> {
    let slug = slug(section, "slug", |text| IssuerSlug::parse(text).ok());
    let tenant = tenant_of(section);
    section.required("url");
    let url = issuer_url(section, "url");
    let endpoint_hosts = hosts(section, "endpoint_hosts");
    let client = client(section);
    let algorithms = algorithms(section);
    let subject_claims = claims(section, "subject_claims");
    let id_token_claims = match section.depth("id_token_claims") {
        Some(_) => claims(section, "id_token_claims"),
        None => subject_claims.clone(),
    };
    let login_scopes = scopes(section, "login_scopes");
    if login_scopes
        .as_ref()
        .is_some_and(|scopes| !scopes.iter().any(|scope| scope == "openid"))
    {
        section.fault("login_scopes", "lacks `openid`");
    }
    let access_tokens = access_token_rules(section);
    let site = site(section, url.as_ref().and_then(|(_, url)| url.host_str()));
    Some(Issuer {
        slug: slug?,
        tenant: tenant?,
        url: url?.0,
        endpoint_hosts: EndpointHosts::new(endpoint_hosts?),
        client: client?,
        algorithms: algorithms?,
        subject_claims: subject_claims?,
        id_token_claims: id_token_claims?,
        login_scopes: login_scopes?,
        access_tokens: access_tokens?,
        site,
    })
}

fn algorithms(section: &Section<'_>) -> Option<Vec<SignatureAlgorithm>> {
    let names = section.texts("algorithms")?;
    if names.is_empty() {
        section.fault("algorithms", "is empty");
    }
    let read: Option<Vec<_>> = names.into_iter().map(SignatureAlgorithm::parse).collect();
    if read.is_none() {
        section.fault("algorithms", "names an algorithm that we do not accept");
    }
    read
}

fn claims(section: &Section<'_>, key: &str) -> Option<Vec<Box<str>>> {
    let claims = section.texts(key)?;
    for (index, claim) in claims.iter().enumerate() {
        if let Some(mutable) = MUTABLE_CLAIMS.iter().find(|mutable| *mutable == claim) {
            section.fault(
                key,
                &format!("`{mutable}` can change or pass to somebody else, so it names nobody"),
            );
        } else if claim.is_empty()
            || claim.len() > 64
            || !claim.bytes().all(|b| b.is_ascii_graphic())
        {
            section.fault(
                key,
                &format!("entry {} is not the name of a claim", index + 1),
            );
        } else if claims.iter().take(index).any(|other| other == claim) {
            section.fault(key, &format!("`{claim}` stands there twice"));
        }
    }
    Some(claims.into_iter().map(Into::into).collect())
}

fn access_token_rules(section: &Section<'_>) -> Option<AccessTokenRules> {
    let require_at_jwt = section.boolean("require_at_jwt");
    let leeway = section.integer("leeway_s", 0..=60);
    let max_age = section.integer("max_token_age_s", 60..=2_592_000);
    let several_audiences = section.boolean("several_audiences");
    Some(AccessTokenRules {
        require_at_jwt: require_at_jwt?,
        leeway: Duration::from_secs(leeway?.into()),
        max_age: Duration::from_secs(max_age?.into()),
        several_audiences: several_audiences?,
    })
}

/// Reads one `[[server]]`.
pub(super) fn server(section: &Section<'_>) -> Option<Server> {
    let slug_of = slug(section, "slug", |text| ServerSlug::parse(text).ok());
    let tenant = tenant_of(section);
    let name = name(section, "name");
    let resource = resource(section);
    let issuer = slug(section, "issuer", |text| IssuerSlug::parse(text).ok());
    let subject_mode = section.choice(
        "subject",
        &[
            ("token", SubjectMode::Token),
            ("asserted", SubjectMode::Asserted),
        ],
    );
    let site = site(section, resource.as_ref().and_then(Url::host_str));
    let sections = section.tables("allow", ALLOW, "provider");
    let allowed: Vec<_> = sections.iter().filter_map(allowance).collect();
    for (index, allowance) in allowed.iter().enumerate() {
        let before = allowed.iter().take(index);
        if before
            .clone()
            .any(|other| other.provider == allowance.provider)
        {
            section.fault_with(
                "allow",
                &format!("the provider `{}` is allowed twice", allowance.provider),
                "Put all of its scopes into one `[[server.allow]]`.",
            );
        }
    }
    let text = section.text("resource");
    resource?;
    Some(Server {
        slug: slug_of?,
        tenant: tenant?,
        name: name?,
        resource: text?.into(),
        issuer: issuer?,
        subject_mode: subject_mode?,
        allowed,
        site,
    })
}

fn allowance(section: &Section<'_>) -> Option<Allowance> {
    let provider = slug(section, "provider", |text| ProviderSlug::parse(text).ok());
    section
        .depth("scopes")
        .is_none()
        .then(|| section.fault("scopes", "is missing"));
    let scopes = scopes(section, "scopes");
    Some(Allowance {
        provider: provider?,
        scopes: scopes?,
    })
}

/// The resource identifier: any absolute URI without a fragment (RFC 8707 section 2). It is compared, never called.
fn resource(section: &Section<'_>) -> Option<Url> {
    let text = section.required("resource")?;
    let Ok(url) = Url::parse(text) else {
        section.fault("resource", "not an absolute URL");
        return None;
    };
    let fault = if url.fragment().is_some() || text.contains('#') {
        "a resource identifier has no fragment"
    } else if text.len() > 512 || !text.bytes().all(|b| b.is_ascii_graphic()) {
        "is longer than 512 bytes or not plain ASCII"
    } else if !url.username().is_empty() || url.password().is_some() {
        "an address carries no user name or password"
    } else {
        return Some(url);
    };
    section.fault("resource", fault);
    None
}
