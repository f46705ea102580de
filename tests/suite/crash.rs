//! `kill -9` under load: what was acknowledged is there, and the ledger is whole.

use std::sync::{Arc, Mutex, PoisonError};

use quipu_tests::{Client, Database, Merchant, Setup, draft, effort, eventually, on_both_databases};
use reqwest::Method;
use serde_json::Value;
use tokio::task::JoinSet;

on_both_databases!(acknowledged_payments_survive_kills);

type Acknowledged = Arc<Mutex<Vec<String>>>;

async fn acknowledged_payments_survive_kills(database: Database) {
    const DEPTHS: usize = 20;
    const CALLERS: usize = 8;
    // Settlement runs in the midst of it, so that workers are killed as well.
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "20ms").start().await;
    let mut merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000_000_000).await;
    let mut acknowledged_so_far = 0;
    let kills = if effort() == 1 { DEPTHS / 4 } else { DEPTHS * effort() };
    for kill in 0..kills {
        let acknowledged = Acknowledged::default();
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            callers.spawn(create_until_it_dies(
                merchant.api.clone(),
                caller % 2 == 0,
                Arc::clone(&acknowledged),
            ));
        }
        // Killed at a different depth of work each time; five kills already span all depths.
        let enough = 10 + 7 * ((4 * kill + kill / 5) % DEPTHS);
        eventually("payments to be acknowledged", async || {
            (ids(&acknowledged).len() >= enough).then_some(())
        })
        .await;
        gateway.kill();
        callers.join_all().await;
        gateway.restart().await;
        merchant = merchant.moved_to(&gateway);
        let acknowledged = ids(&acknowledged);
        for id in &acknowledged {
            assert_eq!(merchant.api.payment(id).await["transaction_id"], *id, "kill {kill}");
        }
        acknowledged_so_far += acknowledged.len();
        gateway.check();
    }
    assert_all_there(&merchant, acknowledged_so_far).await;
    // Nothing is left half-way: every payment reaches its end.
    for status in ["pending", "processing"] {
        eventually(&format!("nothing to be {status}"), async || {
            let list = merchant.api.get(&format!("/api/v1/payments?status={status}&limit=1")).await.ok();
            (list["total"] == 0).then_some(())
        })
        .await;
    }
    assert_eq!(merchant.balance("ARS").await.1, 0, "nothing stays frozen");
    gateway.check();
}

fn ids(acknowledged: &Acknowledged) -> Vec<String> {
    acknowledged.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn create_until_it_dies(api: Client, withdraw: bool, acknowledged: Acknowledged) {
    loop {
        let draft =
            if withdraw { draft::withdrawal_ars(100) } else { draft::deposit("ARS", "bank_transfer", 100) };
        let body = draft.to_string().into_bytes();
        let Ok(answer) = api.try_send(Method::POST, "/api/v1/payments", Some(body), &[]).await else {
            return;
        };
        let id = answer.ok()["transaction_id"].as_str().expect("a string").to_owned();
        acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }
}

async fn assert_all_there(merchant: &Merchant, acknowledged: usize) {
    let list: Value = merchant.api.get("/api/v1/payments?limit=1").await.ok();
    let total = list["total"].as_u64().expect("a number");
    // A payment whose answer the kill swallowed may be there as well.
    assert!(total >= acknowledged as u64, "{total} of at least {acknowledged}");
}
