//! Secrets come from outside the file and appear nowhere again.

use domain::ClientAuth;
use secret::Reveal as _;

use super::super::{Config, Files as _, Found, Mode, OsFiles, Outside};
use super::{BASE, FakeFiles, check, serve};

fn with_file(bytes: &[u8], mode: u32) -> Result<String, String> {
    let text = BASE.replacen("env:S", "file:secrets/corp", 1);
    let files = FakeFiles::default().with("/etc/secrets/corp", bytes, mode);
    let config = check(&text, Mode::Serve, &files).map_err(|faults| faults.to_string())?;
    let issuer = config.registry.issuers().next().unwrap();
    match &issuer.client.auth {
        ClientAuth::Basic(secret) => Ok(secret.reveal().to_owned()),
        ClientAuth::Post(_) | ClientAuth::Public => Err("other authentication".into()),
    }
}

#[test]
fn a_file_loses_one_line_break_and_nothing_else() {
    assert_eq!(with_file(b"s3cret\n", 0o100_600).as_deref(), Ok("s3cret"));
    assert_eq!(with_file(b"s3cret\r\n", 0o100_400).as_deref(), Ok("s3cret"));
    assert_eq!(with_file(b"s3 cret", 0o600).as_deref(), Ok("s3 cret"));
    for wrong in [
        &b"s3cret\n\n"[..],
        b" s3cret",
        b"",
        b"\n",
        b"s3\tcret",
        b"\xff\xfe",
    ] {
        let fault = with_file(wrong, 0o600).unwrap_err();
        assert!(!fault.contains("s3"), "{fault}");
    }
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    for mode in [0o644, 0o640, 0o604, 0o620] {
        assert_eq!(
            with_file(b"s3cret", mode).unwrap_err(),
            "/etc/strongroom.toml:7: issuer.corp.client_secret: /etc/secrets/corp can be read by other users. \
             Run `chmod 600 /etc/secrets/corp`."
        );
    }
}

#[test]
fn no_secret_is_printed() {
    let config = serve(BASE).unwrap();
    let texts = [
        format!("{config:?}"),
        format!("{config:#?}"),
        config.report(),
    ];
    assert!(texts.iter().all(|text| !text.contains("canary")));

    let literal = BASE.replace("env:S", "canary-literal");
    let as_name = BASE.replace("env:S", "env:canary-literal");
    let as_key = BASE.replace("client_id = \"abc\"", "\"canary literal\" = 1");
    let unclosed = BASE.replace("\"env:S\"", "\"canary-literal");
    for text in [literal, as_name, as_key, unclosed] {
        let faults = serve(&text).unwrap_err();
        assert!(!faults.to_string().contains("canary"), "{faults}");
        assert!(!format!("{faults:?}").contains("canary"));
    }
}

#[test]
fn the_real_file_system_is_read_with_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "s3cret\n").unwrap();
    let read = OsFiles.read(&path).unwrap();
    assert_eq!(read.bytes, b"s3cret\n");
    assert_eq!(read.mode.is_some(), cfg!(unix));
    assert!(OsFiles.read(folder.path()).is_err());
    assert!(OsFiles.read(&folder.path().join("none")).is_err());

    std::fs::File::create(&path)
        .unwrap()
        .set_len((1 << 20) + 1)
        .unwrap();
    assert!(OsFiles.read(&path).is_err());
}

#[test]
fn a_secret_that_is_not_text_is_told_from_one_that_is_not_set() {
    let check = |value: Option<&str>| {
        let outside = Outside {
            env: &|_| value.map(str::to_owned),
            files: &FakeFiles::default(),
        };
        let faults = Config::parse(BASE, "/etc/strongroom.toml", Mode::Serve, outside);
        faults.unwrap_err().to_string()
    };
    assert!(check(None).contains("is not set"));
    assert!(check(Some("s3\u{fffd}cret")).contains("is not UTF-8 text"));
}

#[test]
fn paths_are_compared_as_the_system_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let real = std::fs::canonicalize(folder.path()).unwrap();
    std::fs::create_dir(real.join("data")).unwrap();
    std::os::unix::fs::symlink("data", real.join("link")).unwrap();
    for path in [
        "link/new/root.key",
        "data/new/root.key",
        "x/../link/./new/root.key",
    ] {
        let found = OsFiles.real(&folder.path().join(path));
        assert_eq!(found, real.join("data/new/root.key"), "{path}");
    }
    assert_eq!(OsFiles.found(&real.join("link")), Some(Found::Folder));
    assert_eq!(OsFiles.found(&real.join("none")), None);
    let socket = real.join("socket");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(OsFiles.found(&socket), Some(Found::Socket));
    std::fs::write(real.join("file"), "").unwrap();
    assert_eq!(OsFiles.found(&real.join("file")), Some(Found::Other));
}

/// Each place was once found by counting through the whole text before it.
#[test]
fn the_line_of_every_fault_is_right_in_a_long_file() {
    let many = (0..20_000).fold(String::new(), |text, n| {
        text + &format!("unknown_{n} = 1\n")
    });
    let text = format!("{many}{BASE}");
    let faults = serve(&text).unwrap_err();
    let lines: Vec<_> = faults.iter().filter_map(|fault| fault.line).collect();
    assert_eq!(lines, (1..=20_000).collect::<Vec<_>>());
}
