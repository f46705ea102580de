//! Rate limits on one node (docs/API.md, "Rate limits").
//!
//! Budgets are small here. A test that fills one does so well within the shortest window, ten seconds.

use quipu_tests::{
    Answer, Database, Setup, draft, eventually,
    signature::{Signer, fresh_nonce, unix_seconds},
};
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::people::{SigningMerchant, key_with_id, set_status, text};

const BALANCE: &str = "/api/v1/balance";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creations_are_limited_in_ten_seconds_and_in_a_minute() {
    let gateway = Setup::new(Database::Sqlite)
        .set("LIMITS__PAYMENT_CREATE_PER_10S", "3")
        .set("LIMITS__PAYMENT_CREATE_PER_MINUTE", "5")
        .start()
        .await;
    let merchant = gateway.merchant().await;
    let create = async || merchant.api.create(&draft::deposit_mxn(5)).await;
    for remaining in [2, 1, 0] {
        let answer = create().await;
        answer.ok();
        assert_eq!(announced(&answer), (3, remaining));
    }
    assert_eq!(refused(&create().await, 3, 10), 0);
    merchant.api.get(BALANCE).await.ok();

    // The burst passes, second by second. The minute has room for two more, whatever the burst would allow.
    for _ in 0..2 {
        eventually("the burst to pass", async || {
            let answer = create().await;
            (answer.status == 200).then_some(())
        })
        .await;
    }
    let full = eventually("the minute alone to be full", async || {
        let answer = create().await;
        assert_eq!(answer.status, 429, "{answer}");
        (announced(&answer).0 == 5).then_some(answer)
    })
    .await;
    refused(&full, 5, 60);
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_else_has_a_budget_of_its_own() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__STANDARD_PER_MINUTE", "5").start().await;
    let merchant = gateway.merchant().await;
    let unread = merchant.key(&json!({ "scopes": ["payments.create"] })).await;

    // Whatever the answer says, the request was counted, and the answer says so.
    let answers = [
        merchant.api.get(BALANCE).await,
        merchant.api.get("/api/v1/balance?currency=XXX").await,
        merchant.api.get("/api/v1/payments/pay_1763683200000_aaaaaaaaaaaa").await,
        merchant.api.get("/api/v1/payments?limit=0").await,
        merchant.api.post_empty("/api/v1/auth/token").await,
    ];
    for (answer, (status, remaining)) in
        answers.iter().zip([(200, 4), (400, 3), (404, 2), (400, 1), (200, 0)])
    {
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(announced(answer), (5, remaining), "{}", answer.text);
    }
    refused(&merchant.api.get(BALANCE).await, 5, 60);
    refused(&merchant.api.post_empty("/api/v1/auth/token").await, 5, 60);
    // Creations are counted apart, invalid ones included.
    let created = merchant.api.create(&draft::deposit_mxn(5)).await;
    created.ok();
    let invalid = merchant.api.create(&json!({})).await;
    invalid.refused(400, "VALIDATION_FAILED");
    assert_eq!(announced(&invalid).1 + 1, announced(&created).1);

    // Another key of the merchant has its own; a missing scope is an answer like any other.
    let forbidden = unread.get(BALANCE).await;
    forbidden.refused(403, "SCOPE_MISSING");
    assert_eq!(announced(&forbidden), (5, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_may_have_limits_of_its_own() {
    let gateway = Setup::new(Database::Sqlite)
        .set("LIMITS__STANDARD_PER_MINUTE", "50")
        .set("LIMITS__PAYMENT_CREATE_PER_10S", "60")
        .set("LIMITS__PAYMENT_CREATE_PER_MINUTE", "70")
        .start()
        .await;
    let merchant = gateway.merchant().await;
    let narrow = merchant.key(&json!({ "rate_limits": { "standard_per_minute": 2 } })).await;
    for remaining in [1, 0] {
        assert_eq!(announced(&narrow.get(BALANCE).await), (2, remaining));
    }
    refused(&narrow.get(BALANCE).await, 2, 60);
    assert_eq!(announced(&narrow.create(&draft::deposit_mxn(5)).await), (60, 59));

    let wishes = json!({ "create_per_minute": 1, "create_per_10s": 8, "standard_per_minute": 1000 });
    let wide = merchant.key(&json!({ "rate_limits": wishes })).await;
    assert_eq!(announced(&wide.get(BALANCE).await), (1000, 999));
    assert_eq!(announced(&wide.create(&draft::deposit_mxn(5)).await), (1, 0));
    refused(&wide.create(&draft::deposit_mxn(5)).await, 1, 60);
    assert_eq!(announced(&merchant.api.get(BALANCE).await), (50, 49));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_may_have_limits_of_its_own() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__STANDARD_PER_MINUTE", "50").start().await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let wishes = json!({ "create_per_minute": 1, "standard_per_minute": 2 });
    let issued = merchant.issue_as(&json!({ "environment": "test", "rate_limits": wishes })).await;
    assert_eq!(issued["rate_limits"], wishes);
    let narrow = Signer { merchant_id: merchant.id.to_string(), secret: text(&issued, "secret") };
    let balance = async |signer: &Signer| signer.get("/api/v2/balance").send(&caller).await;
    for remaining in [1, 0] {
        assert_eq!(announced(&balance(&narrow).await), (2, remaining));
    }
    refused(&balance(&narrow).await, 2, 60);
    let create = async || narrow.post("/api/v2/payments", &draft::deposit_mxn(5)).send(&caller).await;
    assert_eq!(announced(&create().await), (1, 0));
    refused(&create().await, 1, 60);
    assert_eq!(announced(&balance(&merchant.signer).await), (50, 49));

    let recorded = gateway.operator().get("/operator/v1/audit-log").await.data();
    assert_eq!(recorded[0]["action"], "hmac_credential.issue", "{recorded}");
    assert_eq!(recorded[0]["after"], json!({ "environment": "test", "rate_limits": wishes }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_counts_for_its_key() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__STANDARD_PER_MINUTE", "4").start().await;
    let merchant = gateway.merchant().await;
    let (_, key) = key_with_id(&merchant, &json!({})).await;
    let key = gateway.anonymous().with_api_key(&key);
    let token = key.post_empty("/api/v1/auth/token").await;
    assert_eq!(announced(&token), (4, 3));
    let bearer = gateway.anonymous().with_bearer(&text(&token.ok(), "access_token"));
    assert_eq!(announced(&bearer.get(BALANCE).await), (4, 2));
    assert_eq!(announced(&key.get(BALANCE).await), (4, 1));
    assert_eq!(announced(&bearer.get(BALANCE).await), (4, 0));
    refused(&key.get(BALANCE).await, 4, 60);
    refused(&bearer.get(BALANCE).await, 4, 60);

    // Likewise one of version 2 for the credential that signed for it.
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let token = merchant.signer.post("/api/v2/auth/token", &json!({})).send(&caller).await;
    assert_eq!(announced(&token), (4, 3));
    let bearer = caller.with_bearer(&text(&token.ok(), "access_token"));
    let balance = async || merchant.signer.get("/api/v2/balance").send(&caller).await;
    assert_eq!(announced(&bearer.get("/api/v1/tickets").await), (4, 2));
    assert_eq!(announced(&balance().await), (4, 1));
    assert_eq!(announced(&bearer.get("/api/v1/tickets").await), (4, 0));
    refused(&balance().await, 4, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_version_2_are_limited_each() {
    let gateway = Setup::new(Database::Sqlite)
        .set("LIMITS__STANDARD_PER_MINUTE", "2")
        .set("LIMITS__PAYMENT_CREATE_PER_10S", "1")
        .start()
        .await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let (_, second) = merchant.issue("test").await;
    let path = "/api/v2/balance";
    for remaining in [1, 0] {
        let answer = merchant.signer.get(path).send(&caller).await;
        answer.ok();
        assert_eq!(announced(&answer), (2, remaining));
    }
    let limited = merchant.signer.get(path);
    refused(&limited.send(&caller).await, 2, 60);
    let create =
        async || merchant.signer.post("/api/v2/payments", &draft::deposit_mxn(5)).send(&caller).await;
    create().await.ok();
    refused(&create().await, 1, 10);
    second.get(path).send(&caller).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_once_never_exceed_the_limit() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__STANDARD_PER_MINUTE", "30").start().await;
    let merchant = gateway.merchant().await;
    let mut sending = JoinSet::new();
    for _ in 0..100 {
        let api = merchant.api.clone();
        sending.spawn(async move { api.get(BALANCE).await.status });
    }
    let statuses = sending.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 30);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 70);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_budgets_are_the_defaults() {
    let gateway = Setup::new(Database::Sqlite)
        .default_for("LIMITS__STANDARD_PER_MINUTE")
        .default_for("LIMITS__PAYMENT_CREATE_PER_MINUTE")
        .default_for("LIMITS__PAYMENT_CREATE_PER_10S")
        .start()
        .await;
    for caller in [gateway.v1(), gateway.v2()] {
        assert_eq!(announced(&caller.create(&draft::deposit_mxn(100)).await), (500, 499));
    }
    assert_eq!(announced(&gateway.v1().get(BALANCE).await), (100, 99));
    assert_eq!(announced(&gateway.v2().get("/api/v2/balance").await), (100, 99));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_of_authentication_are_limited_by_address_and_good_keys_still_work() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__UNAUTHENTICATED_PER_MINUTE", "4").start().await;
    let (merchant, signing) = (gateway.merchant().await, SigningMerchant::onboard(&gateway).await);
    let caller = gateway.anonymous();
    for answer in [
        caller.get(BALANCE).await,
        caller.with_api_key("qp_live_x").get(BALANCE).await,
        caller.with_bearer("x.y.z").get(BALANCE).await,
        signing.signer.get("/api/v2/balance").without("X-Nonce").send(&caller).await,
    ] {
        assert_eq!(answer.status, 401, "{}", answer.text);
    }
    for answer in [
        caller.get(BALANCE).await,
        caller.with_api_key("qp_test_sk_x").create(&draft::deposit_mxn(1)).await,
        caller.with_bearer("x.y.z").get(BALANCE).await,
        caller.get("/api/v2/balance").await,
        caller.with_bearer("qp_op_x").get("/operator/v1/merchants").await,
    ] {
        refused(&answer, 4, 60);
    }
    merchant.api.get(BALANCE).await.ok();
    merchant.api.create(&draft::deposit_mxn(1)).await.ok();
    signing.signer.get("/api/v2/balance").send(&caller).await.ok();
    gateway.operator().get("/operator/v1/merchants").await.ok();
    // What needs no credential is not authenticated, so nothing failed.
    assert_eq!(caller.get("/healthz").await.status, 200);
    assert_eq!(caller.get("/.well-known/jwks.json").await.status, 200);
}

/// A suspended merchant's too, and what stands in the way of the use case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_key_is_answered_is_counted() {
    let gateway = Setup::new(Database::Sqlite)
        .set("LIMITS__STANDARD_PER_MINUTE", "3")
        .set("LIMITS__PAYMENT_CREATE_PER_MINUTE", "6")
        .start()
        .await;
    let (merchant, signing) = (gateway.merchant().await, SigningMerchant::onboard(&gateway).await);
    let (caller, operator) = (gateway.anonymous(), gateway.operator());
    let create = async |headers: &[(&str, &str)], body: &str| {
        merchant.api.send(Method::POST, "/api/v1/payments", Some(body.into()), headers).await
    };
    let (key, body) = (("Idempotency-Key", "k"), draft::deposit_mxn(5).to_string());
    let answers = [
        (create(&[key], &body).await, 200),
        (create(&[key], &body).await, 200),
        (create(&[key], "{}").await, 422),
        (create(&[("Content-Type", "text/plain")], &body).await, 415),
        (create(&[], &" ".repeat(1024 * 1024 + 1)).await, 413),
        (create(&[], "{").await, 400),
        (create(&[], &body).await, 429),
    ];
    for ((answer, status), remaining) in answers.iter().zip([5, 4, 3, 2, 1, 0, 0]) {
        assert_eq!(answer.status, *status, "{answer}");
        assert_eq!(announced(answer), (6, remaining), "{answer}");
    }

    set_status(&operator, merchant.id, "suspended").await;
    set_status(&operator, signing.id, "suspended").await;
    let path = "/api/v2/balance";
    for remaining in [2, 1, 0] {
        for answer in [merchant.api.get(BALANCE).await, signing.signer.get(path).send(&caller).await] {
            answer.refused(403, "MERCHANT_SUSPENDED");
            assert_eq!(announced(&answer), (3, remaining));
        }
    }
    refused(&merchant.api.get(BALANCE).await, 3, 60);
    refused(&signing.signer.get(path).send(&caller).await, 3, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_too_long_to_be_verified_is_a_failure() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__UNAUTHENTICATED_PER_MINUTE", "3").start().await;
    let (signing, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let long = || {
        let body = Some(vec![b' '; 1024 * 1024 + 1]);
        signing.signer.request(Method::POST, "/api/v2/payments", body, unix_seconds(), &fresh_nonce())
    };
    // What the headers show is said first, as it is to those who have no key.
    let unsigned = long().without("X-Signature").send(&caller).await;
    unsigned.refused(401, "SIGNATURE_MISSING");
    assert_eq!(announced(&unsigned), (3, 2));
    for remaining in [1, 0] {
        let answer = long().send(&caller).await;
        answer.refused(413, "BODY_TOO_LARGE");
        assert_eq!(announced(&answer), (3, remaining));
    }
    refused(&long().send(&caller).await, 3, 60);
    signing.signer.get("/api/v2/balance").send(&caller).await.ok();
}

/// (`X-RateLimit-Limit`, `X-RateLimit-Remaining`) of an answer that must have them, and a reset within a
/// minute and a bit of the answer, which may have been read long after it was made.
#[track_caller]
pub(super) fn announced(answer: &Answer) -> (i64, i64) {
    let reset = number(answer, "X-RateLimit-Reset");
    let now = unix_seconds();
    assert!((now - 60..=now + 62).contains(&reset), "reset at {reset}, it is {now}");
    (number(answer, "X-RateLimit-Limit"), number(answer, "X-RateLimit-Remaining"))
}

/// A 429 of a window of so many seconds; answers what remains.
#[track_caller]
fn refused(answer: &Answer, limit: i64, seconds: i64) -> i64 {
    answer.refused(429, "RATE_LIMITED");
    let (announced_limit, remaining) = announced(answer);
    assert_eq!((announced_limit, remaining), (limit, 0), "{:?}", answer.headers);
    // A second counts until all of it has left the window.
    let wait = number(answer, "Retry-After");
    assert!((1..=seconds + 1).contains(&wait), "Retry-After {wait} in a window of {seconds} s");
    remaining
}

#[track_caller]
fn number(answer: &Answer, header: &str) -> i64 {
    let text =
        answer.header(header).unwrap_or_else(|| panic!("no {header}: {} {}", answer.status, answer.text));
    text.parse().unwrap_or_else(|_| panic!("{header}: {text}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_beyond_the_budget_of_pages_is_told_that_before_anything_else() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__PAGES_PER_MINUTE", "1").start().await;
    let anonymous = gateway.anonymous();
    anonymous.get("/payment-pages/x/details").await.refused(404, "PAGE_NOT_FOUND");
    let path = "/payment-pages/x/recipient";
    for kind in ["application/x-www-form-urlencoded", "text/plain"] {
        // Too long, and for the second of a wrong type as well.
        let body = Some(vec![b'x'; 70_000]);
        let answer = anonymous.send(Method::POST, path, body, &[("Content-Type", kind)]).await;
        answer.refused(429, "RATE_LIMITED");
        assert!(answer.header("Retry-After").is_some(), "{answer}");
    }
}
