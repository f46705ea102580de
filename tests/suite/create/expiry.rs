//! How long a new payment waits before it expires (docs/OPERATIONS.md, "The operator API").

use quipu_kernel::Timestamp;
use quipu_tests::{
    Database, Gateway, Merchant, Setup,
    draft::{self, steered, with, without},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    each_method_waits_its_own_time,
    a_route_may_say_how_long,
    what_nobody_pays_expires,
    an_unresolved_redirectpay_is_cancelled,
    a_hosted_withdrawal_without_recipient_expires_and_frees_its_money,
);

const HOUR: u64 = 3_600;

/// How many seconds the payment waits; `None` if it does not expire.
async fn waits(merchant: &Merchant, draft: Value) -> Option<u64> {
    let answer = merchant.api.create(&draft).await.ok();
    let at = |member: &str| Timestamp::parse(answer[member].as_str()?);
    Some(at("expires_at")?.since(at("created_at").expect("an instant")).as_secs())
}

fn hosted(draft: Value) -> Value {
    with(without(draft, "/payout"), "/type", json!("withdrawal_pp"))
}

async fn each_method_waits_its_own_time(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let others = ["cash", "cashstore", "card", "crypto"].map(|method| {
        json!({ "environment": "test", "currency": "TRY", "method": method, "direction": "deposit",
                "rail": "simulator" })
    });
    merchant.add_routes(others).await;
    for (currency, method, hours) in [
        ("ARS", "bank_transfer", 24),
        ("MXN", "spei", 24),
        ("AUD", "payid", 24),
        ("LKR", "redirectpay", 24),
        ("TRY", "cash", 72),
        ("TRY", "cashstore", 72),
        ("TRY", "card", 1),
        ("TRY", "crypto", 1),
    ] {
        for kind in ["deposit", "deposit_pp"] {
            let draft = with(draft::deposit(currency, method, 100), "/type", json!(kind));
            assert_eq!(waits(&merchant, draft).await, Some(hours * HOUR), "{kind} by {method}");
        }
    }
    merchant.fund("ARS", 1_000).await;
    assert_eq!(waits(&merchant, draft::withdrawal_ars(100)).await, None);
    assert_eq!(waits(&merchant, hosted(draft::withdrawal_ars(100))).await, Some(72 * HOUR));
    let filled_in = with(draft::withdrawal_ars(100), "/type", json!("withdrawal_pp"));
    assert_eq!(waits(&merchant, filled_in).await, None);
}

async fn a_route_may_say_how_long(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["expires_in"] = json!(600)).await;
    merchant.fund("ARS", 1_000).await;
    assert_eq!(waits(&merchant, draft::deposit_mxn(100)).await, Some(600));
    assert_eq!(waits(&merchant, hosted(draft::withdrawal_ars(100))).await, Some(600));
    assert_eq!(waits(&merchant, draft::withdrawal_ars(100)).await, None);
    // For redirectpay only its own period counts.
    assert_eq!(waits(&merchant, draft::deposit("LKR", "redirectpay", 100)).await, Some(24 * HOUR));
}

async fn what_nobody_pays_expires(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["expires_in"] = json!(1)).await;
    for kind in ["deposit", "deposit_pp"] {
        let draft = with(steered(draft::deposit_mxn(100), "stay"), "/type", json!(kind));
        let expired = merchant.wait_for(&merchant.create(&draft).await, "expired").await;
        assert_eq!((&expired["status_version"], &expired["failure"]["code"]), (&json!(2), &json!("EXPIRED")));
    }
    assert_eq!(merchant.balance("MXN").await, (0, 0));
    gateway.check();
}

async fn an_unresolved_redirectpay_is_cancelled(database: Database) {
    let gateway = Setup::new(database).set("REDIRECTPAY__CANCEL_AFTER", "1s").start().await;
    let merchant = gateway.merchant().await;
    let draft = steered(draft::deposit("LKR", "redirectpay", 100), "stay");
    let cancelled = merchant.wait_for(&merchant.create(&draft).await, "cancelled").await;
    assert_eq!((&cancelled["status_version"], &cancelled["failure"]), (&json!(2), &Value::Null));
    // Its reference is free again.
    merchant.create(&draft).await;
    gateway.check();
}

async fn a_hosted_withdrawal_without_recipient_expires_and_frees_its_money(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    merchant.create(&hosted(draft::withdrawal_ars(100))).await;
    assert_eq!(merchant.balance("ARS").await, (900, 100), "frozen for as long as it waits");
    merchant.edit_routes(|route| route["expires_in"] = json!(1)).await;
    let id = merchant.create(&hosted(draft::withdrawal_ars(400))).await;
    let expired = merchant.wait_for(&id, "expired").await;
    assert_eq!((&expired["payout"], &expired["failure"]["code"]), (&Value::Null, &json!("EXPIRED")));
    assert_eq!(merchant.balance("ARS").await, (900, 100));
    gateway.check();
}
