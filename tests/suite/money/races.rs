//! Whoever ends a payment at the same instant as others: one of them does it, and the money moves once.

use std::{sync::Arc, time::Duration};

use quipu_kernel::{Clock as _, SystemClock, Timestamp};
use quipu_tests::{
    Database, Gateway, Merchant,
    draft::{self, steered, with, without},
    eventually, on_both_databases,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::seen;

on_both_databases!(
    an_unclaimed_payout_is_cancelled_failed_or_expires,
    a_waiting_payout_is_cancelled_failed_or_paid,
    a_deposit_is_paid_fails_or_expires,
);

const PAYMENTS: usize = 20;
const AMOUNT: i64 = 100;

/// One who would end a payment.
#[derive(Clone, Copy)]
enum Who {
    /// The merchant, by cancelling it.
    Merchant,
    /// A person, by this verb.
    Staff(&'static str),
}

impl Who {
    async fn ends(self, merchant: &Merchant, gateway: &Gateway, id: &str) -> u16 {
        let answer = match self {
            Self::Merchant => merchant.api.post_empty(&format!("/api/v1/payments/{id}/cancel")).await,
            Self::Staff(verb) => {
                gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/{verb}")).await
            }
        };
        assert!([200, 400].contains(&answer.status), "{answer}");
        answer.status
    }
}

/// Lets all of them end each payment at the same instant, each at another node where there are two: when the
/// payment expires, if it does. Counts who was told, for each payment, that it was done.
async fn race(
    gateway: &Gateway,
    second: Option<&Gateway>,
    merchant: &Merchant,
    payments: &[Value],
    all: &[Who],
) -> Vec<usize> {
    let there = second.map(|node| (node, merchant.moved_to(node)));
    let races = payments.iter().zip(0..).map(|(payment, number): (_, u64)| {
        let barrier = Arc::new(Barrier::new(all.len()));
        let expires_at = payment["expires_at"].as_str().and_then(Timestamp::parse);
        let id = payment["transaction_id"].as_str().expect("an id");
        let calls = all.iter().enumerate().map(|(place, who)| {
            let (barrier, there) = (Arc::clone(&barrier), there.as_ref().filter(|_| place % 2 == 1));
            let (node, merchant) = there.map_or((gateway, merchant), |(node, merchant)| (*node, merchant));
            async move {
                if let Some(at) = expires_at {
                    // Some before it expires, some after.
                    let gap = at.since(SystemClock.now()) + Duration::from_millis(20 * number);
                    tokio::time::sleep(gap.saturating_sub(Duration::from_millis(100))).await;
                }
                barrier.wait().await;
                who.ends(merchant, node, id).await
            }
        });
        futures_util::future::join_all(calls)
    });
    let told = futures_util::future::join_all(races).await;
    told.iter().map(|statuses| statuses.iter().filter(|status| **status == 200).count()).collect()
}

async fn made(merchant: &Merchant, draft: impl Fn() -> Value) -> Vec<Value> {
    let mut payments = Vec::new();
    for _ in 0..PAYMENTS {
        payments.push(merchant.api.create(&draft()).await.ok());
    }
    payments
}

/// The statuses that a payment has had, once it has ended.
async fn life(gateway: &Gateway, id: &str) -> Vec<String> {
    eventually("the payment to end", async || {
        let view = seen(gateway, id).await;
        let lines = view["timeline"]["statuses"].as_array().expect("statuses");
        let statuses: Vec<_> =
            lines.iter().map(|line| line["status"].as_str().expect("a status").to_owned()).collect();
        assert_eq!(view["status_version"].as_u64(), Some(statuses.len() as u64), "{view}");
        assert_eq!(Some(view["status"].as_str()), statuses.last().map(|status| Some(status.as_str())));
        (!["pending", "processing"].contains(&view["status"].as_str()?)).then_some(statuses)
    })
    .await
}

async fn an_unclaimed_payout_is_cancelled_failed_or_expires(database: Database) {
    let gateway = Gateway::start(database).await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["expires_in"] = json!(1)).await;
    merchant.fund("ARS", 10_000).await;
    let hosted = || with(without(draft::withdrawal_ars(AMOUNT), "/payout"), "/type", json!("withdrawal_pp"));
    let payments = made(&merchant, hosted).await;
    let all = [Who::Merchant, Who::Staff("fail"), Who::Staff("complete")];
    let told = race(&gateway, second.as_ref(), &merchant, &payments, &all).await;
    for (payment, told) in payments.iter().zip(told) {
        let statuses = life(&gateway, payment["transaction_id"].as_str().expect("an id")).await;
        let [first, last] = statuses.as_slice() else { panic!("it ends once: {statuses:?}") };
        assert_eq!(first, "pending");
        assert!(["cancelled", "failed", "expired"].contains(&last.as_str()), "{statuses:?}");
        assert_eq!(told, usize::from(last != "expired"), "{statuses:?}");
    }
    assert_eq!(merchant.balance("ARS").await, (10_000, 0));
    gateway.check();
}

async fn a_waiting_payout_is_cancelled_failed_or_paid(database: Database) {
    let gateway = Gateway::start(database).await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10_000).await;
    let payments = made(&merchant, || steered(draft::withdrawal_ars(AMOUNT), "hold")).await;
    let all = [Who::Merchant, Who::Staff("complete"), Who::Staff("fail")];
    let told = race(&gateway, second.as_ref(), &merchant, &payments, &all).await;
    let mut paid = 0;
    for (payment, told) in payments.iter().zip(told) {
        let statuses = life(&gateway, payment["transaction_id"].as_str().expect("an id")).await;
        let ends = [&["cancelled"][..], &["failed"], &["processing", "completed"]];
        assert_eq!(statuses[0], "pending");
        assert!(ends.iter().any(|end| statuses[1..] == **end), "{statuses:?}");
        assert_eq!(told, 1, "{statuses:?}");
        paid += i64::from(statuses[1..] == *ends[2]);
    }
    assert_eq!(merchant.balance("ARS").await, (10_000 - paid * AMOUNT, 0));
    gateway.check();
}

async fn a_deposit_is_paid_fails_or_expires(database: Database) {
    let gateway = Gateway::start(database).await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["expires_in"] = json!(1)).await;
    let payments = made(&merchant, || steered(draft::deposit_mxn(AMOUNT), "stay")).await;
    let all = [Who::Staff("fail"), Who::Staff("complete"), Who::Staff("complete")];
    let told = race(&gateway, second.as_ref(), &merchant, &payments, &all).await;
    let mut paid = 0;
    for (payment, told) in payments.iter().zip(told) {
        let statuses = life(&gateway, payment["transaction_id"].as_str().expect("an id")).await;
        // Money may arrive after the end of a deposit that has expired, and of no other.
        let ends = [&["failed"][..], &["completed"], &["expired", "completed"]];
        assert_eq!(statuses[0], "processing");
        assert!(ends.iter().any(|end| statuses[1..] == **end), "{statuses:?}");
        assert_eq!(told, 1, "{statuses:?}");
        paid += i64::from(statuses[1..] != *ends[0]);
    }
    assert_eq!(merchant.balance("MXN").await, (paid * AMOUNT, 0));
    gateway.check();
}
