//! Cookies: what is believed, what is written.

use actix_web::test::TestRequest;
use actors::doors::{LoginFailed, Opened, Posted, Refusal};
use domain::LoginRefused;

use super::script::{Script, browser_cookie, flow, set};
use super::{FLOW, WORD, ask, click, form};

/// Makes the request of a step.
type Step = fn() -> TestRequest;

const ATTRIBUTES: &str = "; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=";

fn link() -> TestRequest {
    click(&format!("/c/{WORD}"), "cross-site")
}

fn line(name: &str, value: &str, life: u32) -> String {
    format!("{name}={value}{ATTRIBUTES}{life}")
}

#[actix_web::test]
async fn a_new_flow_gets_its_cookie_and_an_old_one_none() {
    let script = Script::well();
    assert_eq!(
        ask(&script, link()).await.cookies(),
        [line("__Host-sr_f_01020304", WORD, 600)]
    );
    set(&script.opens, || {
        Ok(Some(Opened::Flow {
            flow: flow(),
            cookie: None,
            forget: Vec::new(),
            locale: None,
        }))
    });
    assert!(ask(&script, link()).await.cookies().is_empty());
}

#[actix_web::test]
async fn cookies_that_the_door_gives_up_make_room_and_what_was_never_ours() {
    let script = Script::well();
    set(&script.opens, || {
        Ok(Some(Opened::Flow {
            flow: flow(),
            cookie: browser_cookie(),
            forget: vec!["bbbbbbbb".into()],
            locale: None,
        }))
    });
    let held =
        format!("__Host-sr_f_aaaaaaaa={WORD}; __Host-sr_f_bbbbbbbb={WORD}; __Host-sr_f_cccccccc=x");
    let got = ask(&script, link().insert_header(("cookie", held))).await;
    let wanted = [
        line("__Host-sr_f_bbbbbbbb", "", 0),
        line("__Host-sr_f_cccccccc", "", 0),
        line("__Host-sr_f_01020304", WORD, 600),
    ];
    assert_eq!(got.cookies(), wanted);
}

#[actix_web::test]
async fn a_crowded_browser_keeps_what_it_has_and_is_told() {
    let script = Script::well();
    set(&script.opens, || Ok(Some(Opened::Crowded)));
    let held = format!("__Host-sr_f_aaaaaaaa={WORD}");
    let got = ask(&script, link().insert_header(("cookie", held))).await;
    assert_eq!((got.status.as_u16(), got.cookies().len()), (429, 0));
    assert!(got.body.contains("too-many-open-requests"), "{}", got.body);
    assert!(got.body.contains("Then open the link again"));
}

#[actix_web::test]
async fn a_login_sets_swaps_and_removes() {
    let script = Script::well();
    let page = format!("/f/{FLOW}/login");
    let got = ask(&script, form(&page, "csrf=a")).await;
    assert_eq!(got.cookies(), [line("__Host-sr_l", "sealed-text_1", 600)]);
    let back = || click("/login/callback/staff?state=s&code=c", "cross-site");
    let got = ask(&script, back()).await;
    assert_eq!(
        got.cookies(),
        [line("__Host-sr_s", WORD, 3600), line("__Host-sr_l", "", 0)]
    );
    let fails = |reason| {
        move || {
            Ok(Err(LoginFailed {
                reason,
                reference: "R".into(),
                onward: None,
            }))
        }
    };
    set(&script.signs_in, fails(LoginRefused::IdToken));
    assert_eq!(
        ask(&script, back()).await.cookies(),
        [line("__Host-sr_l", "", 0)]
    );
    set(&script.signs_in, fails(LoginRefused::WrongAnswer));
    assert!(
        ask(&script, back()).await.cookies().is_empty(),
        "a foreign answer ends no login"
    );
}

#[actix_web::test]
async fn a_finished_step_gives_the_cookie_of_its_flow_a_full_life() {
    let script = Script::well();
    set(&script.takes, || Ok(Posted::Leaving));
    let fresh = line("__Host-sr_f_01020304", WORD, 600);
    let session = line("__Host-sr_s", WORD, 3600);
    let pre_login = line("__Host-sr_l", "", 0);
    let steps: [(Step, Vec<String>); 3] = [
        (
            || click("/login/callback/staff?state=s&code=c", "cross-site"),
            vec![session, pre_login],
        ),
        (
            || form(&format!("/f/{FLOW}/consent"), "csrf=a&agree=yes"),
            vec![],
        ),
        (|| click("/cb/github?state=s&code=c", "cross-site"), vec![]),
    ];
    for (step, others) in steps {
        let held = format!("__Host-sr_f_aaaaaaaa={WORD}; __Host-sr_f_01020304={WORD}");
        let got = ask(&script, step().insert_header(("cookie", held))).await;
        let wanted = [others.clone(), vec![fresh.clone()]].concat();
        assert_eq!(got.cookies(), wanted, "the flow's own cookie alone");
        let foreign = format!("__Host-sr_f_aaaaaaaa={WORD}; __Host-sr_f_01020304=x");
        let got = ask(&script, step().insert_header(("cookie", foreign))).await;
        assert_eq!(got.cookies(), others, "nothing that did not come");
    }
    set(&script.takes, || Ok(Posted::Page));
    set(&script.comes_back, || Ok(None));
    let held = format!("__Host-sr_f_01020304={WORD}");
    for unfinished in [
        form(&format!("/f/{FLOW}/consent"), "csrf=a"),
        form(&format!("/f/{FLOW}/again"), "csrf=a"),
        click("/cb/github?state=s&code=c", "cross-site"),
        click(&format!("/f/{FLOW}"), "same-origin"),
    ] {
        let got = ask(&script, unfinished.insert_header(("cookie", held.clone()))).await;
        assert!(got.cookies().is_empty());
    }
}

#[actix_web::test]
async fn signing_out_removes_each_of_ours_by_name() {
    let script = Script::well();
    let held = format!("__Host-sr_s={WORD}; other=1; __Host-sr_f_aaaaaaaa={WORD}");
    let out = |body| form("/session/end", body).insert_header(("cookie", held.clone()));
    let full = "csrf=a&flow=bf_0102030405060708090a0b0c0d0e0f10";
    let (session, pre_login) = (line("__Host-sr_s", "", 0), line("__Host-sr_l", "", 0));
    let got = ask(&script, out(full)).await;
    assert_eq!(got.status.as_u16(), 303);
    assert_eq!(got.header("location"), Some(format!("/f/{FLOW}").as_str()));
    assert_eq!(got.cookies(), [session, pre_login], "the flow goes on");
    assert_eq!(
        got.header("clear-site-data"),
        Some("\"cache\", \"storage\"")
    );
    let refused = |got: &super::Got| {
        assert_eq!((got.status.as_u16(), got.cookies().len()), (403, 0));
        assert_eq!(got.header("clear-site-data"), None);
    };
    refused(&ask(&script, out("csrf=a")).await);
    set(&script.takes, || Ok(Posted::Refused));
    refused(&ask(&script, out(full)).await);
}

#[actix_web::test]
async fn one_of_ours_twice_is_refused_and_others_are_ignored() {
    let doubles = [
        format!("__Host-sr_s={WORD}; __Host-sr_s={WORD}"),
        "__Host-sr_s=; __Host-sr_s".to_owned(),
        format!("__Host-sr_f_aaaaaaaa={WORD}; a=b; __Host-sr_f_aaaaaaaa=x"),
        "__Host-sr_l=a;__Host-sr_l=b".to_owned(),
        "__Host-sr_p=a; __Host-sr_p=b".to_owned(),
    ];
    for cookie in doubles {
        for path in [
            format!("/c/{WORD}"),
            format!("/f/{FLOW}"),
            "/cb/github?state=s".into(),
            "/login/callback/staff".into(),
        ] {
            let script = Script::well();
            let got = ask(
                &script,
                click(&path, "none").insert_header(("cookie", cookie.clone())),
            )
            .await;
            assert_eq!(got.status.as_u16(), 400, "{cookie} at {path}");
            assert_eq!(script.calls(), ["begin"], "{cookie} at {path}");
        }
    }
    let script = Script::well();
    let two_lines = link()
        .append_header(("cookie", "__Host-sr_s=a"))
        .append_header(("cookie", "__Host-sr_s=b"));
    assert_eq!(ask(&script, two_lines).await.status.as_u16(), 400);
    let foreign = "a=1; a=2; sr_s=x; sr_s=y; __Host-other=1; __Host-other=2; ;=;==";
    assert_eq!(
        ask(&script, link().insert_header(("cookie", foreign)))
            .await
            .status
            .as_u16(),
        200
    );
}

#[actix_web::test]
async fn values_that_cannot_be_ours_count_as_absent() {
    let long = format!("__Host-sr_l={}", "a".repeat(1025));
    let cases = [
        (
            format!("__Host-sr_s={WORD}; __Host-sr_l=a-b_c.d; __Host-sr_f_0a1b2c3d={WORD}"),
            "session=true flows=0a1b2c3d pre_login=Some(\"a-b_c.d\")",
        ),
        (
            format!("__Host-sr_s={WORD}A"),
            "session=false flows= pre_login=None",
        ),
        (
            format!("__Host-sr_s=\"{WORD}\""),
            "session=false flows= pre_login=None",
        ),
        (
            "__Host-sr_s=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB".into(),
            "session=false flows= pre_login=None",
        ),
        (
            format!("__host-sr_s={WORD}; __HOST-sr_f_0a1b2c3d={WORD}"),
            "session=false flows= pre_login=None",
        ),
        (
            format!("__Host-sr_f_0A1B2C3D={WORD}; __Host-sr_f_0a1b2c={WORD}; __Host-sr_f_={WORD}"),
            "session=false flows= pre_login=None",
        ),
        (
            "__Host-sr_l=a b; __Host-sr_p=x".into(),
            "session=false flows= pre_login=None",
        ),
        (long, "session=false flows= pre_login=None"),
    ];
    for (cookie, jar) in cases {
        let script = Script::well();
        ask(&script, link().insert_header(("cookie", cookie.clone()))).await;
        assert_eq!(
            script.calls(),
            ["begin".to_owned(), format!("open {jar}")],
            "{cookie}"
        );
    }
}

#[actix_web::test]
async fn refusals_of_the_door_set_no_cookie() {
    let script = Script::well();
    set(&script.opens, || Err(Refusal::Unavailable));
    let got = ask(&script, link()).await;
    assert_eq!((got.status.as_u16(), got.cookies().len()), (503, 0));
}
