//! The tables of the reference file, for the tests that hold it to the keys.

use super::*;

/// Every table of the reference file by its header, with its keys.
pub(in crate::config) const TABLES: &[(&str, Keys)] = &[
    ("", ROOT),
    ("[listen]", LISTEN),
    ("[data]", DATA),
    ("[seal]", SEAL),
    ("[operator]", OPERATOR),
    ("[limits]", LIMITS),
    ("[danger]", DANGER),
    ("[[internal]]", INTERNAL),
    ("[[tenant]]", TENANT),
    ("[[issuer]]", ISSUER),
    ("[[server]]", SERVER),
    ("[[server.allow]]", ALLOW),
    ("[[provider]]", PROVIDER),
    ("[provider.key]", FIELD),
    ("[provider.login]", FIELD),
    ("[provider.account]", ACCOUNT),
    ("[[provider.scope]]", SCOPE),
];
