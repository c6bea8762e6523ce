//! The shipped files: the reference is complete, the example and the presets load.

use domain::Endpoints;

use super::super::keys::{Key, tables::TABLES};
use super::super::{Config, DEFAULT_TOML, EXAMPLE_TOML, Mode, OsFiles, Outside, PRESETS, Verified};
use super::{BASE, FakeFiles, check, serve};

/// The lines of one table of the reference.
fn lines_of(header: &str) -> Vec<&'static str> {
    let mut inside = header.is_empty();
    let mut lines = Vec::new();
    for line in DEFAULT_TOML.lines() {
        if line.starts_with('[') {
            inside = line == header;
        } else if inside {
            lines.push(line);
        }
    }
    lines
}

/// The place of `key = …` or `# key = …`.
fn place(lines: &[&str], key: &Key) -> Option<usize> {
    lines.iter().position(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        bare.strip_prefix(key.name)
            .is_some_and(|rest| rest.starts_with(" = "))
    })
}

#[test]
fn every_key_stands_in_the_reference_under_a_sentence() {
    for (header, keys) in TABLES {
        let lines = lines_of(header);
        let is_table = |key: &Key| {
            TABLES.iter().any(|(header, _)| {
                header.trim_matches(['[', ']']).rsplit('.').next() == Some(key.name)
            })
        };
        for key in keys.iter().filter(|key| !is_table(key)) {
            let at =
                place(&lines, key).unwrap_or_else(|| panic!("{header} {} is missing", key.name));
            let sentence = at
                .checked_sub(1)
                .and_then(|before| lines.get(before))
                .unwrap_or(&"");
            assert!(
                sentence.starts_with("# ") && sentence.ends_with('.') && !sentence.contains(" = "),
                "{header} {} lacks a sentence",
                key.name
            );
        }
    }
}

#[test]
fn every_table_of_the_reference_is_known_and_has_a_sentence() {
    let lines: Vec<&str> = DEFAULT_TOML.lines().collect();
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with('['))
    {
        assert!(TABLES.iter().any(|(header, _)| header == line), "{line}");
        assert!(
            lines[at - 1].starts_with("# ") && lines[at - 1].ends_with('.'),
            "{line}"
        );
    }
}

#[test]
fn every_example_of_the_reference_is_one_that_loads() {
    let mut whole = String::new();
    let mut header = "";
    for line in DEFAULT_TOML.lines() {
        header = if line.starts_with('[') { line } else { header };
        if matches!(header, "[provider.key]" | "[provider.login]") {
            continue; // of another kind of provider
        }
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_key = bare
            .split_once(" = ")
            .is_some_and(|(key, value)| !key.contains(' ') && value != "…`");
        let alternative = ["discover = ", "preset = ", "loopback = "]
            .iter()
            .any(|key| bare.starts_with(key));
        if (is_key && !alternative) || line.starts_with('[') {
            whole.push_str(bare);
            whole.push('\n');
        }
    }
    let whole = whole.replace("from = \"unknown\"", "from = \"endpoint\"");
    let files = FakeFiles::default()
        .with("/run/secrets/github", b"secret\n", 0o100_400)
        .with("/run/credentials/passphrase", b"six words\n", 0o100_400);
    let config =
        check(&whole, Mode::Serve, &files).unwrap_or_else(|faults| panic!("{faults}\n{whole}"));
    assert_eq!(config.listen.admin.map(|admin| admin.port()), Some(7603));
    assert_eq!(config.addresses.internal.len(), 1);
    assert!(config.seal.key_file.is_some() && config.seal.passphrase.is_some());
}

#[test]
fn the_example_of_a_key_form_is_one_that_loads() {
    let lines = |header| {
        let bare = |line: &'static str| line.strip_prefix("# ").unwrap_or(line);
        let own = |line: &&str| header != "[provider.login]" || !line.starts_with("found_at");
        let lines = lines_of(header).into_iter().map(bare).filter(own);
        let keys = lines.filter(|line| {
            line.split_once(" = ")
                .is_some_and(|(key, _)| !key.contains(' '))
        });
        format!("{header}\n{}\n", keys.collect::<Vec<_>>().join("\n"))
    };
    let provider = "[[provider]]\nslug = \"tide\"\nkind = \"api_key\"\nname = \"Tide\"\nallowed_hosts = [\"api.example.com\"]\n";
    let text = [
        BASE,
        provider,
        &lines("[provider.key]"),
        &lines("[provider.login]"),
    ]
    .concat();
    let config = serve(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let tide = config.registry.provider(&"tide".parse().unwrap()).unwrap();
    let form = tide.key_form().unwrap();
    assert!(form.login.is_some() && form.found_at.is_some());
    assert_eq!(&*form.key.begins, "sk_");
    assert_eq!(form.key.label.chinese.as_deref(), Some("API 密钥"));
    for (wrong, what) in [
        ("kind = \"api_key\"", "client_id = \"x\""),
        ("kind = \"api_key\"", "pkce = \"off\""),
        ("[provider.key]", "shortest = 9000"),
        ("[provider.login]", "found_at = \"https://example.com/x\""),
        ("begins = \"sk_\"", "begins = \"s k\""),
        ("[provider.key]", "label_in = { de = \"Schlüssel\" }"),
        ("[provider.key]", "hint_in = \"密钥\""),
    ] {
        let line = |text: &str| text.split_once(" = ").map(|(key, _)| format!("{key} = "));
        let key = line(what).unwrap();
        let kept = text.replace(wrong, &format!("{wrong}\n{what}"));
        let mut seen = false;
        let kept: Vec<_> = kept
            .lines()
            .filter(|line| {
                let same = line.starts_with(&key) && *line != what && seen;
                seen |= *line == what;
                !same
            })
            .collect();
        assert!(serve(&kept.join("\n")).is_err(), "{what}");
    }
}

#[test]
fn the_example_loads_and_is_short() {
    let config = serve(EXAMPLE_TOML).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.public_origin(), "https://connect.example.com");
    assert_eq!(config.listen.connect.port(), 7601);
    assert!(!config.addresses.loopback);
    assert_eq!(config.registry.servers().count(), 1);
    assert!(EXAMPLE_TOML.lines().count() < 30);
}

#[test]
fn every_preset_loads_and_says_how_far_it_was_checked() {
    for (name, _) in PRESETS {
        let config = serve(
            &BASE
                .replace("preset = \"github\"", &format!("preset = \"{name}\""))
                .replace("\"repo\"", ""),
        )
        .unwrap_or_else(|faults| panic!("{faults}"));
        let provider = config.registry.providers().next().unwrap();
        assert!(matches!(
            provider.oauth().unwrap().endpoints,
            Endpoints::Pinned { .. }
        ));
        for scope in &provider.scopes {
            assert!(scope.words.is_some(), "{name}: {}", scope.name);
            let tags: Vec<_> = scope.words_in.iter().map(|(tag, _)| &**tag).collect();
            assert_eq!(tags, ["zh-Hans"], "{name}: {}", scope.name);
        }
        assert_eq!(config.presets[0].verified, Verified::Unverified);
    }
}

#[test]
fn a_missing_file_is_a_fault_with_advice() {
    let outside = Outside {
        env: &|_| None,
        files: &OsFiles,
    };
    let missing = std::path::Path::new("/nonexistent/strongroom.toml");
    let faults = Config::load(missing, Mode::Serve, outside)
        .unwrap_err()
        .to_string();
    assert!(
        faults.starts_with("/nonexistent/strongroom.toml: cannot be read: "),
        "{faults}"
    );
    assert!(
        faults.ends_with("`config/example.toml` shows a first one."),
        "{faults}"
    );
}

#[test]
fn the_report_lists_what_to_register_elsewhere() {
    let report = serve(BASE).unwrap().report();
    assert_eq!(
        report,
        "\
origin      https://connect.example.com
connect     127.0.0.1:7601
api         127.0.0.1:7602
admin       /run/strongroom/admin.sock
data        /var/lib/strongroom
root key    /etc/strongroom/root.key
outbound    public addresses

tenant default (Default)
  issuer corp
    url           https://login.example.com
    client        strongroom (secret by HTTP Basic)
    redirect URI  https://connect.example.com/login/callback/corp
    a person is   sub
    signatures    RS256, PS256, ES256, ES384, EdDSA
  server notes (Release notes)
    resource      https://notes.example.com/mcp
    users         by access token, issuer corp
    may ask for   github: repo
  provider github (GitHub)
    preset        github version 1 of 2026-09, unverified
    client        abc (secret in the body)
    redirect URI  https://connect.example.com/cb/github
    credentials   only to api.github.com, uploads.github.com
"
    );
}
