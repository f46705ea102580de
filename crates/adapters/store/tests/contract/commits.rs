//! What a commit does and what refuses it.

use quipu_commit::{Aggregate, Changes, Expect, Holder, Index, Name, Refusal};
use quipu_kernel::{Minor, Page};
use quipu_ledger::{PostingError, Transaction};
use quipu_merchants::ReturnUrls;
use quipu_payments::{
    BankDetails, BeforeChange, CustomerClaim, Failure, InRequestWebhook, Instructions, Payment,
    PaymentFilter, Payout, RedirectScheme, State, Status, TrafficType, put_moved,
};
use quipu_webhooks::EventName;

use crate::{
    fixture::{Fixture, funded_any, on_every_store, refusal},
    sample::{MXN, Sample, adjust, after, amount, fresh_customer, funding, minor, move_to, tenant},
};

on_every_store! {
    a_payment_is_read_back_as_it_was_committed,
    every_member_of_a_payment_survives,
    every_member_of_a_state_is_written_when_it_changes,
    a_withdrawal_above_the_balance_is_refused_and_leaves_nothing,
    a_total_beyond_the_range_is_refused,
    what_is_foreseen_must_be_bearable_and_is_not_posted,
    more_cannot_be_released_than_is_frozen,
    a_held_reference_is_refused_until_it_is_freed,
    a_late_completion_does_not_take_its_reference_back,
    a_payment_that_moved_meanwhile_is_stale,
    a_writing_without_a_step_keeps_the_version,
    what_a_decision_rests_on_must_still_stand,
    what_must_not_be_there_is_looked_for,
    the_whole_life_of_a_withdrawal_leaves_the_books_in_order,
}

async fn a_payment_is_read_back_as_it_was_committed(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let committed = store.commit(Sample::withdrawal(tenant(1), 600).create()).await.expect("committed");
    let payment = *committed.into_saved::<Payment>().expect("the payment");
    let read = store.payment(tenant(1), payment.id()).await.expect("read");
    assert_eq!(read.as_ref(), Some(&payment));
    assert_eq!(store.payment(tenant(2), payment.id()).await.expect("read"), None);
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.frozen.get()), (400, 600));
}

async fn every_member_of_a_payment_survives(fixture: Fixture) {
    let store = fixture.any().await;
    let plain = Sample::deposit(tenant(1), 5).payment();
    let mut terms = plain.terms().clone();
    terms.description = Some("dos\tlíneas\n".to_owned());
    terms.note = Some("\"quoted\" {}, NULL".to_owned());
    terms.external_id = Some("x-1".to_owned());
    terms.expires_at = Some(after(90_000));
    terms.traffic_type = Some(TrafficType::Vip);
    terms.redirect_scheme = Some(RedirectScheme::Lqr);
    terms.return_urls = ReturnUrls { success_url: Some("https://a.example/".to_owned()), cancel_url: None };
    terms.webhook = Some(InRequestWebhook {
        url: "https://hooks.example/q".to_owned(),
        events: vec![EventName::PaymentCreated, EventName::PaymentRefunded],
    });
    let mut state = plain.state().clone();
    state.received_amount = Some(amount(4));
    state.refunded_amount = minor(2);
    state.late = true;
    state.failure = Some(Failure { code: "EXPIRED".to_owned(), message: "nobody paid".to_owned() });
    state.completed_at = Some(after(7));
    state.instructions = to_an_account();
    let whole = Payment::restore(terms, state);
    let change = Sample::deposit(tenant(1), 5).create_as(whole.clone(), CustomerClaim::Known);
    store.commit(change).await.expect("committed");
    assert_eq!(store.payment(tenant(1), whole.id()).await.expect("read"), Some(whole));
}

/// Instructions to pay into a bank account.
fn to_an_account() -> Instructions {
    let bank_details = BankDetails {
        amount: "5".to_owned(),
        purpose: "p".to_owned(),
        currency: MXN,
        bank_name: "Banco".to_owned(),
        swift_code: None,
        account_holder: "Quipu".to_owned(),
        account_number: "1".to_owned(),
        bsb: None,
    };
    Instructions { bank_details: Some(bank_details), ..Instructions::default() }
}

async fn every_member_of_a_state_is_written_when_it_changes(fixture: Fixture) {
    let store = fixture.any().await;
    let committed = store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    let plain = committed.into_saved::<Payment>().expect("a payment");
    // Without `..`, so that a new member is changed here too.
    let state = State {
        status: Status::PartialRefund,
        version: 2,
        fee: minor(1),
        refunded_amount: minor(2),
        received_amount: Some(amount(4)),
        late: true,
        failure: Some(Failure { code: "EXPIRED".to_owned(), message: "nobody paid".to_owned() }),
        payout: Some(Payout { recipient_name: Some("Ana".to_owned()), ..Payout::default() }),
        instructions: to_an_account(),
        provider_reference: Some("theirs".to_owned()),
        revision: plain.state().revision + 1,
        completed_at: Some(after(7)),
        updated_at: after(8),
    };
    let changed = Payment::restore(plain.terms().clone(), state);
    let mut change = Changes::new(tenant(1), after(8));
    put_moved(&mut change, BeforeChange::of(&plain), changed.clone());
    store.commit(change).await.expect("committed");
    assert_eq!(store.payment(tenant(1), plain.id()).await.expect("read"), Some(changed));
}

async fn a_withdrawal_above_the_balance_is_refused_and_leaves_nothing(fixture: Fixture) {
    let store = funded_any(&fixture, 100).await;
    let change = Sample::withdrawal(tenant(1), 101).create();
    assert_eq!(refusal(store.commit(change).await), Refusal::Posting(PostingError::InsufficientFunds));
    let everything = PaymentFilter::default();
    let listed = store.payments(tenant(1), &everything, Page::default());
    assert_eq!(listed.await.expect("read"), (Vec::new(), 0));
    assert!(store.check().await.expect("checked").is_clean());
}

async fn a_total_beyond_the_range_is_refused(fixture: Fixture) {
    let store = funded_any(&fixture, quipu_kernel::MAX_MINOR).await;
    let one_more = store.commit(funding(tenant(1), 1)).await;
    assert_eq!(refusal(one_more), Refusal::Posting(PostingError::OutOfRange));
}

async fn what_is_foreseen_must_be_bearable_and_is_not_posted(fixture: Fixture) {
    let store = funded_any(&fixture, quipu_kernel::MAX_MINOR - 10).await;
    let foreseeing = |units| {
        let mut change = Sample::deposit(tenant(1), units).create();
        change.foreseen = Transaction::deposit_completed(MXN, amount(units), Minor::ZERO).ok();
        change
    };
    assert_eq!(refusal(store.commit(foreseeing(11)).await), Refusal::Posting(PostingError::OutOfRange));
    store.commit(foreseeing(10)).await.expect("committed");
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.deposit.get()), (quipu_kernel::MAX_MINOR - 10, 0));
    // What the same change posts counts first.
    let mut both = foreseeing(10);
    adjust(&mut both, MXN, 1);
    assert_eq!(refusal(store.commit(both).await), Refusal::Posting(PostingError::OutOfRange));
    assert!(store.check().await.expect("checked").is_clean());
}

async fn more_cannot_be_released_than_is_frozen(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let first = store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("committed");
    let mut completed =
        move_to(&first.into_saved::<Payment>().expect("a payment"), Status::Completed, after(1));
    let again = completed.transactions[0].clone();
    completed.transactions.push(again);
    assert_eq!(refusal(store.commit(completed).await), Refusal::Posting(PostingError::FrozenShort));
}

async fn a_held_reference_is_refused_until_it_is_freed(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let sample = Sample::withdrawal(tenant(1), 100);
    let first =
        store.commit(sample.create()).await.expect("committed").into_saved::<Payment>().expect("a payment");
    let again = refusal(store.commit(sample.create()).await);
    assert_eq!(again, held_by(&first));
    let cancel = || move_to(&first, Status::Cancelled, after(5));
    store.commit(cancel()).await.expect("cancelled");
    assert_eq!(refusal(store.commit(cancel()).await), Refusal::Stale);
    store.commit(sample.create()).await.expect("the reference is free");
    let other = Sample { reference: sample.reference.clone(), ..Sample::deposit(tenant(2), 5) };
    store.commit(other.create()).await.expect("another merchant's references are its own");
}

async fn a_late_completion_does_not_take_its_reference_back(fixture: Fixture) {
    let store = fixture.any().await;
    let sample = Sample::deposit(tenant(1), 5);
    let first =
        store.commit(sample.create()).await.expect("committed").into_saved::<Payment>().expect("a payment");
    let expired = store.commit(move_to(&first, Status::Expired, after(1))).await.expect("expired");
    store.commit(sample.create()).await.expect("the reference is free");
    let expired = expired.into_saved::<Payment>().expect("a payment");
    let mut late = move_to(&expired, Status::Completed, after(2));
    let moved = late.saved::<Payment>().expect("a payment");
    let state = State { late: true, ..moved.state().clone() };
    late.saves[0].record = Box::new(Payment::restore(moved.terms().clone(), state));
    store.commit(late).await.expect("the money is taken");
    assert!(store.check().await.expect("checked").is_clean());
}

async fn a_payment_that_moved_meanwhile_is_stale(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let first = store.commit(Sample::withdrawal(tenant(1), 100).create()).await.expect("committed");
    let first = first.into_saved::<Payment>().expect("a payment");
    store.commit(move_to(&first, Status::Processing, after(1))).await.expect("processing");
    assert_eq!(refusal(store.commit(move_to(&first, Status::Cancelled, after(1))).await), Refusal::Stale);
    let unknown = Sample::withdrawal(tenant(1), 5).payment();
    assert_eq!(refusal(store.commit(move_to(&unknown, Status::Cancelled, after(1))).await), Refusal::Stale);
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    assert_eq!((balance.available.get(), balance.frozen.get()), (900, 100));
}

async fn a_writing_without_a_step_keeps_the_version(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let first = store.commit(Sample::withdrawal(tenant(1), 100).create()).await.expect("committed");
    let first = first.into_saved::<Payment>().expect("a payment");
    let mut state = first.state().clone();
    state.revision += 1;
    state.updated_at = after(9);
    let same = Payment::restore(first.terms().clone(), state);
    let write = || {
        let mut change = Changes::new(tenant(1), after(9));
        put_moved(&mut change, BeforeChange::of(&first), same.clone());
        change
    };
    store.commit(write()).await.expect("committed");
    assert_eq!(refusal(store.commit(write()).await), Refusal::Stale);
    assert_eq!(store.payment(tenant(1), first.id()).await.expect("read"), Some(same));
    assert!(store.check().await.expect("checked").is_clean());
}

async fn what_a_decision_rests_on_must_still_stand(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let first = store.commit(Sample::withdrawal(tenant(1), 100).create()).await.expect("committed");
    let first = first.into_saved::<Payment>().expect("a payment");
    let resting = |revision| {
        let mut change = funding(tenant(1), 1);
        let id = first.id().as_str().to_owned();
        change.expects.push(Expect { aggregate: Aggregate::PAYMENT, id, revision });
        change
    };
    store.commit(resting(1)).await.expect("it stands");
    store.commit(move_to(&first, Status::Processing, after(1))).await.expect("moved");
    assert_eq!(refusal(store.commit(resting(1)).await), Refusal::Stale);
    store.commit(resting(2)).await.expect("it stands so now");
    assert_eq!(store.balance(tenant(1), MXN).await.expect("read").available.get(), 902);
}

async fn what_must_not_be_there_is_looked_for(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let sample = Sample::withdrawal(tenant(1), 100);
    let payment = sample.payment();
    let make = || {
        let mut change = sample.create_as(payment.clone(), CustomerClaim::MatchOrCreate(fresh_customer()));
        let id = payment.id().as_str().to_owned();
        change.expects.push(Expect { aggregate: Aggregate::PAYMENT, id, revision: Expect::ABSENT });
        change
    };
    let (one, other) = futures_util::future::join(store.commit(make()), store.commit(make())).await;
    assert!(one.is_ok() != other.is_ok(), "one of them makes it");
    assert_eq!(refusal([one, other].into_iter().find(Result::is_err).expect("a refusal")), Refusal::Stale);
    assert_eq!(refusal(store.commit(make()).await), Refusal::Stale);
    assert!(store.check().await.expect("checked").is_clean());
}

/// The refusal to a second payment under the reference of this one.
fn held_by(payment: &Payment) -> Refusal {
    Refusal::NameTaken {
        name: Name::new(Index::REFERENCE, payment.terms().merchant_reference.clone()),
        holder: Holder::Text(payment.id().as_str().to_owned()),
    }
}

async fn the_whole_life_of_a_withdrawal_leaves_the_books_in_order(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let sample = Sample { fee: 7, ..Sample::withdrawal(tenant(1), 100) };
    let mut payment =
        store.commit(sample.create()).await.expect("committed").into_saved::<Payment>().expect("a payment");
    for (millis, status) in [(1, Status::Processing), (2, Status::Completed)] {
        let moved = store.commit(move_to(&payment, status, after(millis))).await.expect("moved");
        payment = moved.into_saved::<Payment>().expect("a payment");
    }
    let balance = store.balance(tenant(1), MXN).await.expect("read");
    let totals = [balance.available, balance.frozen, balance.withdrawal, balance.commission];
    assert_eq!(totals.map(quipu_kernel::Minor::get), [893, 0, 100, 7]);
    let report = store.check().await.expect("checked");
    assert_eq!(report.breaches, Vec::new());
    assert_eq!((report.balances, report.transactions, report.payments), (1, 3, 1));
}
