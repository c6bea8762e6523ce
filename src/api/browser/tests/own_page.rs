//! A person's own page: who sees it, what its forms need, and which cookie it takes.

use actors::doors::{
    Answer, Cookies, Ctx, EndedView, LoginStarted, Onward, OwnPage, OwnPageDoor, OwnPosted,
    PostedForm, Refusal, SignedIn,
};
use domain::{ElicitationId, GrantId};
use secret::SessionCookie;

use super::pages::assert_says;
use super::samples::{HOSTILE, issuer};
use super::script::{Script, in_words, set};
use super::{WORD, ask, click, form};

/// The connection and the request of these tests.
const GRANT: &str = "gr_0102030405060708090a0b0c0d0e0f10";
const ASKED: &str = "el_0102030405060708090a0b0c0d0e0f10";

impl OwnPageDoor for Script {
    fn own_page<'a>(&'a self, _: Ctx, cookies: &'a Cookies) -> Answer<'a, OwnPage> {
        let call = format!(
            "own page {} {}",
            cookies.own_page.is_some(),
            cookies.session.is_some()
        );
        self.answer(call, &self.own)
    }

    fn start_own_login<'a>(
        &'a self,
        _: Ctx,
        issuer: &'a str,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>> {
        self.answer(
            in_words(&format!("own login {issuer}"), &form),
            &self.starts,
        )
    }

    fn end<'a>(
        &'a self,
        _: Ctx,
        grant: GrantId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<EndedView>> {
        self.answer(in_words(&format!("end {grant}"), &form), &self.ends)
    }

    fn decline_waiting<'a>(
        &'a self,
        _: Ctx,
        elicitation: ElicitationId,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>> {
        let call = in_words(&format!("decline {elicitation}"), &form);
        self.answer(call, &self.takes_own)
    }

    fn leave_own_page<'a>(
        &'a self,
        _: Ctx,
        _: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>> {
        self.answer(in_words("leave", &form), &self.takes_own)
    }
}

#[actix_web::test]
async fn the_page_shows_connections_and_what_waits() {
    let script = Script::well();
    let held = format!("__Host-sr_p={WORD}; __Host-sr_s={WORD}");
    let got = ask(
        &script,
        click("/me", "none").insert_header(("cookie", held)),
    )
    .await;
    let end = format!("action=\"/me/end/{GRANT}\"");
    let decline = format!("action=\"/me/decline/{ASKED}\"");
    assert_says(
        &got,
        200,
        &[
            "Your connections",
            "csrf-end",
            "csrf-decline",
            "action=\"/me/leave\"",
            "csrf-leave",
            "your repositories",
            "1 December 2026, 12:05 UTC",
            "href=\"https://northwind.example/privacy?a&#38;b\"",
            &end,
            &decline,
        ],
    );
    assert!(!got.body.contains(HOSTILE), "{}", got.body);
    assert_eq!(got.header("cache-control"), Some("no-store"));
    assert_eq!(script.calls(), ["begin", "own page true true"]);
}

#[actix_web::test]
async fn whoever_comes_from_elsewhere_sees_it_after_a_click_and_nobody_but_the_browser_does() {
    let script = Script::well();
    let got = ask(&script, click("/me", "cross-site")).await;
    assert_says(&got, 200, &["One more step", "href=\"/me\""]);
    let frame = click("/me", "same-origin").insert_header(("sec-fetch-dest", "iframe"));
    assert_eq!(ask(&script, frame).await.status.as_u16(), 403);
    assert_eq!(script.calls(), ["begin", "begin"]);
}

#[actix_web::test]
async fn strangers_are_asked_to_sign_in_and_come_back_with_a_cookie_of_this_page() {
    let script = Script::well();
    set(&script.own, || {
        Ok(OwnPage::SignedOut {
            issuers: vec![issuer()],
        })
    });
    let got = ask(&script, click("/me", "none")).await;
    assert_says(
        &got,
        200,
        &["action=\"/me/login/staff\"", "login.", "northwind.example"],
    );
    let got = ask(&script, form("/me/login/staff", "")).await;
    assert_eq!(got.status.as_u16(), 303);
    assert_eq!(got.header("location"), Some("/login/go"));
    set(&script.signs_in, || {
        let cookie = SessionCookie::parse(WORD).expect("a word");
        Ok(Ok(SignedIn {
            cookie,
            onward: Onward::OwnPage,
        }))
    });
    let got = ask(
        &script,
        click("/login/callback/staff?state=s&code=c", "cross-site"),
    )
    .await;
    assert_eq!(got.header("refresh"), Some("0; url=/me"));
    let ours = "; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=";
    assert_eq!(
        got.cookies(),
        [
            format!("__Host-sr_p={WORD}{ours}900"),
            format!("__Host-sr_l={ours}0")
        ]
    );
}

#[actix_web::test]
async fn what_came_of_a_form_is_said_and_a_foreign_one_is_refused() {
    let (end, decline) = (format!("/me/end/{GRANT}"), format!("/me/decline/{ASKED}"));
    let script = Script::well();
    let got = ask(&script, form(&end, "csrf=a")).await;
    assert_says(&got, 200, &["Ended", "confirmed it", "href=\"/me\""]);
    let got = ask(&script, form(&decline, "csrf=a")).await;
    assert_eq!(got.header("location"), Some("/me"));
    let got = ask(&script, form("/me/leave", "csrf=a")).await;
    assert_eq!(got.header("location"), Some("/me"));
    assert_eq!(got.cookies().len(), 1);
    assert!(got.cookies()[0].starts_with("__Host-sr_p=; "));
    let foreign = form(&end, "csrf=a").insert_header(("sec-fetch-site", "cross-site"));
    set(&script.ends, || Ok(OwnPosted::Refused));
    assert_says(&ask(&script, foreign).await, 403, &["form-refused"]);
    assert_eq!(
        script.calls(),
        [
            "begin".to_owned(),
            format!("end {GRANT} own csrf=a"),
            "begin".to_owned(),
            format!("decline {ASKED} own csrf=a"),
            "begin".to_owned(),
            "leave own csrf=a".to_owned(),
            "begin".to_owned(),
            format!("end {GRANT} foreign csrf=a"),
        ]
    );
    // Who is signed in no longer is asked to sign in; what is not theirs is as if it were not there.
    set(&script.ends, || Ok(OwnPosted::SignedOut));
    let got = ask(&script, form(&end, "csrf=a")).await;
    assert_eq!(got.header("location"), Some("/me"));
    set(&script.ends, || Ok(OwnPosted::Gone));
    assert_eq!(
        ask(&script, form(&end, "csrf=a")).await.status.as_u16(),
        404
    );
    set(&script.ends, || Err(Refusal::Unavailable));
    assert_eq!(
        ask(&script, form(&end, "csrf=a")).await.status.as_u16(),
        503
    );
    let got = ask(&script, form("/me/end/gr_1", "csrf=a")).await;
    assert_eq!(got.status.as_u16(), 404);
}
