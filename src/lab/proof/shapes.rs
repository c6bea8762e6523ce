//! Switches that imitate real providers, and the catalogue as a whole.

use super::{Bench, CALLBACK, authorize, encoded, redemption, refreshing, send, text};
use crate::{CallbackEdits, LabConfig, Misbehaviour, Moment, Reply, TokenShape, catalogue};

#[actix_web::test]
async fn a_replaced_refresh_token_has_its_grace_and_no_more() {
    let bench = Bench::provider();
    bench.lab.misbehave(Misbehaviour {
        reuse_grace: 60,
        ..Misbehaviour::default()
    });
    let tokens = bench.tokens("alice-at-practice", &[]).await;
    let old = text(&tokens, "refresh_token");
    assert_eq!(bench.refresh(old).await.status, 200);
    bench.pass(59);
    assert_eq!(bench.refresh(old).await.status, 200);
    bench.pass(1);
    assert_eq!(bench.refresh(old).await.status, 400);
    assert!(bench.lab.live_grants().is_empty());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn a_refresh_may_end_the_old_access_token() {
    let bench = Bench::provider();
    for (ends, status) in [(false, 200), (true, 401)] {
        bench.lab.misbehave(Misbehaviour {
            refresh_ends_access: ends,
            ..Misbehaviour::default()
        });
        let tokens = bench.tokens("alice-at-practice", &[]).await;
        let next = bench.refresh(text(&tokens, "refresh_token")).await.json();
        assert_eq!(
            bench
                .api("/api/me", text(&tokens, "access_token"))
                .await
                .status,
            status
        );
        assert_eq!(
            bench
                .api("/api/me", text(&next, "access_token"))
                .await
                .status,
            200
        );
    }
    bench.lab.stop().await;
}

#[actix_web::test]
async fn token_answers_take_other_shapes() {
    let bench = Bench::provider();
    let shape = TokenShape {
        form_encoded: true,
        ..TokenShape::default()
    };
    bench.lab.misbehave(Misbehaviour {
        token_shape: shape,
        ..Misbehaviour::default()
    });
    let code = bench.code("alice-at-practice", &[]).await;
    let got = bench.redeem(&code).await;
    assert_eq!(
        got.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert!(got.text().contains("access_token=prac_at_"));
    // Errors keep their shape.
    assert_eq!(
        text(&bench.redeem(&code).await.json(), "error"),
        "invalid_grant"
    );
    let shape = TokenShape {
        nest: Some("data".to_owned()),
        ..TokenShape::default()
    };
    bench.lab.misbehave(Misbehaviour {
        token_shape: shape,
        ..Misbehaviour::default()
    });
    let nested = bench.tokens("alice-at-practice", &[]).await;
    assert!(text(&nested["data"], "access_token").starts_with("prac_at_"));
    bench.lab.stop().await;
}

#[actix_web::test]
async fn the_way_back_may_be_a_form() {
    let bench = Bench::issuer();
    let callback = CallbackEdits {
        form_post: true,
        ..CallbackEdits::default()
    };
    bench.lab.misbehave(Misbehaviour {
        callback,
        ..Misbehaviour::default()
    });
    bench
        .lab
        .sign_in_silently(Some("bob"))
        .expect("a known person");
    let page = bench.get(&authorize(&[]), &[]).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains(&format!("action=\"{CALLBACK}\"")));
    assert!(page.text().contains("name=\"code\"") && page.text().contains("name=\"iss\""));
    bench.lab.stop().await;
}

#[actix_web::test]
async fn a_stalled_answer_ends_with_the_lab() {
    let bench = Bench::provider();
    bench
        .lab
        .misbehave(Misbehaviour::default().reply("/token", None, Reply::Stall));
    let gate = bench.lab.hold("/token", Moment::BeforeAnswering);
    let (addr, body) = (bench.lab.addr(), encoded(&refreshing("x")));
    let waiting = tokio::spawn(async move { send(addr, "POST", "/token", &[], &body).await });
    gate.arrived(1).await;
    gate.open();
    assert!(!waiting.is_finished());
    bench.lab.stop().await;
    assert!(waiting.await.expect("the task ends").is_err());
}

#[actix_web::test]
async fn every_case_runs_without_a_fault_of_the_lab_itself() {
    let bench = Bench::issuer();
    for case in catalogue().expect("the catalogue reads") {
        // Huge, endless and form answers have walks of their own.
        let own_walk = ["huge", "stalls", "form-post"];
        if own_walk.iter().any(|word| case.name.contains(word)) {
            continue;
        }
        bench.lab.behave();
        let code = bench.code("alice", &[("scope", "openid mcp")]).await;
        bench.lab.misbehave(case.switches);
        let back = bench.callback("alice", &[]).await;
        assert!(!back.is_empty(), "{}", case.name);
        let body = encoded(&redemption(&code));
        let got = send(bench.lab.addr(), "POST", "/token", &[], &body).await;
        let text = got.map(|got| got.text()).unwrap_or_default();
        assert!(!text.contains("server_error"), "{}: {text}", case.name);
    }
    bench.lab.stop().await;
}

#[tokio::test]
async fn a_lab_runs_in_plain_tokio_and_comes_back_on_its_port() {
    let bench = Bench::issuer();
    assert_eq!(bench.get("/", &[]).await.status, 200);
    let addr = bench.lab.addr();
    bench.lab.stop().await;
    assert!(send(addr, "GET", "/", &[], "").await.is_err());
    let again = Bench::new(LabConfig {
        addr,
        ..LabConfig::issuer()
    });
    assert_eq!(again.get("/", &[]).await.status, 200);
    again.lab.stop().await;
}
