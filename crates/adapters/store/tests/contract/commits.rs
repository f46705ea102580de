//! What a commit does and what refuses it.

use quipu_kernel::Page;
use quipu_ledger::{LedgerReads as _, PostingError};
use quipu_payments::{Commit as _, CommitError, PaymentFilter, PaymentReads as _, Refusal, Status};
use quipu_store::Store;

use crate::{
    fixture::{Fixture, on_both_databases},
    sample::{MXN, Sample, after, funding, move_to, tenant},
};

on_both_databases! {
    a_payment_is_read_back_as_it_was_committed,
    a_withdrawal_above_the_balance_is_refused_and_leaves_nothing,
    a_held_reference_is_refused_until_it_is_freed,
}

async fn funded(fixture: &Fixture, units: i64) -> Store {
    let store = fixture.open().await;
    store.commit(funding(tenant(1), units)).await.expect("funded");
    store
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, CommitError>) -> Refusal {
    match outcome.expect_err("a refusal") {
        CommitError::Refused(refusal) => refusal,
        CommitError::Store(error) => panic!("{error}"),
    }
}

async fn a_payment_is_read_back_as_it_was_committed(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let committed = store.commit(Sample::withdrawal(tenant(1), 600).create()).await.expect("committed");
    let payment = *committed.payment.expect("the payment");
    let read = store.payment(tenant(1), payment.id()).await.expect("read");
    assert_eq!(read.as_ref(), Some(&payment));
    assert_eq!(store.payment(tenant(2), payment.id()).await.expect("read"), None);
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.frozen.get()), (400, 600));
}

async fn a_withdrawal_above_the_balance_is_refused_and_leaves_nothing(fixture: Fixture) {
    let store = funded(&fixture, 100).await;
    let change = Sample::withdrawal(tenant(1), 101).create();
    assert_eq!(refusal(store.commit(change).await), Refusal::Posting(PostingError::InsufficientFunds));
    let everything = PaymentFilter::default();
    let listed = store.payments(tenant(1), &everything, Page::default());
    assert_eq!(listed.await.expect("read"), (Vec::new(), 0));
}

async fn a_held_reference_is_refused_until_it_is_freed(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let sample = Sample::withdrawal(tenant(1), 100);
    let first = store.commit(sample.create()).await.expect("committed").payment.expect("a payment");
    let again = refusal(store.commit(sample.create()).await);
    assert_eq!(again, Refusal::ReferenceTaken { holder: first.id().clone() });
    let cancel = move_to(&first, Status::Cancelled, after(5));
    store.commit(cancel.clone()).await.expect("cancelled");
    assert_eq!(refusal(store.commit(cancel).await), Refusal::Stale);
    store.commit(sample.create()).await.expect("the reference is free");
    let other = Sample { reference: sample.reference.clone(), ..Sample::deposit(tenant(2), 5) };
    store.commit(other.create()).await.expect("another merchant's references are its own");
}
