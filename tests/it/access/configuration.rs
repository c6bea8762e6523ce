//! Every configuration that we show to somebody can be read as it stands.

use std::path::Path;

use strongroom::config::{Config, EXAMPLE_TOML, FileRead, Files, Mode, Outside};

/// Secrets are where the examples say.
struct Anything;

impl Files for Anything {
    fn read(&self, _: &Path) -> std::io::Result<FileRead> {
        Ok(FileRead {
            bytes: b"an-example-secret".to_vec(),
            mode: Some(0o600),
        })
    }
}

fn parse(name: &str, text: &str) -> Config {
    let env = |_: &str| Some(String::from("an-example-secret"));
    Config::parse(
        text,
        name,
        Mode::Serve,
        Outside {
            env: &env,
            files: &Anything,
        },
    )
    .unwrap_or_else(|faults| panic!("{name}:\n{faults}"))
}

#[test]
fn the_example_file_is_a_whole_configuration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/example.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        text, EXAMPLE_TOML,
        "what is printed is what is in the folder"
    );
    let config = parse("example.toml", &text);
    assert_eq!(config.registry.servers().count(), 1);
    assert!(
        config.report().contains("/cb/github"),
        "{}",
        config.report()
    );
}

/// Fenced blocks of one language in a Markdown text.
fn fenced<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

#[test]
fn the_readme_shows_json_that_can_be_read_and_keys_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = fenced(&text, "json");
    assert!(!blocks.is_empty(), "the README has lost its example");
    for block in blocks {
        serde_json::from_str::<serde_json::Value>(block)
            .unwrap_or_else(|error| panic!("README.md:\n{block}\n{error}"));
    }
    // Keys of the configuration and files that the text sends its readers to.
    let known = std::fs::read_to_string(root.join("config/default.toml")).unwrap();
    for key in [
        "listen.admin_socket",
        "listen.admin",
        "listen.trusted_proxy",
    ] {
        let (_, last) = key.split_once('.').unwrap();
        assert!(text.contains(&format!("`{key}`")), "the README names {key}");
        assert!(known.contains(last), "config/default.toml explains {key}");
    }
    for link in text.split("](").skip(1) {
        let target = link.split(')').next().unwrap();
        let local = !target.starts_with("http");
        assert!(
            !local || root.join(target).exists(),
            "README.md leads to {target}"
        );
    }
}
