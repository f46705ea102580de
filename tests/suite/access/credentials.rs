//! Version 2 credentials: rotation, revocation, and the switch between versions (docs/API.md, "Authentication").

use quipu_tests::{Answer, Client, Database, Gateway, draft, on_both_databases, signature::Signer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::people::{SigningMerchant, key_with_id, refused_401, set_status, text};

const BALANCE: &str = "/api/v2/balance";

on_both_databases!(
    credentials_overlap_for_rotation_and_two_are_the_most,
    two_are_the_most_however_many_are_issued_at_once,
    of_switches_at_once_one_happens,
    a_change_beside_a_switch_undoes_nothing,
    the_credential_selects_the_environment,
    an_api_key_is_not_accepted_by_version_2,
    the_versions_do_not_mix,
    a_switch_to_version_2_revokes_the_keys_and_issues_credentials_once,
    a_merchant_of_version_2_is_issued_no_api_key,
    a_suspended_merchant_is_refused_until_it_is_active_again,
);

async fn credentials_overlap_for_rotation_and_two_are_the_most(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let (second_id, second) = merchant.issue("test").await;
    assert!(second.secret.starts_with("qp_hmac_") && second.secret.len() == 8 + 43);
    for signer in [&merchant.signer, &second] {
        signer.get(BALANCE).send(&caller).await.ok();
    }

    let credentials = merchant.path("/hmac-credentials");
    let third = gateway.operator().post(&credentials, &json!({ "environment": "test" })).await;
    third.refused(400, "LIMIT_REACHED");

    let revoke = async |id: &str| gateway.operator().delete(&format!("{credentials}/{id}")).await;
    revoke(&merchant.credential_id).await.ok();
    refused_401(&merchant.signer.get(BALANCE).send(&caller).await, "SIGNATURE_INVALID");
    second.get(BALANCE).send(&caller).await.ok();

    // A place is free again, as often as one is made free.
    let (third_id, third) = merchant.issue("test").await;
    third.get(BALANCE).send(&caller).await.ok();
    revoke(&second_id).await.ok();
    revoke(&third_id).await.ok();
    for signer in [&second, &third] {
        refused_401(&signer.get(BALANCE).send(&caller).await, "SIGNATURE_INVALID");
    }

    let other = SigningMerchant::onboard(&gateway).await;
    assert_eq!(revoke(&other.credential_id).await.status, 404, "revoked through another merchant");
    other.signer.get(BALANCE).send(&caller).await.ok();
}

async fn two_are_the_most_however_many_are_issued_at_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = SigningMerchant::onboard(&gateway).await;
    let (path, body) = (merchant.path("/hmac-credentials"), json!({ "environment": "test" }));
    let answers = at_once(12, || {
        let (operator, path, body) = (gateway.operator(), path.clone(), body.clone());
        async move { operator.post(&path, &body).await }
    })
    .await;
    let (issued, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(issued.len(), 1, "one beside the one there was");
    for answer in refused {
        answer.refused(400, "LIMIT_REACHED");
    }
}

async fn of_switches_at_once_one_happens(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (path, body) = (merchant.operator_path("/switch"), json!({ "api_version": "v2" }));
    let answers = at_once(8, || {
        let (operator, path, body) = (gateway.operator(), path.clone(), body.clone());
        async move { operator.post(&path, &body).await }
    })
    .await;
    let (switched, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(switched.len(), 1, "one switch, one set of credentials");
    for answer in refused {
        answer.refused(400, "INVALID_STATUS_TRANSITION");
    }
    for credential in switched[0].data()["credentials"].as_array().expect("credentials") {
        let signer = Signer { merchant_id: merchant.id.to_string(), secret: text(credential, "secret") };
        signer.get(BALANCE).send(&gateway.anonymous()).await.ok();
    }
}

async fn a_change_beside_a_switch_undoes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    for _ in 0..5 {
        let merchant = gateway.merchant().await;
        let (path, name) = (merchant.operator_path(""), json!({ "name": "Renamed" }));
        let renaming = at_once(6, || {
            let (operator, path, name) = (gateway.operator(), path.clone(), name.clone());
            async move { operator.patch(&path, &name).await }
        });
        let (operator, switch) = (gateway.operator(), merchant.operator_path("/switch"));
        let body = json!({ "api_version": "v2" });
        let (renamed, switched) = tokio::join!(renaming, operator.post(&switch, &body));
        switched.ok();
        assert!(renamed.iter().all(|answer| answer.status == 200));
        let stands = operator.get(&path).await.data();
        assert_eq!((&stands["api_version"], &stands["name"]), (&json!("v2"), &json!("Renamed")));
    }
}

async fn at_once<F>(count: usize, ask: impl Fn() -> F) -> Vec<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let mut asking = JoinSet::new();
    for _ in 0..count {
        asking.spawn(ask());
    }
    asking.join_all().await
}

async fn the_credential_selects_the_environment(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let (_, live) = merchant.issue("live").await;
    let created = merchant.signer.post("/api/v2/payments", &draft::deposit_mxn(700)).send(&caller).await.ok();
    let path = format!("/api/v2/payments/{}", text(&created, "transaction_id"));
    assert_eq!(merchant.signer.get(&path).send(&caller).await.data()["environment"], "test");
    live.get(&path).send(&caller).await.refused(404, "PAYMENT_NOT_FOUND");
    // Nonces are unique per merchant, whichever of its credentials signs.
    let request = merchant.signer.get(BALANCE);
    request.send(&caller).await.ok();
    let again = live.get_at(BALANCE, 0, request.header("X-Nonce"));
    refused_401(&again.send(&caller).await, "NONCE_REUSED");
}

async fn an_api_key_is_not_accepted_by_version_2(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for path in [BALANCE, "/api/v2/balance/all", "/api/v2/payments/pay_1763683200000_aaaaaaaaaaaa"] {
        refused_401(&merchant.api.get(path).await, "SIGNATURE_MISSING");
    }
    for path in ["/api/v2/payments", "/api/v2/auth/token"] {
        refused_401(&merchant.api.post(path, &draft::deposit_mxn(1)).await, "SIGNATURE_MISSING");
    }
    // Beside a good signature it is worth nothing, and does no harm.
    let signing = SigningMerchant::onboard(&gateway).await;
    let answer = signing.signer.get(BALANCE).send(&merchant.api).await;
    assert_eq!(answer.ok()["merchant_id"], signing.id);
}

async fn the_versions_do_not_mix(database: Database) {
    let gateway = Gateway::start(database).await;
    let caller = gateway.anonymous();

    // Signed headers of a version 1 merchant, who has no secret to sign with.
    let first = gateway.merchant().await;
    let signer = Signer { merchant_id: first.id.to_string(), secret: "qp_hmac_none".to_owned() };
    refused_401(&signer.get(BALANCE).send(&caller).await, "API_VERSION_MISMATCH");
    let create = signer.post("/api/v2/payments", &draft::deposit_mxn(1));
    refused_401(&create.send(&caller).await, "API_VERSION_MISMATCH");
    // No correction of them would help, so the answer names the version.
    for (header, value) in [("X-Signature", "none"), ("X-Timestamp", "1"), ("X-Nonce", "short")] {
        refused_401(&signer.get(BALANCE).with(header, value).send(&caller).await, "API_VERSION_MISMATCH");
    }
    refused_401(&signer.get(BALANCE).without("X-Nonce").send(&caller).await, "SIGNATURE_MISSING");
    // A credential made ahead of the switch does not sign either.
    let path = format!("/operator/v1/merchants/{}/hmac-credentials", first.id);
    let early = gateway.operator().post(&path, &json!({ "environment": "test" })).await.data();
    let early = Signer { secret: text(&early, "secret"), ..signer };
    refused_401(&early.get(BALANCE).send(&caller).await, "API_VERSION_MISMATCH");

    // Signed headers alone open nothing in version 1.
    let second = SigningMerchant::onboard(&gateway).await;
    let unkeyed = second.signer.get("/api/v1/balance").send(&caller).await;
    refused_401(&unkeyed, "API_KEY_MISSING");
}

async fn a_switch_to_version_2_revokes_the_keys_and_issues_credentials_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 500).await;
    let (_, live_key) = key_with_id(&merchant, &json!({ "environment": "live" })).await;
    let id = merchant.create(&draft::deposit_mxn(70)).await;
    merchant.wait_for(&id, "completed").await;
    let body = json!({ "expires_in": 600 });
    let token = text(&merchant.api.post("/api/v1/auth/token", &body).await.ok(), "access_token");

    let operator = gateway.operator();
    let switch = merchant.operator_path("/switch");
    let switched = operator.post(&switch, &json!({ "api_version": "v2" })).await.data();
    let issued = switched["credentials"].as_array().expect("credentials").clone();
    let mut environments: Vec<_> = issued.iter().map(|one| text(one, "environment")).collect();
    environments.sort();
    assert_eq!(environments, ["live", "test"]);

    let caller = gateway.anonymous();
    let live = caller.with_api_key(&live_key);
    for key in [&merchant.api, &live] {
        refused_401(&key.get("/api/v1/balance").await, "API_VERSION_MISMATCH");
        refused_401(&key.create(&draft::deposit_mxn(1)).await, "API_VERSION_MISMATCH");
    }
    let read = caller.with_bearer(&token).get("/api/v1/balance").await;
    assert_eq!(read.status, 401, "a token outlived its key: {}", read.text);

    for credential in &issued {
        let signer = Signer { merchant_id: merchant.id.to_string(), secret: text(credential, "secret") };
        let seen = signer.get(&format!("/api/v2/payments/{id}")).send(&caller).await;
        assert_eq!(seen.status, if credential["environment"] == "test" { 200 } else { 404 });
        signer.get(BALANCE).send(&caller).await.ok();
    }
    assert_keys_are_revoked(&operator, &merchant.operator_path("/api-keys")).await;
    assert_eq!(operator.get(&merchant.operator_path("")).await.data()["api_version"], "v2");

    // Back again: the credentials end, and new keys must be issued.
    operator.post(&switch, &json!({ "api_version": "v1" })).await.data();
    let signer = Signer { merchant_id: merchant.id.to_string(), secret: text(&issued[0], "secret") };
    refused_401(&signer.get(BALANCE).send(&caller).await, "API_VERSION_MISMATCH");
    refused_401(&merchant.api.get("/api/v1/balance").await, "API_KEY_REVOKED");
    merchant.key(&json!({})).await.get("/api/v1/balance").await.ok();
}

async fn a_merchant_of_version_2_is_issued_no_api_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let operator = gateway.operator();
    let switched = gateway.merchant().await;
    operator.post(&switched.operator_path("/switch"), &json!({ "api_version": "v2" })).await.data();
    let in_shell = gateway.run(&["merchant", "create", "--name", "Signs", "--api-version", "v2"]);
    let in_shell: Value = serde_json::from_str(in_shell.ok()).expect("JSON");
    let demo = gateway.credential("/v2/merchant_id");
    let onboarded = SigningMerchant::onboard(&gateway).await;
    for id in [switched.id.to_string(), in_shell["merchant_id"].to_string(), demo, onboarded.id.to_string()] {
        let path = format!("/operator/v1/merchants/{id}/api-keys");
        for environment in ["test", "live"] {
            let refused = operator.post(&path, &json!({ "environment": environment })).await;
            refused.refused(400, "INVALID_STATUS_TRANSITION");
            let refused = gateway.run(&["key", "create", &id, "--environment", environment]);
            assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""), "{}", refused.stderr);
            assert!(refused.stderr.contains("API keys are for v1"), "{}", refused.stderr);
        }
        let keys = operator.get(&path).await.data();
        let keys = keys.as_array().expect("a list of keys");
        assert!(keys.iter().all(|key| key["revoked_at"].is_string()), "{keys:?}");
        assert_eq!(keys.is_empty(), id != switched.id.to_string(), "those from before the switch are shown");
    }
}

async fn assert_keys_are_revoked(operator: &Client, path: &str) {
    let keys = operator.get(path).await.data();
    let keys = keys.as_array().expect("a list of keys");
    assert!(keys.len() >= 2, "{keys:?}");
    assert!(keys.iter().all(|key| key["revoked_at"].is_string()), "{keys:?}");
}

async fn a_suspended_merchant_is_refused_until_it_is_active_again(database: Database) {
    let gateway = Gateway::start(database).await;
    let (operator, caller) = (gateway.operator(), gateway.anonymous());
    let first = gateway.merchant().await;
    let second = SigningMerchant::onboard(&gateway).await;
    let token = text(&first.api.post("/api/v1/auth/token", &json!({})).await.ok(), "access_token");
    for id in [first.id, second.id] {
        set_status(&operator, id, "suspended").await;
    }
    for answer in [
        first.api.get("/api/v1/balance").await,
        first.api.create(&draft::deposit_mxn(1)).await,
        caller.with_bearer(&token).get("/api/v1/balance").await,
        second.signer.get(BALANCE).send(&caller).await,
        second.signer.post("/api/v2/payments", &draft::deposit_mxn(1)).send(&caller).await,
    ] {
        assert_eq!(answer.refused(403, "MERCHANT_SUSPENDED")["error"], "Forbidden");
    }
    for id in [first.id, second.id] {
        set_status(&operator, id, "active").await;
    }
    first.api.get("/api/v1/balance").await.ok();
    caller.with_bearer(&token).get("/api/v1/balance").await.ok();
    second.signer.get(BALANCE).send(&caller).await.ok();
}
