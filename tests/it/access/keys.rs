//! AT-127: server keys are parsed whole or not at all, and only from where they belong.

use reqwest::Method;

use super::{audited_for, problem, send, without_id};
use crate::encoding::base64;
use crate::support::{Answered, TestVault, log};

/// Headers whose key is wrong, and what the audit log calls it.
struct Case {
    headers: Vec<String>,
    audited: &'static str,
}

const MALFORMED: &str = "malformed-key";

fn case(header: impl Into<String>) -> Case {
    Case {
        headers: vec![header.into()],
        audited: MALFORMED,
    }
}

/// A key with another secret and the right checksum: a public id that was seen, a guess for the rest.
fn forged(key: &str, id: &str) -> String {
    let last = if key.as_bytes()[59] == b'0' { '1' } else { '0' };
    with_checksum(&format!("srk_{id}_{}{last}", &key[17..59]))
}

/// Everything before the checksum, and the checksum.
fn with_checksum(body: &str) -> String {
    let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = crc32(body.as_bytes());
    let mut check = Vec::new();
    for _ in 0..6 {
        check.push(digits[usize::try_from(rest % 62).unwrap()]);
        rest /= 62;
    }
    check.reverse();
    format!("{body}{}", String::from_utf8(check).unwrap())
}

/// CRC-32 as in zlib, bit by bit: whoever finds the format can do it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}

fn cases(key: &str) -> Vec<Case> {
    let mut all: Vec<Case> = (1..key.len())
        .step_by(3)
        .map(|cut| case(format!("Bearer {}", &key[..key.len() - cut])))
        .collect();
    let swapped: String = key
        .chars()
        .map(|c| {
            if c.is_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    let texts = [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        format!("Bearer{key}"),
        format!("Bearer  {key}"),
        format!("Bearer\t{key}"),
        format!("Bearer {key}x"),
        format!("Bearer {key},{key}"),
        format!("Bearer {key}, Bearer {key}"),
        format!("Bearer {key} {key}"),
        format!("Bearer \"{key}\""),
        format!("Bearer {swapped}"),
        format!("Bearer {}", key.to_lowercase()),
        format!("Bearer {}", key.replacen("srk_", "srk", 1)),
        format!("Bearer {}", key.replacen("srk_", "sra_", 1)),
        format!("Bearer {}", key.replacen("srk_", "srx_", 1)),
        format!("Bearer {}", key.replacen("srk_", "mvs1_", 1)),
        "Bearer srk_".into(),
        format!("Basic {}", base64(format!("{key}:").as_bytes())),
        format!("Basic {}", base64(format!("s1:{key}").as_bytes())),
        format!("Token {key}"),
        format!("DPoP {key}"),
        key.to_owned(),
        format!("Bearer {}", "srk_".repeat(2000)),
    ];
    all.extend(texts.map(case));
    // A checksum that is off by one digit, and letters that look alike.
    all.push(case(format!(
        "Bearer {}{}",
        &key[..key.len() - 1],
        if key.ends_with('0') { '1' } else { '0' }
    )));
    all.push(Case {
        headers: vec![format!("Bearer {key}"), format!("Bearer {key}")],
        audited: MALFORMED,
    });
    all.push(Case {
        headers: vec![format!("Bearer {key}"), "Basic eDp5".into()],
        audited: MALFORMED,
    });
    all.push(Case {
        headers: vec![format!("Bearer {}", forged(key, &key[4..16]))],
        audited: "unknown-key",
    });
    all.push(Case {
        headers: vec![format!("Bearer {}", forged(key, "000000000000"))],
        audited: "no-such-key",
    });
    all
}

async fn with(vault: &TestVault, headers: &[String], path: &str) -> Answered {
    let token = vault.token("alice");
    let mut all: Vec<(&str, &str)> = headers
        .iter()
        .map(|value| ("authorization", value.as_str()))
        .collect();
    all.push(("subject-token", &token));
    send(vault, Method::GET, path, &all, None).await
}

#[actix_web::test]
async fn at_127_keys_are_read_whole_or_not_at_all() {
    let vault = TestVault::start().await;
    let key = vault.s1.key.clone();
    assert_eq!(with_checksum(&key[..60]), key, "the test knows the format");
    let uniform = with(&vault, &[], "/v1/grants").await;
    assert_eq!(
        (uniform.status, problem(&uniform)),
        (401, "unauthenticated")
    );
    assert_eq!(uniform.headers["www-authenticate"], "Bearer");
    for case in cases(&key) {
        let audited = vault.audit().len();
        let answer = with(&vault, &case.headers, "/v1/grants").await;
        assert_eq!(
            (answer.status, without_id(&answer)),
            (401, without_id(&uniform)),
            "{:?}",
            case.headers
        );
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        // Every refused key has its entry, also one that never reaches the store.
        let entries = audited_for(&vault, &answer);
        let outcomes: Vec<&str> = entries
            .iter()
            .filter_map(|entry| entry["outcome"].as_str())
            .collect();
        assert_eq!(outcomes, [case.audited], "{:?}", case.headers);
        assert_eq!(vault.audit().len(), audited + outcomes.len());
        if let [entry] = entries.as_slice() {
            assert_eq!(entry["action"], "caller_refused");
            assert_eq!(entry["principal"]["kind"], "nobody");
            let named = entry["key"].as_str().is_some_and(|id| id.len() == 12);
            assert_eq!(named, case.audited != MALFORMED, "{entry}");
        }
    }
    // The scheme has no case (RFC 9110 section 11.1), the key has.
    for scheme in ["Bearer", "bearer", "BEARER"] {
        assert_eq!(
            with(&vault, &[format!("{scheme} {key}")], "/v1/grants")
                .await
                .status,
            200
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn at_127_keys_in_the_wrong_place_are_refused_and_reported() {
    let vault = TestVault::start().await;
    let key = &vault.s1.key;
    let bearer = format!("Bearer {key}");
    log();
    let paths = [
        format!("/v1/grants?access_token={key}"),
        format!("/v1/grants?key={key}"),
        format!("/v1/grants?{key}"),
        format!("/v1/grants?a=b&c=Bearer%20{key}"),
        format!("/v1/grants?a={}", key.replace('_', "%5F")),
        format!("/v1/grants/{key}"),
        format!("/{key}"),
    ];
    for path in &paths {
        for headers in [vec![], vec![bearer.clone()]] {
            let answer = with(&vault, &headers, path).await;
            assert_eq!(
                (answer.status, problem(&answer)),
                (400, "key-misplaced"),
                "{path}"
            );
            is_reported(&answer, key);
        }
    }
    for (name, value) in [
        ("cookie", format!("key={key}")),
        ("x-api-key", key.clone()),
        ("subject-token", key.clone()),
        ("idempotency-key", format!("see {key}")),
    ] {
        let headers = [("authorization", bearer.as_str()), (name, value.as_str())];
        let answer = send(&vault, Method::GET, "/v1/grants", &headers, None).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "key-misplaced"),
            "{name}"
        );
        is_reported(&answer, key);
    }
    let bodies = [
        format!(
            r#"{{"provider":"practice","scopes":["notes.read"],"subject_token":"x","api_key":"{key}"}}"#
        ),
        format!(r#"{{"subject_token":"{key}","provider":"practice","scopes":["notes.read"]}}"#),
        format!(r#"{{"mcp":{{"deep":[[{{"in":"see {key} here"}}]]}}}}"#),
        format!(r#"{{"{key}":1}}"#),
        format!(r#"{{"k":"{}"}}"#, key.replacen('_', "\\u005f", 2)),
    ];
    for body in bodies {
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let answer = send(
            &vault,
            Method::POST,
            "/v1/ensure",
            &headers,
            Some(body.into_bytes()),
        )
        .await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "key-misplaced"),
            "{}",
            answer.body
        );
        is_reported(&answer, key);
    }
    vault.stop().await;
}

/// The answer does not repeat the key, and the log says to the operator which one to revoke.
fn is_reported(answer: &Answered, key: &str) {
    assert!(!answer.body.to_string().contains(key));
    let written = String::from_utf8(log().written()).unwrap();
    let line = written
        .lines()
        .find(|line| line.contains(answer.text("/request_id")))
        .expect("a line about this request");
    assert!(line.contains("WARN"), "{line}");
    assert!(line.contains(&format!("key={}", &key[4..16])), "{line}");
    assert!(!line.contains(key), "{line}");
}
