//! Signed requests, one check at a time (docs/SIGNING.md).

use quipu_tests::{
    Database, Gateway, Receiver, draft, on_both_databases,
    signature::{fresh_nonce, unix_seconds},
};
use reqwest::Method;
use serde_json::json;

use super::people::{SigningMerchant, refused_401};

const BALANCE: &str = "/api/v2/balance?currency=MXN";
const PAYMENTS: &str = "/api/v2/payments";

on_both_databases!(
    the_four_endpoints_and_the_token_endpoint_accept_a_good_signature,
    a_signed_creation_may_be_any_payment,
    what_was_altered_after_signing_is_refused,
    timestamps_pass_up_to_300_seconds_either_way,
    nonces_have_8_to_128_characters_and_are_used_once,
    a_nonce_is_burnt_by_a_verified_request_and_by_no_other,
    what_was_answered_503_may_be_sent_again_as_it_was,
    the_query_is_signed_exactly_as_sent,
    a_header_that_is_sent_twice_is_not_read,
    of_several_faults_one_is_named,
    the_body_of_a_get_counts_as_empty,
);

async fn the_four_endpoints_and_the_token_endpoint_accept_a_good_signature(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let signer = &merchant.signer;
    let created = signer.post(PAYMENTS, &draft::deposit_mxn(700)).send(&caller).await.ok();
    let id = created["transaction_id"].as_str().expect("an id");
    let read = signer.get(&format!("{PAYMENTS}/{id}")).send(&caller).await.data();
    assert_eq!(read["transaction_id"], id);
    assert_eq!(signer.get("/api/v2/balance").send(&caller).await.ok()["merchant_id"], merchant.id);
    assert_eq!(signer.get("/api/v2/balance/all").send(&caller).await.ok()["merchant_id"], merchant.id);
    let token = signer.post("/api/v2/auth/token", &json!({})).send(&caller).await.ok();
    assert_eq!(token["token_type"], "Bearer");
}

async fn a_signed_creation_may_be_any_payment(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let (signer, receiver) = (&merchant.signer, Receiver::start().await);
    for currency in ["ARS", "GEL"] {
        merchant.fund(currency, 1_000).await;
    }
    let hosted = |draft, kind: &str| draft::with(draft, "/type", json!(kind));
    let wallet = json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" });
    for (draft, member) in [
        (hosted(draft::deposit_mxn(100), "deposit_pp"), "payment_page_url"),
        (hosted(draft::without(draft::withdrawal_ars(100), "/payout"), "withdrawal_pp"), "payment_page_url"),
        (draft::partner_withdrawal("GEL", 100, wallet), "payout"),
        (draft::with(draft::deposit_mxn(100), "/webhook_url", json!(receiver.url("/v2"))), "webhook_url"),
    ] {
        let draft = draft::with(draft, "/customer/email", json!("stay@simulator.test"));
        let mut created = signer.post(PAYMENTS, &draft).send(&caller).await.ok();
        created.as_object_mut().expect("an object").remove("success");
        assert!(!created[member].is_null(), "{member} in {created}");
        let id = created["transaction_id"].as_str().expect("an id");
        let read = signer.get(&format!("{PAYMENTS}/{id}")).send(&caller).await.data();
        for (name, value) in created.as_object().expect("an object") {
            let moves = ["status", "status_version", "updated_at"].contains(&name.as_str());
            assert!(moves || &read[name] == value, "{name} of {draft}");
        }
    }
    let shown = gateway.operator().get(&merchant.path("")).await.data();
    let secret = shown["default_webhook_secrets"]["test"].as_str().expect("a secret");
    assert!(receiver.wait_for("/v2", 1).await[0].is_signed_with(secret));
}

async fn what_was_altered_after_signing_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let other = SigningMerchant::onboard(&gateway).await;
    let signer = &merchant.signer;
    let create = || signer.post(PAYMENTS, &draft::deposit_mxn(700));

    for header in ["X-Merchant-Id", "X-Timestamp", "X-Nonce", "X-Signature-Version", "X-Signature"] {
        for request in [create(), signer.get(BALANCE)] {
            refused_401(&request.clone().with(header, "").send(&caller).await, "SIGNATURE_MISSING");
            refused_401(&request.without(header).send(&caller).await, "SIGNATURE_MISSING");
        }
    }

    let digest = |signature: &str| signature.strip_prefix("hmac_sha256=").expect("the prefix").to_owned();
    let good = create();
    let upper = format!("hmac_sha256={}", digest(good.header("X-Signature")).to_uppercase());
    let bare = digest(good.header("X-Signature"));
    let altered = [
        create().with("X-Signature-Version", "v2"),
        create().with("X-Merchant-Id", &other.id.to_string()),
        create().with("X-Merchant-Id", "9007199254740991"),
        create().with("X-Merchant-Id", "not-a-number"),
        create().with("X-Nonce", &fresh_nonce()),
        create().with("X-Timestamp", &(unix_seconds() + 7).to_string()),
        create().with("X-Signature", "hmac_sha256=00"),
        good.clone().with("X-Signature", &upper),
        good.with("X-Signature", &bare),
    ];
    for request in altered {
        refused_401(&request.send(&caller).await, "SIGNATURE_INVALID");
    }

    let wrong = quipu_tests::signature::Signer { secret: other.signer.secret.clone(), ..signer.clone() };
    refused_401(&wrong.get(BALANCE).send(&caller).await, "SIGNATURE_INVALID");

    let draft = draft::deposit_mxn(700).to_string();
    let moved = [
        create().carrying(Some(&draft)),
        signer.post(PAYMENTS, &json!({})).carrying(Some("{} ")),
        signer.get(BALANCE).sent_to("/api/v2/balance?currency=ARS"),
        signer.get("/api/v2/balance").sent_to("/api/v2/balance/all"),
        signer.get("/api/v2/balance").sent_to("/api/v2/balance?"),
    ];
    for request in moved {
        refused_401(&request.send(&caller).await, "SIGNATURE_INVALID");
    }

    let balance = merchant.balance(&gateway, "MXN").await;
    assert_eq!(balance, ("0".to_owned(), "0".to_owned()), "something was created after all");
}

async fn timestamps_pass_up_to_300_seconds_either_way(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let at = |offset| merchant.signer.get_at(BALANCE, offset, &fresh_nonce());

    // A second may begin between signing and judging: what must pass in the past is signed again if one did, and so is
    // what must fail in the future.
    let mut second = unix_seconds();
    loop {
        let (oldest, too_new) = (at(-300).send(&caller).await, at(301).send(&caller).await);
        if unix_seconds() == second {
            oldest.ok();
            refused_401(&too_new, "TIMESTAMP_OUT_OF_WINDOW");
            break;
        }
        second = unix_seconds();
    }
    at(300).send(&caller).await.ok();
    refused_401(&at(-301).send(&caller).await, "TIMESTAMP_OUT_OF_WINDOW");
    for timestamp in ["", "now", "17636832000000", "-5", "1763683200.5"] {
        let answer = merchant.signer.get(BALANCE).with("X-Timestamp", timestamp).send(&caller).await;
        assert_eq!(answer.status, 401, "{timestamp:?}: {}", answer.text);
    }
}

async fn nonces_have_8_to_128_characters_and_are_used_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let other = SigningMerchant::onboard(&gateway).await;
    let with = |nonce: &str| merchant.signer.get_at(BALANCE, 0, nonce);
    for nonce in ["1234567".to_owned(), "n".repeat(129)] {
        refused_401(&with(&nonce).send(&caller).await, "SIGNATURE_INVALID");
    }
    for nonce in ["12345678".to_owned(), "n".repeat(128)] {
        let request = with(&nonce);
        request.send(&caller).await.ok();
        refused_401(&request.send(&caller).await, "NONCE_REUSED");
        // Signed again, for another endpoint and another second: the nonce is used all the same.
        let again = merchant.signer.get_at("/api/v2/balance/all", -9, &nonce);
        refused_401(&again.send(&caller).await, "NONCE_REUSED");
        let body = draft::deposit_mxn(5).to_string().into_bytes();
        let create = merchant.signer.request(Method::POST, PAYMENTS, Some(body), unix_seconds(), &nonce);
        refused_401(&create.send(&caller).await, "NONCE_REUSED");
        // Another merchant's nonces are its own.
        other.signer.get_at(BALANCE, 0, &nonce).send(&caller).await.ok();
    }
}

async fn a_nonce_is_burnt_by_a_verified_request_and_by_no_other(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let signer = &merchant.signer;

    for request in [signer.get(BALANCE), signer.post(PAYMENTS, &draft::deposit_mxn(700))] {
        let forged = format!("hmac_sha256={}", "0".repeat(64));
        let attempt = request.clone().with("X-Signature", &forged);
        refused_401(&attempt.send(&caller).await, "SIGNATURE_INVALID");
        request.send(&caller).await.ok();
    }

    let invalid = draft::with(draft::deposit_mxn(700), "/amount", json!("many"));
    let refused_by_rule = draft::deposit("TRY", "card", 700);
    for (body, status) in [(invalid, 400), (refused_by_rule, 400)] {
        let request = signer.post(PAYMENTS, &body);
        assert_eq!(request.send(&caller).await.status, status);
        refused_401(&request.send(&caller).await, "NONCE_REUSED");
    }
    let malformed =
        signer.request(Method::POST, PAYMENTS, Some(b"{".to_vec()), unix_seconds(), &fresh_nonce());
    assert_eq!(malformed.send(&caller).await.status, 400);
    refused_401(&malformed.send(&caller).await, "NONCE_REUSED");
    refused_401(&malformed.carrying(None).send(&caller).await, "SIGNATURE_INVALID");

    let unknown = signer.get(&format!("{PAYMENTS}/pay_1763683200000_aaaaaaaaaaaa"));
    unknown.send(&caller).await.refused(404, "PAYMENT_NOT_FOUND");
    refused_401(&unknown.send(&caller).await, "NONCE_REUSED");
}

async fn what_was_answered_503_may_be_sent_again_as_it_was(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let question = merchant.signer.get(BALANCE);
    gateway.execute_sql("ALTER TABLE balances RENAME TO balances_away").expect("renamed");
    question.send(&caller).await.refused(503, "OVERLOADED");
    gateway.execute_sql("ALTER TABLE balances_away RENAME TO balances").expect("renamed back");
    question.send(&caller).await.ok();
    refused_401(&question.send(&caller).await, "NONCE_REUSED");
}

async fn the_query_is_signed_exactly_as_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    for path in [
        "/api/v2/balance?balance_type=main&currency=%4DXN",
        "/api/v2/balance?currency=%4dXN&balance_type=main",
        "/api/v2/balance?",
        "/api/v2/balance?&&currency=MXN&",
        "/api/v2/balance?unknown=a+b%20c%2Fd&currency=MXN&other=%C3%A9",
        "/api/v2/balance?currency=MXN&x=1.GET./api/v2/balance",
    ] {
        let record = merchant.signer.get(path).send(&caller).await;
        assert_eq!(record.ok()["currency"], "MXN", "{path}");
    }
    let escaped = || merchant.signer.get("/api/v2/balance?currency=%4DXN");
    for altered in ["/api/v2/balance?currency=%4dXN", BALANCE] {
        refused_401(&escaped().sent_to(altered).send(&caller).await, "SIGNATURE_INVALID");
    }
}

/// Whoever looked at the request before the gateway may have gone by the other value.
async fn a_header_that_is_sent_twice_is_not_read(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    for (header, code) in [
        ("X-Merchant-Id", "SIGNATURE_INVALID"),
        ("X-Timestamp", "TIMESTAMP_OUT_OF_WINDOW"),
        ("X-Nonce", "SIGNATURE_INVALID"),
        ("X-Signature-Version", "SIGNATURE_INVALID"),
        ("X-Signature", "SIGNATURE_INVALID"),
    ] {
        let request = merchant.signer.get(BALANCE);
        let mut headers: Vec<_> = request.headers().collect();
        headers.push((header, request.header(header)));
        refused_401(&caller.send(Method::GET, BALANCE, None, &headers).await, code);
        request.send(&caller).await.ok();
    }
}

/// Form before time, time before signature, signature before nonce: the cheapest check that fails is the one
/// that is named.
async fn of_several_faults_one_is_named(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let used = merchant.signer.get(BALANCE);
    used.send(&caller).await.ok();
    let forged = format!("hmac_sha256={}", "0".repeat(64));
    let late = merchant.signer.get_at(BALANCE, -400, &fresh_nonce());
    for (request, code) in [
        (late.clone().with("X-Signature", "none").without("X-Nonce"), "SIGNATURE_MISSING"),
        (late.clone().with("X-Signature", "none"), "SIGNATURE_INVALID"),
        (late.clone().with("X-Signature-Version", "v2"), "SIGNATURE_INVALID"),
        (late.with("X-Signature", &forged), "TIMESTAMP_OUT_OF_WINDOW"),
        (used.clone().with("X-Timestamp", "1"), "TIMESTAMP_OUT_OF_WINDOW"),
        (used.clone().with("X-Signature", &forged), "SIGNATURE_INVALID"),
        (used, "NONCE_REUSED"),
    ] {
        refused_401(&request.send(&caller).await, code);
    }
}

async fn the_body_of_a_get_counts_as_empty(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    for content_type in ["application/json", "text/plain"] {
        let request = merchant.signer.get(BALANCE).carrying(Some("ignored"));
        request.with("Content-Type", content_type).send(&caller).await.ok();
    }
    let body = b"signed".to_vec();
    let request = merchant.signer.request(Method::GET, BALANCE, Some(body), unix_seconds(), &fresh_nonce());
    refused_401(&request.send(&caller).await, "SIGNATURE_INVALID");
}
