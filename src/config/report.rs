//! What `strongroom check` prints: everything declared, and what has to be registered elsewhere.

use std::fmt::{self, Write as _};

use domain::{
    AccountSource, ClientAuth, EndpointHosts, Issuer, Means, OauthClient, Provider, Server,
    SubjectMode, TenantSlug,
};

use super::{Config, Mode};

/// The whole report; ends with a line break.
pub(super) fn render(config: &Config) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    if write_all(config, &mut out).is_err() {
        out.push_str("(report cut short)\n");
    }
    out
}

fn write_all(config: &Config, out: &mut String) -> fmt::Result {
    let listen = &config.listen;
    writeln!(out, "origin      {}", config.public_origin())?;
    writeln!(out, "connect     {}", listen.connect)?;
    writeln!(out, "api         {}", listen.api)?;
    write!(out, "admin       {}", listen.admin_socket.display())?;
    match listen.admin {
        Some(admin) => writeln!(out, " and {admin}")?,
        None => writeln!(out)?,
    }
    if !listen.trusted_proxies.is_empty() {
        writeln!(out, "proxy       {}", join(&listen.trusted_proxies))?;
    }
    writeln!(out, "data        {}", config.data_dir.display())?;
    let seal = &config.seal;
    match (&seal.key_file, &seal.passphrase) {
        (Some(path), Some(_)) => writeln!(out, "root key    {} or a passphrase", path.display())?,
        (Some(path), None) => writeln!(out, "root key    {}", path.display())?,
        (None, _) => writeln!(out, "root key    by a passphrase")?,
    }
    writeln!(out, "outbound    {}", outbound(config))?;
    for tenant in config.registry.tenants() {
        writeln!(out, "\ntenant {} ({})", tenant.slug, tenant.name)?;
        write_tenant(config, &tenant.slug, out)?;
    }
    Ok(())
}

fn outbound(config: &Config) -> String {
    let mut text = String::from("public addresses");
    if config.addresses.loopback {
        text.push_str(match config.mode {
            Mode::Dev => ", and loopback for practice",
            Mode::Serve => ", and LOOPBACK: danger.loopback is set, which is for tests only",
        });
    }
    for internal in &config.addresses.internal {
        text.push_str(", ");
        text.push_str(&internal.host);
        text.push_str(" in ");
        text.push_str(&join(&internal.ranges));
    }
    text
}

fn write_tenant(config: &Config, tenant: &TenantSlug, out: &mut String) -> fmt::Result {
    let registry = &config.registry;
    let mut empty = true;
    for issuer in registry.issuers().filter(|i| i.tenant == *tenant) {
        write_issuer(config, issuer, out)?;
        empty = false;
    }
    for server in registry.servers().filter(|s| s.tenant == *tenant) {
        write_server(server, out)?;
        empty = false;
    }
    for provider in registry.providers().filter(|p| p.tenant == *tenant) {
        write_provider(config, provider, out)?;
        empty = false;
    }
    if empty {
        writeln!(out, "  nothing declared yet")?;
    }
    Ok(())
}

fn write_issuer(config: &Config, issuer: &Issuer, out: &mut String) -> fmt::Result {
    let algorithms: Vec<_> = issuer.algorithms.iter().map(|a| a.name()).collect();
    writeln!(out, "  issuer {}", issuer.slug)?;
    writeln!(out, "    url           {}", issuer.url.as_str())?;
    write_endpoint_hosts(&issuer.endpoint_hosts, out)?;
    writeln!(out, "    client        {}", client(&issuer.client))?;
    writeln!(out, "    redirect URI  {}", login_callback(config, issuer))?;
    writeln!(
        out,
        "    a person is   {}",
        issuer.subject_claims.join(" + ")
    )?;
    writeln!(out, "    signatures    {}", algorithms.join(", "))
}

fn write_server(server: &Server, out: &mut String) -> fmt::Result {
    let subject = match server.subject_mode {
        SubjectMode::Token => "by access token",
        SubjectMode::Asserted => "by access token, or on this server's word alone",
    };
    writeln!(out, "  server {} ({})", server.slug, server.name)?;
    writeln!(out, "    resource      {}", server.resource)?;
    writeln!(out, "    users         {subject}, issuer {}", server.issuer)?;
    if server.allowed.is_empty() {
        writeln!(out, "    may ask for   nothing: no [[server.allow]]")?;
    }
    for allowance in &server.allowed {
        let scopes = if allowance.scopes.is_empty() {
            "no scopes".to_owned()
        } else {
            allowance.scopes.join(", ")
        };
        writeln!(out, "    may ask for   {}: {scopes}", allowance.provider)?;
    }
    Ok(())
}

fn write_provider(config: &Config, provider: &Provider, out: &mut String) -> fmt::Result {
    let origin = config.public_origin();
    writeln!(out, "  provider {} ({})", provider.slug, provider.name)?;
    if let Some(note) = config.presets.iter().find(|n| n.provider == provider.slug) {
        let (preset, version, as_of) = (&note.preset, note.version, &note.as_of);
        let verified = note.verified.name();
        writeln!(
            out,
            "    preset        {preset} version {version} of {as_of}, {verified}"
        )?;
    }
    match &provider.means {
        Means::Oauth(oauth) => {
            write_endpoint_hosts(&oauth.endpoint_hosts, out)?;
            writeln!(out, "    client        {}", client(&oauth.client))?;
            writeln!(out, "    redirect URI  {origin}/cb/{}", provider.slug)?;
        }
        Means::Key(_) => write_key_form(&provider.account, out)?,
    }
    writeln!(
        out,
        "    credentials   only to {}",
        provider.allowed_hosts.join(", ")
    )
}

fn write_key_form(account: &AccountSource, out: &mut String) -> fmt::Result {
    match account {
        AccountSource::Endpoint { url, .. } => {
            writeln!(
                out,
                "    people        type in a key, which is tried at {url}"
            )
        }
        AccountSource::TokenAnswer { .. } | AccountSource::Unknown => {
            writeln!(
                out,
                "    people        type in a key, which is not tried: no [provider.account]"
            )
        }
    }
}

fn write_endpoint_hosts(hosts: &EndpointHosts, out: &mut String) -> fmt::Result {
    let hosts: Vec<_> = hosts.iter().collect();
    if hosts.is_empty() {
        return Ok(());
    }
    writeln!(out, "    endpoints     also at {}", hosts.join(", "))
}

fn login_callback(config: &Config, issuer: &Issuer) -> String {
    format!("{}/login/callback/{}", config.public_origin(), issuer.slug)
}

fn client(client: &OauthClient) -> String {
    let auth = match client.auth {
        ClientAuth::Public => "no secret",
        ClientAuth::Post(_) => "secret in the body",
        ClientAuth::Basic(_) => "secret by HTTP Basic",
    };
    format!("{} ({auth})", client.id)
}

fn join(ranges: &[super::Cidr]) -> String {
    let texts: Vec<_> = ranges.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
