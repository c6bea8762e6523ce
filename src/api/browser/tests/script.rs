//! A door that answers as it is told and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actors::doors::{
    Answer, BrowserDoor, Cookies, Ctx, EndedView, FlowPage, LoginFailed, LoginLeaving,
    LoginStarted, Onward, Opened, OwnPage, OwnPosted, Posted, PostedForm, ProviderLeaving, Refusal,
    SignedIn,
};
use domain::{BrowserFlowId, FailureCode, Locale, RequestId, Timestamp};
use secret::{BrowserCookie, ConnectTicket, SessionCookie};
use url::Url;

use super::samples::{ask_view, ended_view, issuer, own_view, tokens};
use super::{FLOW, WORD};

pub(super) type Says<T> = Mutex<Box<dyn FnMut() -> Result<T, Refusal> + Send>>;

/// One call of the door, in words: `consent own ticked csrf=…`.
pub(super) struct Script {
    calls: Mutex<Vec<String>>,
    pub(super) opens: Says<Option<Opened>>,
    pub(super) shows: Says<FlowPage>,
    pub(super) starts: Says<Option<LoginStarted>>,
    pub(super) goes: Says<Option<Result<LoginLeaving, LoginFailed>>>,
    pub(super) signs_in: Says<Result<SignedIn, LoginFailed>>,
    pub(super) leaves: Says<Option<Result<ProviderLeaving, FailureCode>>>,
    pub(super) comes_back: Says<Option<BrowserFlowId>>,
    pub(super) takes: Says<Posted>,
    pub(super) speaks: Says<Option<Locale>>,
    pub(super) own: Says<OwnPage>,
    pub(super) ends: Says<OwnPosted<EndedView>>,
    pub(super) takes_own: Says<OwnPosted<()>>,
}

pub(super) fn flow() -> BrowserFlowId {
    FLOW.parse().expect("a flow")
}

pub(super) fn browser_cookie() -> Option<BrowserCookie> {
    BrowserCookie::parse(WORD).ok()
}

fn says<T>(words: impl FnMut() -> Result<T, Refusal> + Send + 'static) -> Says<T> {
    Mutex::new(Box::new(words))
}

/// Makes the door answer otherwise.
pub(super) fn set<T>(place: &Says<T>, words: impl FnMut() -> Result<T, Refusal> + Send + 'static) {
    *place.lock().expect("unpoisoned") = Box::new(words);
}

impl Script {
    /// A door behind which everything goes well.
    pub(super) fn well() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            opens: says(|| {
                Ok(Some(Opened::Flow {
                    flow: flow(),
                    cookie: browser_cookie(),
                    forget: Vec::new(),
                    locale: None,
                }))
            }),
            shows: says(|| {
                Ok(FlowPage::Consent {
                    ask: ask_view(),
                    tokens: tokens(),
                })
            }),
            starts: says(|| {
                Ok(Some(LoginStarted {
                    cookie: "sealed-text_1".into(),
                }))
            }),
            goes: says(|| {
                let url =
                    Url::parse("https://login.northwind.example/authorize?state=s").expect("a URL");
                Ok(Some(Ok(LoginLeaving {
                    issuer: issuer(),
                    url,
                    onward: Onward::Flow(flow()),
                })))
            }),
            signs_in: says(|| {
                let cookie = SessionCookie::parse(WORD).expect("a word");
                Ok(Ok(SignedIn {
                    cookie,
                    onward: Onward::Flow(flow()),
                }))
            }),
            leaves: says(|| {
                let url = Url::parse("https://github.example/login/authorize?state=s&x='%22")
                    .expect("a URL");
                Ok(Some(Ok(ProviderLeaving {
                    ask: ask_view(),
                    url,
                    left: Duration::from_secs(6 * 60 + 59),
                })))
            }),
            comes_back: says(|| Ok(Some(flow()))),
            takes: says(|| Ok(Posted::Page)),
            speaks: says(|| Ok(None)),
            own: says(|| Ok(OwnPage::SignedIn(Box::new(own_view())))),
            ends: says(|| Ok(OwnPosted::Done(ended_view()))),
            takes_own: says(|| Ok(OwnPosted::Done(()))),
        })
    }

    /// What the door was asked so far.
    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("unpoisoned").clone()
    }

    pub(super) fn answer<T: Send + 'static>(&self, call: String, place: &Says<T>) -> Answer<'_, T> {
        self.calls.lock().expect("unpoisoned").push(call);
        let answer = (place.lock().expect("unpoisoned"))();
        Box::pin(async move { answer })
    }

    fn posted(&self, deed: &str, form: &PostedForm) -> Answer<'_, Posted> {
        self.answer(in_words(deed, form), &self.takes)
    }
}

pub(super) fn in_words(deed: &str, form: &PostedForm) -> String {
    let own = if form.same_origin { "own" } else { "foreign" };
    let ticked = if form.ticked { " ticked" } else { "" };
    format!("{deed} {own}{ticked} csrf={}", form.csrf)
}

fn jar(cookies: &Cookies) -> String {
    let flows: Vec<_> = cookies
        .flows
        .iter()
        .map(|(digits, _)| digits.as_ref())
        .collect();
    let session = cookies.session.is_some();
    format!(
        "session={session} flows={} pre_login={:?}",
        flows.join(","),
        cookies.pre_login
    )
}

impl BrowserDoor for Script {
    fn begin(&self) -> Ctx {
        self.calls.lock().expect("unpoisoned").push("begin".into());
        Ctx {
            request: RequestId::from_bytes([7; 16]),
            now: Timestamp::from_ms(0),
        }
    }

    fn open_link<'a>(
        &'a self,
        _: Ctx,
        _: &'a ConnectTicket,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Opened>> {
        self.answer(format!("open {}", jar(cookies)), &self.opens)
    }

    fn locale<'a>(&'a self, _: BrowserFlowId, _: &'a Cookies) -> Answer<'a, Option<Locale>> {
        // Not noted: it is asked on the side, and changes nothing.
        let answer = (self.speaks.lock().expect("unpoisoned"))();
        Box::pin(async move { answer })
    }

    fn page<'a>(
        &'a self,
        _: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, FlowPage> {
        self.answer(format!("page {flow} {}", jar(cookies)), &self.shows)
    }

    fn start_login<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>> {
        self.answer(in_words("login", &form), &self.starts)
    }

    fn login_leaving<'a>(
        &'a self,
        _: Ctx,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Result<LoginLeaving, LoginFailed>>> {
        self.answer(format!("go {}", jar(cookies)), &self.goes)
    }

    fn finish_login<'a>(
        &'a self,
        _: Ctx,
        issuer: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Result<SignedIn, LoginFailed>> {
        self.answer(
            format!("sign-in {issuer} {query} {}", arrival.0),
            &self.signs_in,
        )
    }

    fn consent<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        self.posted("consent", &form)
    }

    fn submit_key<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        (form, inputs): (PostedForm, domain::KeyInputs),
    ) -> Answer<'a, Posted> {
        let login = inputs.login.as_ref().map_or(0, secret::KeyInput::length);
        let key = inputs.key.length();
        self.posted(&format!("key {login} {key}"), &form)
    }

    fn leaving<'a>(
        &'a self,
        _: Ctx,
        flow: BrowserFlowId,
        _: &'a Cookies,
    ) -> Answer<'a, Option<Result<ProviderLeaving, FailureCode>>> {
        self.answer(format!("leaving {flow}"), &self.leaves)
    }

    fn callback<'a>(
        &'a self,
        _: Ctx,
        provider: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Option<BrowserFlowId>> {
        self.answer(
            format!("callback {provider} {query} {}", arrival.0),
            &self.comes_back,
        )
    }

    fn confirm<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        self.posted("confirm", &form)
    }

    fn decline<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        self.posted("decline", &form)
    }

    fn again<'a>(
        &'a self,
        _: Ctx,
        _: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        self.posted("again", &form)
    }

    fn sign_out<'a>(
        &'a self,
        _: Ctx,
        flow: BrowserFlowId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        self.posted(&format!("sign-out {flow}"), &form)
    }
}
