//! The keys of `[[provider]]` and of the tables below it.

use super::{
    CLIENT_AUTH, CLIENT_ID, CLIENT_SECRET, ENDPOINT_HOSTS, Keys, SITE, SLUG, TENANT_OF, key,
};

pub(in crate::config) const PROVIDER: Keys = &[
    SLUG,
    key(
        "preset",
        "Write `preset = \"github\"`, `\"gitlab\"` or `\"google\"`, or leave the line out and give every key yourself.",
    ),
    TENANT_OF,
    key(
        "name",
        "Write what people read, at most 64 characters, e.g. `name = \"GitHub\"`.",
    ),
    key(
        "kind",
        "Write `kind = \"oauth\"`, or `kind = \"api_key\"` where people type in a key.",
    ),
    key(
        "key",
        "Write a table `[provider.key]` below the provider, with the `label` of the key.",
    ),
    key(
        "login",
        "Write a table `[provider.login]` below the provider, or leave it out where a key stands alone.",
    ),
    CLIENT_ID,
    CLIENT_AUTH,
    CLIENT_SECRET,
    key(
        "discover",
        "Write the provider's issuer, e.g. `discover = \"https://git.example.com\"`, or the endpoints one by one.",
    ),
    ENDPOINT_HOSTS,
    key(
        "authorization_url",
        "Write the provider's authorization endpoint, e.g. `authorization_url = \"https://auth.example.com/authorize\"`, or `discover`.",
    ),
    key(
        "token_url",
        "Write the provider's token endpoint, e.g. `token_url = \"https://auth.example.com/token\"`.",
    ),
    key(
        "revocation_url",
        "Write the provider's RFC 7009 endpoint, or leave the line out if it has none.",
    ),
    key(
        "callback_issuer",
        "Write the `iss` that the provider's callbacks carry, byte for byte, or leave the line out.",
    ),
    key(
        "callback_issuer_required",
        "Write `true` only together with `callback_issuer`, otherwise leave the line out.",
    ),
    key(
        "pkce",
        "Write `pkce = \"S256\"`, or `pkce = \"off\"` for a provider that fails on it.",
    ),
    key(
        "scope_joiner",
        "Write one character, a space or a comma for nearly all, e.g. `scope_joiner = \" \"`.",
    ),
    key(
        "scope",
        "Write `[[provider.scope]]` below the provider, once for each scope.",
    ),
    key(
        "extra_scopes",
        "Write scopes of 1 to 256 visible ASCII characters, e.g. `extra_scopes = [\"offline_access\"]`.",
    ),
    key(
        "authorize_extra",
        "Write parameters that the provider itself asks for, e.g. `authorize_extra = { prompt = \"consent\" }`.",
    ),
    key(
        "token_extra",
        "Write parameters that the provider itself asks for, e.g. `token_extra = { audience = \"api\" }`.",
    ),
    key(
        "account",
        "Write a table `[provider.account]` below the provider.",
    ),
    key(
        "allowed_hosts",
        "Write the hosts of the provider's API, e.g. `allowed_hosts = [\"api.example.com\"]`.",
    ),
    key(
        "header_name",
        "Write the header that carries the credential, e.g. `header_name = \"Authorization\"`.",
    ),
    key(
        "header_prefix",
        "Write what stands before the token, e.g. `header_prefix = \"Bearer \"`, or `\"\"`.",
    ),
    SITE,
    key(
        "default_life_s",
        "Write seconds, e.g. `default_life_s = 3600`, or leave the line out if tokens without `expires_in` never expire.",
    ),
    key(
        "version",
        "Write a whole number that grows with each change, e.g. `version = 1`.",
    ),
    key(
        "as_of",
        "Write a date, e.g. `as_of = \"2026-12-01\"` or `\"2026-12\"`.",
    ),
    key(
        "verified",
        "Write `verified = \"live\"`, `\"documents\"` or `\"unverified\"`, whichever is true.",
    ),
];

pub(in crate::config) const ACCOUNT: Keys = &[
    key(
        "from",
        "Write `from = \"endpoint\"`, `\"token_answer\"` or `\"unknown\"`.",
    ),
    key(
        "url",
        "Write the address that answers who the account is, and `from = \"endpoint\"`.",
    ),
    key(
        "id",
        "Write the JSON pointer of the id that never changes, e.g. `id = \"/id\"`.",
    ),
    key(
        "name",
        "Write the JSON pointer of a name people recognise, e.g. `name = \"/login\"`, or leave the line out.",
    ),
];

pub(in crate::config) const SCOPE: Keys = &[
    key(
        "name",
        "Write the scope as the provider names it, e.g. `name = \"repo\"`: visible ASCII, no space.",
    ),
    key(
        "effect",
        "Write `effect = \"see\"` if the scope only reads, otherwise `effect = \"change\"`.",
    ),
    key(
        "words",
        "Write in plain English words what the scope allows, at most 160 characters, or leave the line out.",
    ),
    key(
        "words_in",
        "Write the same words in the other languages of the pages, e.g. `words_in = { zh-Hans = \"您的代码仓库\" }`, or leave the line out.",
    ),
];

pub(in crate::config) const FIELD: Keys = &[
    key(
        "label",
        "Write what the provider calls it, at most 40 characters, e.g. `label = \"API key\"`.",
    ),
    key(
        "label_in",
        "Write the same in the other languages of the pages, at most 40 characters, e.g. `label_in = { zh-Hans = \"API 密钥\" }`, or leave the line out.",
    ),
    key(
        "hint",
        "Write how people find it, at most 160 characters, e.g. `hint = \"Under Account, then Keys.\"`.",
    ),
    key(
        "hint_in",
        "Write the same in the other languages of the pages, at most 160 characters, e.g. `hint_in = { zh-Hans = \"…\" }`, or leave the line out.",
    ),
    key(
        "begins",
        "Write what every right value begins with, e.g. `begins = \"sk_\"`, or leave the line out.",
    ),
    key(
        "shortest",
        "Write the fewest characters that a right value has, e.g. `shortest = 20`.",
    ),
    key(
        "longest",
        "Write the most characters that a right value has, at most 4096, e.g. `longest = 200`.",
    ),
    key(
        "found_at",
        "Write the address of the page with the key, e.g. `found_at = \"https://example.com/account/keys\"`.",
    ),
];
