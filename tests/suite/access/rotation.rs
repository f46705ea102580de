//! A new master key: what was made under the old one goes on (docs/OPERATIONS.md, "Changing keys").

use quipu_tests::{Database, Receiver, Setup, draft, on_both_databases};
use serde_json::{Value, json};

use super::{
    idempotency::{assert_replayed, create},
    people::text,
};

on_both_databases!(what_was_made_under_a_retired_master_key_stays_good);

const NEW: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

async fn what_was_made_under_a_retired_master_key_stays_good(database: Database) {
    // The address is in answers, which are to stay the same.
    let mut gateway = Setup::new(database).set("PUBLIC_URL", "https://pay.example").start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let hears = json!({ "url": receiver.url("/a"), "events": ["payment.completed"] });
    let endpoint = merchant.api.post("/api/v1/webhooks", &hears).await.data();
    let hosted = draft::with(draft::steered(draft::deposit_mxn(70), "stay"), "/type", json!("deposit_pp"));
    let first = create(&merchant.api, &hosted, "a-key").await;
    let page = text(&first.ok(), "payment_page_url").replace("https://pay.example", "");
    let token = text(&merchant.api.post("/api/v1/auth/token", &json!({})).await.ok(), "access_token");
    let signing = gateway.v2().get("/api/v2/balance").await.ok();

    let old = std::fs::read_to_string(gateway.data_folder().join("master.key")).expect("the key of --dev");
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart_with(|setup| setup.set("MASTER_KEY", NEW).set("RETIRED_MASTER_KEYS", old.trim())).await;
    let merchant = merchant.moved_to(&gateway);
    assert_replayed(&create(&merchant.api, &hosted, "a-key").await, &first);
    let record = merchant.api.payment(&text(&first.json(), "transaction_id")).await;
    assert_eq!(record["payment_page_url"], first.json()["payment_page_url"]);
    let shown = gateway.anonymous().get(&page).await;
    assert_eq!(shown.status, 200, "{shown}");
    gateway.anonymous().with_bearer(&token).get("/api/v1/balance").await.ok();
    assert_eq!(gateway.v2().get("/api/v2/balance").await.ok(), signing);
    gateway.operator().get("/operator/v1/merchants").await.ok();

    merchant.create(&draft::deposit_mxn(70)).await;
    let delivery = receiver.wait_for("/a", 1).await.remove(0);
    assert!(delivery.is_signed_with(&text(&endpoint, "secret")), "{delivery:?}");
    // What is made from now on is made under the new one, and is good beside it.
    let later: Value = merchant.issue(&json!({})).await;
    gateway.anonymous().with_api_key(&text(&later, "key")).get("/api/v1/balance").await.ok();
    gateway.check();
}
