//! Where secrets are said aloud, and why. The lists are short on purpose: think before making one longer.

use super::architecture::{code, is_test_file, program, sources};

/// A way to say a secret: how it looks in a file, and the files that may.
struct Way {
    looks: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

/// Words of outsiders, and the keys of servers and operators: `secret::Reveal`.
const WORDS: Way = Way {
    looks: &["Reveal as _", "Reveal,", "Reveal;", "Reveal}", ".reveal()"],
    files: &[
        (
            "src/actors/flows/credentials.rs",
            "a fresh key is shown once",
        ),
        (
            "src/actors/sealing/flow.rs",
            "our own words of a flow, sealed",
        ),
        ("src/actors/sealing/tokens.rs", "the codec of token records"),
        (
            "src/api/v1/credential.rs",
            "the one answer with a credential",
        ),
        ("src/crypto/hashes.rs", "the keyed hash of a key"),
        (
            "src/crypto/seal/passphrase.rs",
            "the passphrase becomes a key",
        ),
        (
            "src/domain/key_form.rs",
            "what was typed in is judged and becomes one credential",
        ),
        (
            "src/upstream/account.rs",
            "the account endpoint is asked with the fresh token or key",
        ),
        (
            "src/upstream/authorize.rs",
            "the challenge of our own PKCE verifier",
        ),
        (
            "src/upstream/issuer.rs",
            "subject and ID tokens are verified",
        ),
        (
            "src/upstream/provider.rs",
            "refresh and revocation requests",
        ),
        (
            "src/upstream/subject_memory.rs",
            "keyed hashes of subject tokens",
        ),
        (
            "src/upstream/token_call.rs",
            "the client secret in the request",
        ),
    ],
};

/// Tickets, cookies, states, form secrets: `secret::RevealOwn`.
const OWN: Way = Way {
    looks: &["RevealOwn", ".to_text()"],
    files: &[
        (
            "src/actors/flows/callback.rs",
            "the keyed hash of a state that came back",
        ),
        (
            "src/actors/flows/consent.rs",
            "a fresh state, hashed, sealed and sent to the provider",
        ),
        (
            "src/actors/flows/elicit.rs",
            "a fresh ticket, hashed and put into its link",
        ),
        (
            "src/actors/flows/link.rs",
            "a ticket that came, and a fresh cookie and form secret",
        ),
        (
            "src/actors/flows/login.rs",
            "a fresh state for the issuer, and one that came back",
        ),
        (
            "src/actors/flows/walk.rs",
            "the keyed hashes of cookies that came",
        ),
        ("src/actors/sealing/flow.rs", "words of a flow, sealed"),
        (
            "src/actors/sealing/person.rs",
            "the form secret of a session, sealed",
        ),
        ("src/api/browser/cookies.rs", "the cookies themselves"),
        ("src/crypto/csrf.rs", "form tokens are computed"),
    ],
};

/// The plaintext of a record, or the body of an answer that may hold tokens.
const PLAINTEXT: Way = Way {
    looks: &[".expose()"],
    files: &[
        (
            "src/actors/sealing/flow.rs",
            "our own words of a flow, opened",
        ),
        ("src/actors/sealing/tokens.rs", "the codec of token records"),
        ("src/actors/sealing/wire.rs", "the reader of sealed records"),
        ("src/crypto/hierarchy.rs", "unwrapped keys"),
        ("src/crypto/request_state.rs", "the opened requestState"),
        ("src/upstream/account.rs", "the account answer is read"),
        ("src/upstream/metadata.rs", "metadata is read"),
        (
            "src/upstream/provider/accounts.rs",
            "the account in a token answer",
        ),
        ("src/upstream/snapshots.rs", "key sets are read"),
        ("src/upstream/token_call.rs", "token answers are read"),
    ],
};

/// Files of the program that use this way, outside the room that has it.
fn found(way: &Way) -> Vec<String> {
    let says = |text: &str| {
        code(program(text)).any(|line| way.looks.iter().any(|look| line.contains(look)))
    };
    sources()
        .into_iter()
        .filter(|(path, text)| {
            !path.starts_with("src/secret/") && !is_test_file(path) && says(text)
        })
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn secrets_are_said_aloud_in_a_short_list_of_files() {
    for way in [&WORDS, &OWN, &PLAINTEXT] {
        let expected: Vec<&str> = way.files.iter().map(|(path, _)| *path).collect();
        assert_eq!(found(way), expected, "{:?}", way.looks);
    }
}

#[test]
fn keys_are_said_aloud_in_the_crypto_room_alone() {
    for (path, text) in &sources() {
        let says =
            code(text).any(|line| line.contains("RevealKey") || line.contains(".reveal_key()"));
        assert!(
            !says || path.starts_with("src/crypto/") || path.starts_with("src/secret/"),
            "{path} says a key aloud"
        );
    }
}

/// A secret type has no way out but the traits, and `expose`, which is looked for by its name.
#[test]
fn secret_types_have_no_other_way_out() {
    let sources = sources();
    let room = sources
        .iter()
        .filter(|(path, _)| path.starts_with("src/secret/") && !is_test_file(path));
    for (path, text) in room {
        for line in code(text).filter(|line| line.contains("pub fn ")) {
            let borrowed = [
                "-> &str",
                "-> &[u8",
                "-> String",
                "-> Zeroizing",
                "-> Vec<u8>",
            ]
            .iter()
            .any(|out| line.contains(out));
            let public = line.contains("fn id(&self)") || line.contains("fn expose(&self)");
            assert!(!borrowed || public, "{path}: {}", line.trim());
        }
    }
    // Below the types lies `secrecy`, whose own word would go round them.
    for (path, text) in &sources {
        let says =
            code(text).any(|line| line.contains("expose_secret") || line.contains("ExposeSecret"));
        assert!(
            !says || path.starts_with("src/secret/"),
            "{path} goes round the types"
        );
    }
}
