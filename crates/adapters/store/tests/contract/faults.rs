//! What survives callers that go away, stores that close, and hands that reach behind the store's back.

use futures_util::FutureExt as _;
use quipu_commit::{Commit as _, CommitError};
use quipu_kernel::{Page, StoreError};
use quipu_ledger::LedgerReads as _;
use quipu_payments::{Payment, PaymentFilter, PaymentReads as _};

use crate::{
    fixture::{Fixture, funded, on_both_databases, until},
    sample::{MXN, Sample, tenant},
};

on_both_databases! {
    a_caller_that_goes_away_undoes_nothing,
    what_was_committed_is_there_after_a_restart,
    closing_finishes_what_was_accepted,
    entries_and_the_audit_log_refuse_to_be_changed,
    balances_refuse_to_be_negative_or_out_of_balance,
    a_store_without_its_tables_answers_with_an_error,
    a_row_that_makes_no_sense_fails_who_reads_it_and_nobody_else,
    nothing_is_committed_if_any_of_its_statements_fails,
}

async fn a_caller_that_goes_away_undoes_nothing(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    for _ in 0..50 {
        let mut commit = Box::pin(store.commit(Sample::withdrawal(tenant(1), 10).create()));
        // Polled once, so that the change is in the queue, and dropped: nearly always before there is an answer.
        let _ = (&mut commit).now_or_never();
        drop(commit);
        let mut read = Box::pin(store.balance(tenant(1), MXN));
        let _ = (&mut read).now_or_never();
    }
    until(async || store.balance(tenant(1), MXN).await.expect("read").frozen.get() == 500).await;
    assert!(store.check().await.expect("checked").is_clean());
}

async fn what_was_committed_is_there_after_a_restart(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let made = store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("committed");
    let payment = made.into_saved::<Payment>().expect("a payment");
    store.close().await;
    let again = fixture.open().await;
    assert!(!again.pending_migrations().await.expect("asked"));
    assert_eq!(again.migrate().await.expect("nothing to do"), Vec::<String>::new());
    assert_eq!(again.payment(tenant(1), payment.id()).await.expect("read").as_ref(), Some(&*payment));
}

async fn closing_finishes_what_was_accepted(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let mut commits = Vec::new();
    for _ in 0..40 {
        let mut commit = Box::pin(store.commit(Sample::withdrawal(tenant(1), 10).create()));
        match (&mut commit).now_or_never() {
            Some(answer) => drop(answer.expect("committed at once")),
            None => commits.push(commit),
        }
    }
    store.clone().close().await;
    for commit in commits {
        commit.await.expect("accepted before the end");
    }
    assert_eq!(fixture.open().await.balance(tenant(1), MXN).await.expect("read").frozen.get(), 400);
    let late = store.commit(Sample::withdrawal(tenant(1), 10).create()).await;
    assert!(matches!(late, Err(CommitError::Store(_))));
}

async fn entries_and_the_audit_log_refuse_to_be_changed(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let mut change = Sample::withdrawal(tenant(1), 10).create();
    change.add(crate::directory::audit("payment.noted"));
    store.commit(change).await.expect("committed");
    for table in ["entries", "audit_log"] {
        let column = if table == "entries" { "amount = amount + 1" } else { "subject = 'x'" };
        fixture.sql(&format!("UPDATE {table} SET {column}")).await.expect_err("no update");
        fixture.sql(&format!("DELETE FROM {table}")).await.expect_err("no deletion");
        if fixture.is_server() {
            fixture.sql(&format!("TRUNCATE {table}")).await.expect_err("no truncation");
        }
    }
    assert!(store.check().await.expect("checked").is_clean());
}

async fn balances_refuse_to_be_negative_or_out_of_balance(fixture: Fixture) {
    let _store = funded(&fixture, 1_000).await;
    let negative = "UPDATE balances SET available = -1, adjustment = -1";
    fixture.sql(negative).await.expect_err("never negative");
    fixture.sql("UPDATE balances SET available = available + 1").await.expect_err("never out of balance");
}

async fn a_store_without_its_tables_answers_with_an_error(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    fixture.sql("ALTER TABLE events RENAME TO lost").await.expect("renamed");
    let failed = store.commit(Sample::withdrawal(tenant(1), 10).create()).await;
    assert!(matches!(failed, Err(CommitError::Store(_))), "{failed:?}");
    fixture.sql("ALTER TABLE lost RENAME TO events").await.expect("renamed");
    store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("in order again");
    assert_eq!(store.balance(tenant(1), MXN).await.expect("read").frozen.get(), 10);
}

async fn a_row_that_makes_no_sense_fails_who_reads_it_and_nobody_else(fixture: Fixture) {
    let store = fixture.open().await;
    for merchant in [1, 2] {
        store.commit(Sample::deposit(tenant(merchant), 10).create()).await.expect("committed");
    }
    fixture.sql("UPDATE payments SET document = 'no JSON' WHERE merchant_id = 1").await.expect("written");
    let list =
        async |merchant| store.payments(tenant(merchant), &PaymentFilter::default(), Page::default()).await;
    // More often than there are connections to read by.
    for _ in 0..10 {
        let failed = list(1).await.expect_err("no list of nonsense");
        assert!(matches!(failed, StoreError::Failed(_)), "{failed:?}");
        assert_eq!(list(2).await.expect("listed").1, 1);
    }
}

/// The first commit of a new connection, which has to prepare every statement and the `COMMIT` behind them.
async fn nothing_is_committed_if_any_of_its_statements_fails(fixture: Fixture) {
    funded(&fixture, 1_000).await.close().await;
    let everywhere = ["events", "counters", "entries"];
    for table in everywhere.into_iter().chain(fixture.is_server().then_some("payment_classes")) {
        let store = fixture.open().await;
        fixture.sql(&format!("ALTER TABLE {table} RENAME TO lost")).await.expect("renamed");
        let failed = store.commit(Sample::withdrawal(tenant(1), 10).create()).await;
        assert!(matches!(failed, Err(CommitError::Store(StoreError::Unavailable(_)))), "{table}: {failed:?}");
        fixture.sql(&format!("ALTER TABLE lost RENAME TO {table}")).await.expect("renamed");
        assert_eq!(store.balance(tenant(1), MXN).await.expect("read").frozen.get(), 0, "{table}");
        let found = store.payments(tenant(1), &PaymentFilter::default(), Page::default()).await;
        assert_eq!(found.expect("listed").1, 0, "{table}");
        // SQLite writes a table that was renamed down in other words, which a check would name.
        assert!(!fixture.is_server() || store.check().await.expect("checked").is_clean(), "{table}");
        store.close().await;
    }
}
