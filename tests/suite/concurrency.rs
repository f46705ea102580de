//! Many at once: money and references are counted once.

use quipu_tests::{Answer, Database, Gateway, Merchant, Setup, draft, on_both_databases};
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_both_databases!(
    fifty_withdrawals_from_a_balance_for_ten,
    fifty_creations_with_one_reference,
    many_merchants_do_not_disturb_each_other,
);

/// Sends all of them at the same time, to both nodes in turn where there are two.
async fn at_once(merchant: &Merchant, second: Option<&Gateway>, drafts: Vec<Value>) -> Vec<Answer> {
    let apis: Vec<_> =
        [merchant.api.clone()].into_iter().chain(second.map(|node| merchant.moved_to(node).api)).collect();
    let mut creations = JoinSet::new();
    for (one, draft) in drafts.into_iter().enumerate() {
        let api = apis[one % apis.len()].clone();
        creations.spawn(async move { api.create(&draft).await });
    }
    creations.join_all().await
}

async fn fifty_withdrawals_from_a_balance_for_ten(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10 * 700).await;
    let answers =
        at_once(&merchant, second.as_ref(), (0..50).map(|_| draft::withdrawal_ars(700)).collect()).await;
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(accepted.len(), 10);
    for answer in refused {
        answer.refused(400, "INSUFFICIENT_BALANCE");
    }
    assert_eq!(merchant.balance("ARS").await, (0, 7_000));
    let list = merchant.api.get("/api/v1/payments?limit=100").await.ok();
    assert_eq!(list["total"], 10, "a refused payment leaves no trace");
    gateway.check();
}

async fn fifty_creations_with_one_reference(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 100_000).await;
    for one in [draft::withdrawal_ars(100), draft::deposit_mxn(100)] {
        let answers = at_once(&merchant, second.as_ref(), vec![one; 50]).await;
        let (accepted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(accepted.len(), 1);
        let id = accepted[0].json()["transaction_id"].clone();
        for answer in refused {
            assert_eq!(answer.refused(409, "DUPLICATE_MERCHANT_REFERENCE")["transaction_id"], id);
        }
    }
    assert_eq!(merchant.balance("ARS").await, (99_900, 100));
    gateway.check();
}

async fn many_merchants_do_not_disturb_each_other(database: Database) {
    let gateway = Gateway::start(database).await;
    let mut merchants = JoinSet::new();
    for _ in 0..8 {
        let merchant = gateway.merchant().await;
        merchants.spawn(async move {
            merchant.fund("ARS", 1_000).await;
            let one = |index| match index % 2 {
                0 => draft::withdrawal_ars(100),
                _ => draft::deposit("ARS", "bank_transfer", 100),
            };
            let mut settled = 0;
            for answer in at_once(&merchant, None, (0..20).map(one).collect()).await {
                let id = answer.ok()["transaction_id"].as_str().expect("a string").to_owned();
                merchant.wait_for(&id, "completed").await;
                settled += 1;
            }
            assert_eq!(settled, 20);
            assert_eq!(merchant.balance("ARS").await, (1_000, 0));
            let list = merchant.api.get("/api/v1/payments?status=completed").await.ok();
            assert_eq!(list["total"], json!(20));
        });
    }
    merchants.join_all().await;
    gateway.check();
}
