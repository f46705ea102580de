//! The life of an API key (docs/API.md, "Authentication").

use quipu_kernel::Environment;
use quipu_signing::{ApiKey, SystemEntropy};
use quipu_tests::{
    Client, Database, Gateway, Merchant, draft, eventually, on_both_databases, signature::unix_seconds,
};
use reqwest::Method;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::people::{key_with_id, refused_401, text};

const BALANCE: &str = "/api/v1/balance";

on_both_databases!(
    several_keys_are_active_at_once_and_each_ends_alone,
    the_prefix_selects_the_environment,
    a_key_is_shown_once,
    an_expired_key_is_refused,
    last_use_is_shown_to_the_operator,
    what_is_no_key_is_refused,
    aliases_grant_what_their_names_do,
);

async fn several_keys_are_active_at_once_and_each_ends_alone(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (old_id, old) = key_with_id(&merchant, &json!({ "name": "old" })).await;
    let (_, new) = key_with_id(&merchant, &json!({ "name": "new" })).await;
    let (old, new) = (merchant.api.with_api_key(&old), merchant.api.with_api_key(&new));
    let id = old.create(&draft::deposit_mxn(5)).await.ok();
    new.payment(&text(&id, "transaction_id")).await;

    revoke(&gateway.operator(), &merchant, &old_id).await;
    refused_401(&old.get(BALANCE).await, "API_KEY_REVOKED");
    refused_401(&old.create(&draft::deposit_mxn(5)).await, "API_KEY_REVOKED");
    new.get(BALANCE).await.ok();
    // Revoking it again changes nothing, and somebody else's key is out of reach.
    let before = listed(&gateway.operator(), &merchant, &old_id).await;
    revoke(&gateway.operator(), &merchant, &old_id).await;
    assert_eq!(listed(&gateway.operator(), &merchant, &old_id).await, before);
    let other = gateway.merchant().await;
    let (other_id, other_key) = key_with_id(&other, &json!({})).await;
    let path = merchant.operator_path(&format!("/api-keys/{other_id}"));
    assert_eq!(gateway.operator().delete(&path).await.status, 404);
    other.api.with_api_key(&other_key).get(BALANCE).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_reaches_another_node_by_itself() {
    let gateway = Gateway::start(Database::Postgres).await;
    let node = gateway.another_node().await;
    let merchant = gateway.merchant().await;
    let (key_id, key) = key_with_id(&merchant, &json!({})).await;
    let (here, there) = (gateway.anonymous().with_api_key(&key), node.anonymous().with_api_key(&key));
    here.get(BALANCE).await.ok();
    there.get(BALANCE).await.ok();
    revoke(&gateway.operator(), &merchant, &key_id).await;
    refused_401(&here.get(BALANCE).await, "API_KEY_REVOKED");
    let refused = eventually("the other node to know", async || {
        let answer = there.get(BALANCE).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused_401(&refused, "API_KEY_REVOKED");
}

/// A key that was asked for before it existed must not stay unknown, not even on another node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_is_good_on_every_node_by_itself() {
    let gateway = Gateway::start(Database::Postgres).await;
    let node = gateway.another_node().await;
    let merchant = gateway.merchant().await;
    eventually("the other node to know", async || {
        let at_node = node.anonymous().with_api_key(&text(&merchant.issue(&json!({})).await, "key"));
        (at_node.get(BALANCE).await.status == 200).then_some(())
    })
    .await;
}

async fn the_prefix_selects_the_environment(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for (environment, prefix) in [("test", "qp_test_sk_"), ("live", "qp_prod_sk_")] {
        let key = text(&merchant.issue(&json!({ "environment": environment })).await, "key");
        assert!(key.starts_with(prefix), "{environment}: {}…", &key[..11]);
        assert_eq!(key.len(), prefix.len() + 43);
        let path = format!("/api/v1/merchants/{}", merchant.id);
        let seen = gateway.anonymous().with_api_key(&key).get(&path).await.data();
        assert_eq!(seen["environment"], environment);
    }
    let nowhere = json!({ "environment": "sandbox", "name": "x" });
    let path = merchant.operator_path("/api-keys");
    assert_eq!(gateway.operator().post(&path, &nowhere).await.status, 400);
}

async fn a_key_is_shown_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (key_id, key) = key_with_id(&merchant, &json!({ "name": "shown once" })).await;
    let list = gateway.operator().get(&merchant.operator_path("/api-keys")).await;
    assert!(!list.text.contains(&key), "the list shows a key");
    let listed = listed(&gateway.operator(), &merchant, &key_id).await;
    assert_eq!(listed["name"], "shown once");
    let hash = key.rsplit('_').next().expect("its random part");
    assert!(!listed.to_string().contains(&hash[..20]), "{listed}");
}

async fn an_expired_key_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (key, token) = key_about_to_expire(&merchant).await;
    let refused = eventually("the key to expire", async || {
        let answer = key.get(BALANCE).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused_401(&refused, "API_KEY_EXPIRED");
    refused_401(&key.create(&draft::deposit_mxn(1)).await, "API_KEY_EXPIRED");
    let token = gateway.anonymous().with_bearer(&token).get(BALANCE).await;
    assert_eq!(token.status, 401, "a token outlived its key: {}", token.text);
    merchant.api.get(BALANCE).await.ok();
}

/// A key that expires in some seconds, and a token that was had for it; more seconds where fewer are too few for that.
async fn key_about_to_expire(merchant: &Merchant) -> (Client, String) {
    for seconds in [3, 9, 27] {
        let key = merchant.key(&json!({ "expires_at": iso(unix_seconds() + seconds) })).await;
        let answer = key.post("/api/v1/auth/token", &json!({})).await;
        if answer.status == 200 {
            return (key, text(&answer.ok(), "access_token"));
        }
        refused_401(&answer, "API_KEY_EXPIRED");
    }
    panic!("a key expires before it can be used");
}

/// Uses are collected in memory and written every few seconds, at the latest when the gateway drains.
async fn last_use_is_shown_to_the_operator(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (used_id, used) = key_with_id(&merchant, &json!({})).await;
    let (unused_id, _) = key_with_id(&merchant, &json!({})).await;
    let begun = iso(unix_seconds());
    merchant.api.with_api_key(&used).get(BALANCE).await.ok();
    eventually("the use to be written", async || {
        let listed = listed(&gateway.operator(), &merchant, &used_id).await;
        listed["last_used_at"].is_string().then_some(())
    })
    .await;
    let (drained_id, drained) = key_with_id(&merchant, &json!({})).await;
    merchant.api.with_api_key(&drained).get(BALANCE).await.ok();
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    let operator = gateway.operator();
    for key_id in [used_id, drained_id] {
        let at = text(&listed(&operator, &merchant, &key_id).await, "last_used_at");
        assert!(at[..16] >= begun[..16], "used at {at}, noted before {begun}");
    }
    assert_eq!(listed(&operator, &merchant, &unused_id).await["last_used_at"], Value::Null);
}

async fn what_is_no_key_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let caller = gateway.anonymous();
    let (_, key) = key_with_id(&merchant, &json!({})).await;
    // As right as a key can be, but issued by nobody here.
    let foreign = ApiKey::generate(Environment::Test, &SystemEntropy);

    refused_401(&caller.get(BALANCE).await, "API_KEY_MISSING");
    refused_401(&caller.create(&draft::deposit_mxn(1)).await, "API_KEY_MISSING");
    for retired in ["qp_sandbox_sk_0123456789", "qp_live_0123456789", "qp_live_sk_x"] {
        refused_401(&caller.with_api_key(retired).get(BALANCE).await, "API_KEY_PREFIX_REJECTED");
    }
    let last = if key.ends_with('A') { "B" } else { "A" };
    for wrong in [
        format!("{}{last}", &key[..key.len() - 1]),
        key[..key.len() - 1].to_owned(),
        format!("{key}0"),
        key.to_uppercase(),
        key.replace("qp_test_sk_", "qp_prod_sk_"),
        "qp_test_sk_".to_owned(),
        "secret".to_owned(),
        gateway.credential("/operator_token"),
        foreign.expose().to_owned(),
    ] {
        refused_401(&caller.with_api_key(&wrong).get(BALANCE).await, "API_KEY_INVALID");
        refused_401(&caller.with_api_key(&wrong).create(&draft::deposit_mxn(1)).await, "API_KEY_INVALID");
    }
    let twice = [("X-API-Key", key.as_str()), ("X-API-Key", "qp_test_sk_")];
    refused_401(&caller.send(Method::GET, BALANCE, None, &twice).await, "API_KEY_INVALID");
    caller.with_api_key(&key).get(BALANCE).await.ok();
}

async fn aliases_grant_what_their_names_do(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for (alias, granted, refused) in [
        ("payments.view", "/api/v1/payments".to_owned(), BALANCE.to_owned()),
        ("balance.view", BALANCE.to_owned(), "/api/v1/payments".to_owned()),
        ("webhooks.view", format!("/api/v1/merchants/{}", merchant.id), BALANCE.to_owned()),
    ] {
        let key = merchant.key(&json!({ "scopes": [alias] })).await;
        key.get(&granted).await.ok();
        key.get(&refused).await.refused(403, "SCOPE_MISSING");
    }
    let path = merchant.operator_path("/api-keys");
    let wish = json!({ "environment": "test", "name": "x", "scopes": ["tickets.view"] });
    assert_eq!(gateway.operator().post(&path, &wish).await.status, 400);
}

async fn revoke(operator: &Client, merchant: &Merchant, key_id: &str) {
    operator.delete(&merchant.operator_path(&format!("/api-keys/{key_id}"))).await.ok();
}

/// What the operator's list says of one key.
async fn listed(operator: &Client, merchant: &Merchant, key_id: &str) -> Value {
    let keys = operator.get(&merchant.operator_path("/api-keys")).await.data();
    let found = keys.as_array().expect("a list of keys").iter().find(|key| key["key_id"] == key_id);
    found.unwrap_or_else(|| panic!("no {key_id} in {keys}")).clone()
}

/// A whole second since 1970 in ISO 8601.
fn iso(seconds: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(seconds).expect("a time");
    at.format(&Rfc3339).expect("every time can be written")
}
