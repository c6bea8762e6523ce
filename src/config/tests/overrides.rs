//! An operator's keys over a preset, and a provider all of their own.

use domain::{AccountSource, Endpoints, ScopeEffect};
use url::Url;

use super::{BASE, serve};

#[test]
fn a_provider_needs_no_preset() {
    let own = r#"
[[provider]]
slug = "wiki"
name = "Wiki"
client_id = "x"
client_auth = "none"
discover = "https://wiki.example.com"
allowed_hosts = ["wiki.example.com"]
authorize_extra = { prompt = "consent" }
"#;
    let config = serve(&format!("{BASE}{own}")).unwrap();
    let wiki = domain::ProviderSlug::parse("wiki").unwrap();
    let provider = config.registry.provider(&wiki).unwrap();
    assert!(
        matches!(&provider.oauth().unwrap().endpoints, Endpoints::Discovered(issuer) if issuer.as_str() == "https://wiki.example.com")
    );
    assert!(matches!(provider.account, AccountSource::Unknown));
    assert_eq!(&*provider.header_prefix, "Bearer ");
    assert_eq!(config.presets.len(), 1);
}

#[test]
fn single_keys_and_scopes_win_over_the_preset() {
    let more = r#"name = "GitHub at work"
[provider.account]
name = "/name"
[[provider.scope]]
name = "repo"
effect = "see"
words = "something else"
[[provider.scope]]
name = "codespace"
effect = "change"
"#;
    let config = serve(&format!("{BASE}{more}")).unwrap();
    let provider = config.registry.providers().next().unwrap();
    assert_eq!(&*provider.name, "GitHub at work");
    let repo = provider.scope("repo").unwrap();
    assert_eq!(
        (repo.effect, repo.words.as_deref()),
        (ScopeEffect::See, Some("something else"))
    );
    assert!(provider.scope("codespace").unwrap().words.is_none());
    assert!(provider.scope("gist").is_some());
    let AccountSource::Endpoint { id, name, .. } = &provider.account else {
        panic!("the preset's endpoint is gone");
    };
    assert_eq!((&**id, name.as_deref()), ("/id", Some("/name")));
}

#[test]
fn a_moved_preset_keeps_nothing_of_the_old_place() {
    let moved = r#"discover = "https://git.corp.example"
allowed_hosts = ["git.corp.example"]
account = { url = "https://git.corp.example/api/v4/user" }
"#;
    let config = serve(&format!("{BASE}{moved}")).unwrap();
    let provider = config.registry.providers().next().unwrap();
    assert!(matches!(
        provider.oauth().unwrap().endpoints,
        Endpoints::Discovered(_)
    ));
    assert_eq!(provider.site, None);

    let pinned = moved.replace(
        "discover = \"https://git.corp.example\"",
        "authorization_url = \"https://git.corp.example/a\"\ntoken_url = \"https://git.corp.example/t\"",
    );
    let config = serve(&format!("{BASE}{pinned}")).unwrap();
    let provider = config.registry.providers().next().unwrap();
    assert!(matches!(
        &provider.oauth().unwrap().endpoints,
        Endpoints::Pinned {
            issuer: None,
            revocation: None,
            ..
        }
    ));
}

#[test]
fn metadata_may_name_the_hosts_that_were_declared_and_no_others() {
    let google = BASE.replace(
        "url = \"https://login.example.com\"",
        "url = \"https://accounts.google.com\"\nendpoint_hosts = [\"oauth2.googleapis.com\", \"www.googleapis.com\"]",
    );
    let moved = r#"discover = "https://git.corp.example"
endpoint_hosts = ["sso.corp.example:8443"]
allowed_hosts = ["git.corp.example"]
account = { url = "https://git.corp.example/api/v4/user" }
"#;
    let config = serve(&format!("{google}{moved}")).unwrap();
    let issuer = config.registry.issuers().next().unwrap();
    let provider = config.registry.providers().next().unwrap();
    let at = |url: &str| Url::parse(url).unwrap();
    for key_set in [
        "https://www.googleapis.com/oauth2/v3/certs",
        "https://accounts.google.com/certs",
    ] {
        assert!(issuer.endpoint_hosts.admit(&issuer.url, &at(key_set)));
    }
    let elsewhere = at("https://storage.googleapis.com/anybody/keys");
    assert!(!issuer.endpoint_hosts.admit(&issuer.url, &elsewhere));
    let Endpoints::Discovered(url) = &provider.oauth().unwrap().endpoints else {
        unreachable!()
    };
    let hosts = &provider.oauth().unwrap().endpoint_hosts;
    assert!(hosts.admit(url, &at("https://sso.corp.example:8443/token")));
    assert!(!hosts.admit(url, &at("https://sso.corp.example/token")));
    let report = config.report();
    for line in [
        "endpoints     also at oauth2.googleapis.com, www.googleapis.com",
        "endpoints     also at sso.corp.example:8443",
    ] {
        assert!(report.contains(line), "{report}");
    }
}

#[test]
fn a_host_with_a_port_that_no_address_would_show_is_refused() {
    let with = |host: &str| {
        let declared = format!(
            "url = \"https://login.example.com\"\nendpoint_hosts = [\"keys.example.com\", \"{host}\"]"
        );
        serve(&BASE.replace("url = \"https://login.example.com\"", &declared))
    };
    assert!(with("keys.example.com:8443").is_ok());
    let faults = with("tokens.example.com:443").unwrap_err().to_string();
    let fault = "entry 2 names port 443, which is the usual one; leave `:443` out";
    assert!(faults.contains(fault), "{faults}");
    for host in ["tokens.example.com:0443", "tokens.example.com:+443"] {
        let faults = with(host).unwrap_err().to_string();
        assert!(faults.contains("entry 2 is not a host name"), "{faults}");
    }
}

#[test]
fn half_a_move_is_refused() {
    let half = "token_url = \"https://git.corp.example/t\"\n";
    let faults = serve(&format!("{BASE}{half}")).unwrap_err().to_string();
    for part in [
        "provider.github.authorization_url: `token_url` is yours, but this address is still the preset's. ",
        "provider.github.allowed_hosts: the endpoints are yours, but these hosts are still the preset's. ",
        "provider.github.account.url: the endpoints are yours, but this address is still the preset's. ",
    ] {
        assert!(faults.contains(part), "{faults}");
    }
}
