//! Changes that are committed together: each is judged against those before it, and none suffers for another.

use futures_util::future::join_all;
use quipu_commit::{Changes, CommitError, Holder, Index, Name, Refusal};
use quipu_kernel::Minor;
use quipu_payments::{CustomerClaim, Payment, State, Status, Terms};

use crate::{
    fixture::{Fixture, funded_any, on_every_store, refusal},
    sample::{MXN, Sample, after, fresh_customer, minor, move_to, nonce, tenant},
};

on_every_store! {
    of_many_withdrawals_at_once_as_many_succeed_as_the_balance_covers,
    of_many_with_one_reference_one_succeeds,
    of_many_with_one_nonce_one_succeeds,
    of_many_decisions_about_one_payment_one_succeeds,
    who_decides_by_what_has_passed_harms_nobody_beside,
    many_merchants_at_once_keep_their_books,
    a_payment_may_be_made_and_moved_in_one_group,
    thousands_may_read_at_once,
}

mod databases {
    use super::a_change_the_database_refuses_fails_alone;

    crate::fixture::on_both_databases! { a_change_the_database_refuses_fails_alone }
}

async fn of_many_withdrawals_at_once_as_many_succeed_as_the_balance_covers(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let all = (0..64).map(|_| store.commit(Sample::withdrawal(tenant(1), 30).create()));
    let outcomes = join_all(all).await;
    let accepted = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(accepted, 33);
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.frozen.get()), (10, 990));
    let report = store.check().await.expect("checked");
    assert_eq!((report.breaches, report.payments), (Vec::new(), 33));
}

async fn of_many_with_one_reference_one_succeeds(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let sample = Sample::withdrawal(tenant(1), 1);
    let outcomes = join_all((0..64).map(|_| store.commit(sample.create()))).await;
    let (accepted, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(accepted.len(), 1);
    let winner = accepted
        .into_iter()
        .next()
        .expect("one")
        .expect("accepted")
        .into_saved::<Payment>()
        .expect("a payment");
    for outcome in refused {
        let holder = Holder::Text(winner.id().as_str().to_owned());
        let name = Name::new(Index::REFERENCE, sample.reference.clone());
        assert_eq!(refusal(outcome), Refusal::NameTaken { name, holder });
    }
}

async fn of_many_with_one_nonce_one_succeeds(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let all = (0..64).map(|_| {
        let mut change = Sample::withdrawal(tenant(1), 1).create();
        change.nonce = Some(nonce("same-nonce", after(60_000)));
        store.commit(change)
    });
    let outcomes = join_all(all).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let others = outcomes.into_iter().filter(Result::is_err).map(refusal);
    assert!(others.into_iter().all(|refusal| refusal == Refusal::NonceUsed));
}

async fn of_many_decisions_about_one_payment_one_succeeds(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let made = store.commit(Sample::withdrawal(tenant(1), 100).create()).await.expect("committed");
    let payment = made.into_saved::<Payment>().expect("a payment");
    let all = (0..64).map(|number| {
        let to = if number % 2 == 0 { Status::Cancelled } else { Status::Processing };
        store.commit(move_to(&payment, to, after(number)))
    });
    let outcomes = join_all(all).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let others = outcomes.into_iter().filter(Result::is_err).map(refusal);
    assert!(others.into_iter().all(|refusal| refusal == Refusal::Stale));
    assert!(store.check().await.expect("checked").is_clean());
}

/// Decisions about payments that have moved on, or were never there, among others that stand.
async fn who_decides_by_what_has_passed_harms_nobody_beside(fixture: Fixture) {
    let store = funded_any(&fixture, 10_000).await;
    let mut payments = Vec::new();
    for _ in 0..30 {
        let made = store.commit(Sample::withdrawal(tenant(1), 100).create()).await.expect("committed");
        payments.push(*made.into_saved::<Payment>().expect("a payment"));
    }
    for moved in payments.iter().step_by(3) {
        store.commit(move_to(moved, Status::Processing, after(1))).await.expect("moved");
    }
    payments.extend((0..10).map(|_| Sample::withdrawal(tenant(1), 100).payment()));
    let all = payments.iter().map(|payment| store.commit(move_to(payment, Status::Cancelled, after(2))));
    for (number, outcome) in join_all(all).await.into_iter().enumerate() {
        if number < 30 && number % 3 > 0 {
            assert!(outcome.is_ok(), "{number}: {outcome:?}");
        } else {
            assert_eq!(refusal(outcome), Refusal::Stale, "{number}");
        }
    }
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.frozen.get()), (9_000, 1_000));
    assert!(store.check().await.expect("checked").is_clean());
}

/// A payment that every rule lets through and the database does not.
fn impossible() -> Changes {
    let sample = Sample::withdrawal(tenant(1), 1);
    let payment = sample.payment();
    let state = State { refunded_amount: minor(-1), ..payment.state().clone() };
    sample.create_as(Payment::restore(payment.terms().clone(), state), CustomerClaim::Known)
}

async fn a_change_the_database_refuses_fails_alone(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let twin = Sample::withdrawal(tenant(1), 1);
    let payment = twin.payment();
    let first = twin.create_as(payment.clone(), CustomerClaim::MatchOrCreate(fresh_customer()));
    store.commit(first).await.expect("the first of the name");
    let terms = Terms { merchant_reference: "another".to_owned(), ..payment.terms().clone() };
    let other = Payment::restore(terms, payment.state().clone());
    let same_id = || twin.create_as(other.clone(), CustomerClaim::Known);
    let all = (0..64).map(|number| match number {
        20 => store.commit(impossible()),
        40 => store.commit(same_id()),
        _ => store.commit(Sample::withdrawal(tenant(1), 1).create()),
    });
    for (number, outcome) in join_all(all).await.into_iter().enumerate() {
        match number {
            20 | 40 => assert!(matches!(outcome, Err(CommitError::Store(_))), "{outcome:?}"),
            _ => assert!(outcome.is_ok(), "{outcome:?}"),
        }
    }
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!(balance.frozen, minor(63));
    assert!(store.check().await.expect("checked").is_clean());
}

async fn many_merchants_at_once_keep_their_books(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let all = (0..200).map(|number: i64| {
        let sample = Sample { fee: number % 3, ..Sample::deposit(tenant(1 + number % 7), 100) };
        let store = &store;
        async move {
            let made = store
                .commit(sample.create())
                .await
                .expect("committed")
                .into_saved::<Payment>()
                .expect("a payment");
            store.commit(move_to(&made, Status::Completed, after(1))).await.expect("completed");
        }
    });
    join_all(all).await;
    let report = store.check().await.expect("checked");
    assert_eq!((report.breaches, report.payments, report.transactions), (Vec::new(), 200, 201));
    assert_ne!(store.balance(tenant(3), MXN).await.expect("read").available, Minor::ZERO);
}

async fn a_payment_may_be_made_and_moved_in_one_group(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let made = store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("committed");
    let customer = made.into_saved::<Payment>().expect("a payment").terms().customer.clone();
    for _ in 0..20 {
        let sample = Sample { customer: customer.clone(), ..Sample::withdrawal(tenant(1), 10) };
        let payment = sample.payment();
        let create = sample.create_as(payment.clone(), CustomerClaim::Known);
        let cancel = store.commit(move_to(&payment, Status::Cancelled, after(1)));
        let (created, cancelled) = futures_util::future::join(store.commit(create), cancel).await;
        created.expect("created");
        cancelled.expect("cancelled");
        let read = store.payment(tenant(1), payment.id()).await.expect("read").expect("a payment");
        assert_eq!((read.status(), read.state().version), (Status::Cancelled, 2));
    }
    assert!(store.check().await.expect("checked").is_clean());
}

async fn thousands_may_read_at_once(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let made = store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("committed");
    let payment = made.into_saved::<Payment>().expect("a payment");
    let stranger = Sample::withdrawal(tenant(1), 10).payment();
    for _ in 0..5 {
        let all = (0..2_000).map(|number| {
            let (id, known) = if number % 2 == 0 { (payment.id(), true) } else { (stranger.id(), false) };
            let read = store.payment(tenant(1), id);
            async move { assert_eq!(read.await.expect("read").is_some(), known) }
        });
        join_all(all).await;
    }
}
