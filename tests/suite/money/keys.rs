//! What staff do under an `Idempotency-Key` happens once; the key is bound to the call.

use quipu_tests::{
    Answer, Database, Gateway,
    draft::{self, steered},
    on_both_databases,
};
use serde_json::{Value, json};

use super::{audited, receipts};

on_both_databases!(
    whatever_staff_do_under_a_key_happens_once,
    one_key_makes_two_decisions_on_two_payments,
    a_refusal_is_repeated_under_its_key,
    the_shell_and_the_interface_share_the_keys_of_a_call,
);

async fn under(gateway: &Gateway, key: &str, path: &str, body: &Value) -> Answer {
    gateway.operator().post_with(path, body, &[("Idempotency-Key", key)]).await
}

/// The answer, which must be new or repeated.
#[track_caller]
fn told(answer: &Answer, is_repeated: bool) -> (u16, &str) {
    assert_eq!(answer.header("Idempotent-Replayed"), is_repeated.then_some("true"), "{answer}");
    (answer.status, answer.text.as_str())
}

async fn whatever_staff_do_under_a_key_happens_once(database: Database) {
    let (gateway, _provider, remote, short, receipt) = receipts::short(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let deposit = merchant.create(&steered(draft::deposit_mxn(700), "stay")).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(merchant.create(&steered(draft::withdrawal_ars(100), "hold")).await);
    }
    let [submitted, failed, returned] = held.try_into().expect("three");
    let of = |id: &str, verb: &str| format!("/operator/v1/payments/{id}/{verb}");
    let adjustment =
        json!({ "environment": "test", "currency": "ARS", "amount": 7, "reason": "a correction" });
    let calls = [
        (of(&submitted, "submit"), json!({ "rail_reference": "bank-7" })),
        (of(&failed, "fail"), json!({ "reason": "fraud" })),
        (of(&returned, "complete"), json!({})),
        (of(&returned, "return"), json!({ "reason": "account closed" })),
        (of(&deposit, "complete"), json!({})),
        (of(&deposit, "refunds"), json!({ "amount": 40, "reason": "a gift" })),
        (merchant.operator_path("/adjustments"), adjustment.clone()),
        (remote.operator_path("/adjustments"), adjustment),
        (receipts::resolve(&receipt), json!({ "action": "complete_with_received_amount" })),
    ];
    for (path, body) in &calls {
        let first = under(&gateway, "one", path, body).await;
        let again = under(&gateway, "one", path, body).await;
        assert_eq!(told(&first, false), (200, again.text.as_str()), "{path}");
        assert_eq!(told(&again, true), told(&first, false), "{path}");
        let mut other = body.clone();
        other["unknown"] = json!(true);
        for other in [other, json!("nothing that can be read")] {
            under(&gateway, "one", path, &other).await.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
        }
    }
    assert_eq!(merchant.balance("ARS").await, (907, 100), "one is on its way, one failed, one came back");
    assert_eq!((merchant.balance("MXN").await, remote.balance("MXN").await), ((660, 0), (360, 0)));
    assert_eq!(remote.balance("ARS").await, (7, 0));

    let line = |line: &Value, action: &str, before: &str, after: &str| {
        let statuses = (&line["before"]["status"], &line["after"]["status"]);
        assert_eq!((&line["action"], statuses), (&json!(action), (&json!(before), &json!(after))), "{line}");
        line["after"].clone()
    };
    let of_failed = audited(&gateway, &failed).await;
    assert_eq!(line(&of_failed[0], "payment.fail", "pending", "failed")["reason"], "fraud");
    let of_returned = audited(&gateway, &returned).await;
    assert_eq!(line(&of_returned[1], "payment.return", "completed", "refunded")["reason"], "account closed");
    let of_deposit = audited(&gateway, &deposit).await;
    let refunded = line(&of_deposit[1], "payment.refund", "completed", "partial_refund");
    assert_eq!((&refunded["refund"]["amount"], &refunded["refunded_amount"]), (&json!(40), &json!(40)));
    let of_short = audited(&gateway, &short).await;
    let resolved = line(&of_short[0], "receipt.resolve", "parked", "resolved");
    assert_eq!(resolved["resolution"], "complete_with_received_amount");
    let counted = [of_failed.len(), of_returned.len(), of_deposit.len(), of_short.len()];
    assert_eq!(counted, [1, 2, 2, 1], "a line for each thing that was done");
    gateway.check();
}

async fn one_key_makes_two_decisions_on_two_payments(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let complete = |id: &str| format!("/operator/v1/payments/{id}/complete");
    let mut paths = Vec::new();
    for _ in 0..2 {
        paths.push(complete(&merchant.create(&steered(draft::deposit_mxn(700), "stay")).await));
    }
    let mut first = Vec::new();
    for (done, path) in (1..).zip(&paths) {
        first.push(under(&gateway, "decide", path, &json!({})).await);
        assert_eq!(first[first.len() - 1].data()["status"], "completed");
        assert_eq!(merchant.balance("MXN").await, (700 * done, 0));
    }
    for (path, first) in paths.iter().zip(&first) {
        let again = under(&gateway, "decide", path, &json!({})).await;
        assert_eq!(told(&again, true), told(first, false));
        let other = under(&gateway, "decide", path, &json!({ "reason": "seen" })).await;
        other.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    }
    assert_eq!(merchant.balance("MXN").await, (1_400, 0));
    gateway.check();
}

async fn a_refusal_is_repeated_under_its_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit_mxn(700), "stay")).await;
    let path = format!("/operator/v1/payments/{id}/submit");
    for is_repeated in [false, true] {
        let answer = under(&gateway, "decide", &path, &json!({})).await;
        told(&answer, is_repeated);
        answer.refused(400, "INVALID_STATUS_TRANSITION");
    }
}

async fn the_shell_and_the_interface_share_the_keys_of_a_call(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    let path = format!("/operator/v1/payments/{id}/refunds");
    under(&gateway, "once", &path, &json!({ "amount": 40 })).await.data();
    let again = gateway.run(&["payment", "refund", &id, "--amount", "40", "--key", "once"]);
    assert!(again.stderr.contains("was used for something else"), "{}", again.stderr);
    gateway.run(&["payment", "refund", &id, "--amount", "50", "--key", "twice"]).ok();
    let again = under(&gateway, "twice", &path, &json!({ "amount": 50 })).await;
    again.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    assert_eq!(merchant.balance("MXN").await, (10, 0));
    gateway.check();
}
