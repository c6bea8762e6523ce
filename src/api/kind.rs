//! Every problem of the api and admin listeners: status, slug, title, and what happened with what to do next. The connect
//! listener shows the same words to people, at the address that is the problem's type.

mod zh;

macro_rules! kinds {
    ($($name:ident = $status:literal $slug:literal, $title:literal, $detail:literal;)+) => {
        /// Which problem. Its slug is stable and part of the API.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind {$(
            #[doc = $title]
            $name,
        )+}

        impl Kind {
            /// Every kind.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            /// Status, slug, title and detail.
            pub(crate) const fn facts(self) -> (u16, &'static str, &'static str, &'static str) {
                match self {$(
                    Self::$name => ($status, $slug, $title, $detail),
                )+}
            }

            /// The kind with this slug.
            pub(crate) fn of_slug(slug: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.facts().1 == slug)
            }
        }
    };
}

kinds! {
    Unauthenticated = 401 "unauthenticated", "The key is missing or not valid",
        "Send one Authorization header with `Bearer` and a live key of this listener, copied whole. `strongroom server new-key` makes one for a server, `strongroom admin-key new` one for the admin listener.";
    KeyMisplaced = 400 "key-misplaced", "A key is in the wrong place",
        "A Strongroom key was found in the URL, a header or the body, where logs may keep it. Revoke that key, make a new one, and send it only in the Authorization header. The operator finds its public id in the log.";
    BrowserRequest = 400 "browser-request", "Browsers have no business here",
        "The request carries Cookie, Origin or Sec-Fetch-Site. This listener is for servers: call it from your server, without these headers.";
    InvalidRequest = 400 "invalid-request", "The request is not valid",
        "Something in the request is missing, unknown or out of bounds. `errors` lists what and where.";
    MalformedJson = 400 "malformed-json", "The body cannot be read",
        "The body must be one JSON object in UTF-8 without doubled members, at most 16 levels deep and with at most 1,000 members. `errors` says where reading stopped.";
    UnsupportedMediaType = 415 "unsupported-media-type", "Only JSON is read here",
        "Send the body with `Content-Type: application/json`, in UTF-8 and without content encoding.";
    TooLarge = 413 "too-large", "The body is too large",
        "A body may have 64 KiB. Send less.";
    UrlTooLong = 414 "url-too-long", "The URL is too long",
        "Path and query may have 4 KiB and 32 parameters together. Send less.";
    HeadTooLarge = 431 "head-too-large", "The request head is too large",
        "A request head may have 32 KiB and 64 headers. Send less.";
    MethodNotAllowed = 405 "method-not-allowed", "The method does not fit this address",
        "This address exists but not for this method; Allow lists those it has.";
    RequestTimeout = 408 "request-timeout", "The body came too slowly",
        "The body did not arrive within 10 seconds; nothing was changed. Send it again.";
    NotFound = 404 "not-found", "Not found",
        "There is nothing here for this caller and this subject. Check the address and the id.";
    SubjectTokenInvalid = 403 "subject-token-invalid", "The subject is not proven",
        "The subject token or asserted subject was not accepted. Send the user's current access token, issued by this server's issuer for this server's resource; an asserted subject needs the operator's permission. The audit log says which check failed.";
    IssuerUnavailable = 503 "issuer-unavailable", "The issuer's keys cannot be had",
        "The subject token could not be verified because its issuer does not answer. Try again after Retry-After seconds.";
    ProviderNotPermitted = 403 "provider-not-permitted", "This provider is not permitted",
        "This server may not ask for this provider, or there is no such provider. Check the spelling, or ask the operator to allow it.";
    ScopesNotPermitted = 403 "scopes-not-permitted", "Scopes beyond what is permitted",
        "This server may not ask for the scopes listed in `missing`. Leave them out, or ask the operator to allow them.";
    RequestStateInvalid = 400 "request-state-invalid", "The requestState cannot be used",
        "The request_state is not valid for this call, or no longer. Call ensure again without it.";
    ElicitationGone = 410 "elicitation-gone", "The elicitation has ended",
        "This elicitation has already ended. Call ensure to see where things stand, or make a new one.";
    IdempotencyConflict = 422 "idempotency-conflict", "The Idempotency-Key was used before",
        "This Idempotency-Key came before with another request. Use a new key for a new request.";
    KeyLimit = 409 "key-limit", "The server has two live keys",
        "A server has at most two live keys: the old one and its successor. Revoke one, then make the new one.";
    TooManyRequests = 429 "too-many-requests", "Too many requests",
        "Too much was asked for in a short time; nothing was changed. Try again after Retry-After seconds.";
    Busy = 503 "busy", "The vault is busy",
        "A queue is full, or others are changing the same thing at this moment; nothing was changed. Try again after Retry-After seconds.";
    Unavailable = 503 "unavailable", "The vault cannot serve at present",
        "The store or the audit log takes no entries at present. Try again after Retry-After seconds; the operator finds the cause in the log and at /readyz of the admin listener.";
    Internal = 500 "internal", "The vault failed",
        "Something went wrong inside the vault. Give the operator the request_id; the log has it.";
}
