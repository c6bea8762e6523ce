//! What a call wants of a provider: the members that `ensure` and `elicitations` share.

use actors::doors::{Wanted, reason_is_plain};
use domain::{AccountAlias, Digest, Locale, ProviderSlug, ScopeSet};

use crate::fields::{Faults, Fields};

/// The alias of a call that names none.
const DEFAULT_ALIAS: &str = "default";

/// Takes `provider`, `scopes`, `account`, `reason` and `locale` out of a body.
pub(crate) fn from_body(
    fields: &mut Fields,
    request_digest: Option<Digest>,
    faults: &mut Faults,
) -> Option<Wanted> {
    let slug = "this must be 1 to 32 of a-z, 0-9 and hyphen";
    fields.require("provider", faults);
    let provider = fields.read("provider", slug, faults, |text| {
        ProviderSlug::parse(text).ok()
    });
    let scopes = scopes(fields, faults);
    let alias = if fields.has("account") {
        fields.read("account", slug, faults, |text| {
            AccountAlias::parse(text).ok()
        })
    } else {
        AccountAlias::parse(DEFAULT_ALIAS).ok()
    };
    let plain = "this must be plain text of 1 to 200 characters, without control or invisible characters and \
         without anything like an address (`example.com`, `mailto:`)";
    let reason = fields.read("reason", plain, faults, |text| {
        reason_is_plain(text).then(|| text.into())
    });
    let tag =
        "this must be a BCP 47 language tag of at most 35 characters, such as `en` or `zh-Hans`";
    let locale = fields.read("locale", tag, faults, |text| Locale::parse(text).ok());
    Some(Wanted {
        provider: provider?,
        scopes: scopes?,
        alias: alias?,
        request_digest,
        reason,
        locale,
    })
}

fn scopes(fields: &mut Fields, faults: &mut Faults) -> Option<ScopeSet> {
    fields.require("scopes", faults);
    let at = fields.pointer("scopes");
    match ScopeSet::new(fields.texts("scopes", faults)?) {
        Ok(scopes) => Some(scopes),
        Err(bad) => {
            faults.add(at, &bad.to_string());
            None
        }
    }
}
