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
fn the_blocks_of_the_readme_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    for block in fenced(&text, "toml") {
        // A block is a whole file, or a part that fits behind the example.
        if block.contains("public_url") {
            parse("README.md", block);
        } else {
            block
                .parse::<toml_edit::DocumentMut>()
                .unwrap_or_else(|error| panic!("README.md:\n{block}\n{error}"));
        }
    }
    for block in fenced(&text, "json") {
        serde_json::from_str::<serde_json::Value>(block)
            .unwrap_or_else(|error| panic!("README.md:\n{block}\n{error}"));
    }
}
