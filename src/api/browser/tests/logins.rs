//! Signing in goes wrong, or the wrong person is signed in: what they see and where it leads.

use actors::doors::{FlowPage, LoginFailed, Onward};
use domain::LoginRefused;

use super::pages::assert_says;
use super::samples::issuer;
use super::script::{Script, flow, set};
use super::{FLOW, WORD, ask, click, form};

#[actix_web::test]
async fn a_login_that_failed_says_why_in_our_words() {
    for (reason, status, code) in [
        (LoginRefused::NotStartedHere, 400, "login-not-started-here"),
        (LoginRefused::WrongAnswer, 400, "login-wrong-answer"),
        (LoginRefused::Refused, 403, "login-refused"),
        (LoginRefused::IdToken, 403, "login-id-token"),
        (LoginRefused::Unreachable, 503, "login-unreachable"),
        (LoginRefused::Misconfigured, 500, "login-misconfigured"),
    ] {
        let script = Script::well();
        set(&script.signs_in, move || {
            Ok(Err(LoginFailed {
                reason,
                reference: "LLLL-0000".into(),
                onward: None,
            }))
        });
        let got = ask(
            &script,
            click("/login/callback/staff?state=s", "cross-site"),
        )
        .await;
        assert_says(&got, status, &[code, "LLLL-0000"]);
        let got = ask(
            &script,
            click("/login/callback/staff?state=s&state=s", "cross-site"),
        )
        .await;
        assert_eq!(got.status.as_u16(), 400);
    }
}

#[actix_web::test]
async fn after_a_failed_login_a_link_leads_back_to_its_flow() {
    let link = format!("href=\"/f/{FLOW}\"");
    let fails = |onward| {
        move || {
            Ok(Err(LoginFailed {
                reason: LoginRefused::Refused,
                reference: "LLLL-0000".into(),
                onward,
            }))
        }
    };
    let script = Script::well();
    let back = || click("/login/callback/staff?error=access_denied", "cross-site");
    set(&script.signs_in, fails(Some(Onward::Flow(flow()))));
    let got = ask(&script, back()).await;
    assert_says(&got, 403, &["Try again", &link]);
    assert!(!got.body.contains("<form"), "{}", got.body);
    set(&script.signs_in, fails(None));
    assert!(!ask(&script, back()).await.body.contains("Try again"));
    set(&script.goes, move || {
        let failed = LoginFailed {
            reason: LoginRefused::Unreachable,
            reference: "LLLL-0000".into(),
            onward: Some(Onward::Flow(flow())),
        };
        Ok(Some(Err(failed)))
    });
    assert_says(
        &ask(&script, click("/login/go", "same-origin")).await,
        503,
        &["Try again", &link],
    );
}

#[actix_web::test]
async fn the_wrong_person_signs_out_and_comes_to_sign_in() {
    let script = Script::well();
    set(&script.shows, || {
        Ok(FlowPage::Mismatch {
            sign_out: "csrf-out".into(),
        })
    });
    let path = format!("/f/{FLOW}");
    let held = format!("__Host-sr_s={WORD}; __Host-sr_f_01020304={WORD}");
    let mismatch = click(&path, "same-origin").insert_header(("cookie", held.clone()));
    let hidden = format!("name=\"flow\" value=\"{FLOW}\"");
    assert_says(
        &ask(&script, mismatch).await,
        403,
        &["action=\"/session/end\"", "csrf-out", &hidden],
    );
    let body = "csrf=csrf-out&flow=bf_0102030405060708090a0b0c0d0e0f10";
    let out = form("/session/end", body).insert_header(("cookie", held));
    let got = ask(&script, out).await;
    assert_eq!(got.status.as_u16(), 303);
    assert_eq!(got.header("location"), Some(path.as_str()));
    set(&script.shows, || {
        Ok(FlowPage::SignIn {
            issuer: issuer(),
            yes: "csrf-yes".into(),
        })
    });
    // The browser follows with what is left: the flow's cookie.
    let left = format!("__Host-sr_f_01020304={WORD}");
    let next = click(&path, "same-origin").insert_header(("cookie", left));
    assert_says(
        &ask(&script, next).await,
        200,
        &["First, sign in", "csrf-yes"],
    );
    let calls = script.calls();
    assert!(calls.contains(&format!("sign-out {FLOW} own csrf=csrf-out")));
    let last = format!("page {FLOW} session=false flows=01020304 pre_login=None");
    assert_eq!(calls.last(), Some(&last));
}
