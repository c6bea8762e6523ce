//! An operator's keys over a preset, and a provider all of their own.

use domain::{AccountSource, Endpoints, ScopeEffect};

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
        matches!(&provider.endpoints, Endpoints::Discovered(issuer) if issuer.as_str() == "https://wiki.example.com")
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
    assert!(matches!(provider.endpoints, Endpoints::Discovered(_)));
    assert_eq!(provider.site, None);

    let pinned = moved.replace(
        "discover = \"https://git.corp.example\"",
        "authorization_url = \"https://git.corp.example/a\"\ntoken_url = \"https://git.corp.example/t\"",
    );
    let config = serve(&format!("{BASE}{pinned}")).unwrap();
    let provider = config.registry.providers().next().unwrap();
    assert!(matches!(
        &provider.endpoints,
        Endpoints::Pinned {
            issuer: None,
            revocation: None,
            ..
        }
    ));
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
