//! Two stores on one database, as two nodes have it, at the same thing at once.

use std::collections::HashSet;

use futures_util::future::join_all;
use quipu_commit::{Answer, Commit as _, CommitError, IdempotencyRecord, KeptAnswer, KeyOwner, Refusal};
use quipu_kernel::CustomerId;
use quipu_ledger::LedgerReads as _;
use quipu_payments::{CustomerClaim, Payment};
use quipu_store::OpenError;

use crate::{
    fixture::{Fixture, funded, on_both_databases, refusal},
    sample::{MXN, Sample, after, customer, funding, nonce, tenant},
};

on_both_databases! {
    one_reference_is_taken_once,
    one_nonce_is_burnt_once,
    what_nothing_locks_is_used_once,
    one_balance_is_spent_once,
    a_first_balance_is_made_once,
    two_customers_never_share_a_number,
    stores_may_migrate_at_once,
}

async fn one_reference_is_taken_once(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 1_000).await, fixture.open().await);
    for _ in 0..10 {
        let sample = Sample::withdrawal(tenant(1), 1);
        let all = (0..64).map(|number| if number % 2 == 0 { &one } else { &other });
        let outcomes = join_all(all.map(|store| store.commit(sample.create()))).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        for outcome in outcomes.into_iter().filter(Result::is_err) {
            assert!(matches!(refusal(outcome), Refusal::NameTaken { .. }));
        }
    }
    assert!(one.check().await.expect("checked").is_clean());
}

async fn one_nonce_is_burnt_once(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 1_000).await, fixture.open().await);
    for round in 0..10 {
        let value = format!("nonce-{round}");
        let all = (0..64).map(|number| if number % 2 == 0 { &one } else { &other });
        let all = all.map(|store| {
            let mut change = Sample::withdrawal(tenant(1), 1).create();
            change.nonce = Some(nonce(&value, after(60_000)));
            store.commit(change)
        });
        let outcomes = join_all(all).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        for outcome in outcomes.into_iter().filter(Result::is_err) {
            assert_eq!(refusal(outcome), Refusal::NonceUsed);
        }
    }
}

/// Deposits lock no row, so that both nodes find a nonce and a key unused and only the write tells.
async fn what_nothing_locks_is_used_once(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 1_000).await, fixture.open().await);
    for round in 0..20 {
        for by_key in [false, true] {
            let outcomes = join_all([&one, &other].map(|store| {
                let mut change = Sample::deposit(tenant(1), 1).create();
                if by_key {
                    change.idempotency = Some(IdempotencyRecord {
                        owner: KeyOwner::Merchant,
                        key: format!("key-{round}").parse().expect("a key"),
                        body_hash: "hash".to_owned(),
                        payment_id: None,
                        answer: KeptAnswer::Given(Answer::success("kept".to_owned())),
                        expires_at: after(60_000),
                    });
                } else {
                    change.nonce = Some(nonce(&format!("unlocked-{round}"), after(60_000)));
                }
                store.commit(change)
            }))
            .await;
            assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{round}");
            for outcome in outcomes.into_iter().filter(Result::is_err) {
                let wanted = if by_key { Refusal::IdempotencyKeyUsed } else { Refusal::NonceUsed };
                assert_eq!(refusal(outcome), wanted);
            }
        }
    }
    assert!(one.check().await.expect("checked").is_clean());
}

async fn one_balance_is_spent_once(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 100).await, fixture.open().await);
    let all = (0..128).map(|number| if number % 2 == 0 { &one } else { &other });
    let outcomes = join_all(all.map(|store| store.commit(Sample::withdrawal(tenant(1), 3).create()))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 33);
    for outcome in outcomes.into_iter().filter(Result::is_err) {
        assert!(matches!(outcome, Err(CommitError::Refused(Refusal::Posting(_)))), "{outcome:?}");
    }
    let report = one.check().await.expect("checked");
    assert_eq!((report.breaches, report.payments), (Vec::new(), 33));
}

async fn a_first_balance_is_made_once(fixture: Fixture) {
    let (one, other) = (fixture.open().await, fixture.open().await);
    for merchant in 1..=20 {
        let all = [&one, &other, &one, &other].map(|store| store.commit(funding(tenant(merchant), 5)));
        for outcome in join_all(all).await {
            outcome.expect("funded");
        }
        assert_eq!(one.balance(tenant(merchant), MXN).await.expect("read").available.get(), 20);
    }
    assert!(one.check().await.expect("checked").is_clean());
}

async fn two_customers_never_share_a_number(fixture: Fixture) {
    let (one, other) = (fixture.open().await, fixture.open().await);
    let all = (0..6).map(|number| {
        let email = format!("customer-{number}@example.com");
        let sample = Sample { customer: customer(Some(&email), None), ..Sample::deposit(tenant(1), 1) };
        let change = sample.create_as(sample.payment(), CustomerClaim::MatchOrCreate(CustomerId(77)));
        if number % 2 == 0 { one.commit(change) } else { other.commit(change) }
    });
    let made = join_all(all).await.into_iter().map(|outcome| {
        let payment = outcome.expect("committed").into_saved::<Payment>().expect("a payment");
        payment.terms().customer.id
    });
    assert_eq!(made.collect::<HashSet<_>>().len(), 6);
}

/// How many migrations there are.
fn migrations() -> usize {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../migrations/postgres");
    std::fs::read_dir(folder).expect("the migrations").count()
}

async fn stores_may_migrate_at_once(fixture: Fixture) {
    let fresh = Fixture::unmigrated(fixture.engine).await;
    let stores = [fresh.open().await, fresh.open().await, fresh.open().await];
    assert!(stores[0].pending_migrations().await.expect("asked"));
    fresh.sql("SELECT version FROM __diesel_schema_migrations").await.expect_err("who asks makes no table");
    let applied = join_all(stores.iter().map(quipu_store::Store::migrate)).await;
    let applied: usize = applied.into_iter().map(|names| names.expect("migrated").len()).sum();
    assert_eq!(applied, migrations());
    assert!(!stores[1].pending_migrations().await.expect("asked"));
}

/// `SQL_ASCII` keeps the bytes of any text.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_hold_every_text_is_not_migrated() {
    let latin = Fixture::encoded("LATIN1").await;
    let told = latin.open().await.migrate().await;
    assert!(matches!(&told, Err(OpenError::Unreachable(why)) if why.contains("LATIN1")), "{told:?}");
    let applied = Fixture::encoded("SQL_ASCII").await.open().await.migrate().await.expect("migrated");
    assert_eq!(applied.len(), migrations());
}
