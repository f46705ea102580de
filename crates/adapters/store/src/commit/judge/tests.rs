//! The judge alone: what it says of a change in a given state, and what it leaves behind.

use std::collections::HashMap;

use quipu_kernel::{CustomerId, Minor, PaymentId, Tenant, Timestamp};
use quipu_ledger::{Balance, PostingError, Transaction};
use quipu_payments::{
    Audience, Changes, IdempotencyRecord, KeptAnswer, Payment, PaymentChange, Refusal, Status,
};
use tokio::sync::oneshot;

use super::{Verdict, judge};
use crate::commit::{
    job::Job,
    state::{KnownBalance, Standing, State},
    writes::{Write, Writes},
};

#[path = "../../../tests/contract/sample.rs"]
#[expect(dead_code, reason = "the contract suite varies its samples in more ways")]
mod sample;

use sample::{MXN, START, Sample, after, amount, customer, minor, move_to, nonce, tenant};

const LARGEST: i64 = (1 << 53) - 1;

fn ours() -> Tenant {
    tenant(1)
}

/// A state in which the merchant has this money, which an adjustment brought.
fn money(available: i64, frozen: i64) -> State {
    let adjustment = minor(available + frozen);
    let balance =
        Balance { available: minor(available), frozen: minor(frozen), adjustment, ..Balance::zero(MXN) };
    let known = KnownBalance { balance, stored: true, touched: false };
    State { balances: HashMap::from([((ours(), MXN), known)]), ..State::default() }
}

fn standing(payment: &Payment, status: Status, version: i32) -> State {
    let key = (ours(), payment.id().clone());
    State { payments: HashMap::from([(key, Standing { status, version })]), ..money(100, 100) }
}

fn holding(reference: &str, holder: &PaymentId) -> State {
    let key = (ours(), reference.to_owned());
    State { references: HashMap::from([(key, holder.clone())]), ..money(100, 0) }
}

fn burnt(value: &str, until: Timestamp) -> State {
    State { nonces: HashMap::from([((ours().merchant().0, value.to_owned()), until)]), ..money(100, 0) }
}

fn kept(key: &str, until: Timestamp) -> State {
    let key = (ours(), Audience::Merchant, key.to_owned());
    State { answers: HashMap::from([(key, until)]), ..money(100, 0) }
}

fn withdrawal(units: i64) -> Changes {
    Sample::withdrawal(ours(), units).create()
}

fn posting(transaction: Transaction) -> Changes {
    let mut changes = Changes::new(ours(), START);
    changes.transactions.push(transaction);
    changes
}

fn with_nonce(value: &str, mut changes: Changes) -> Changes {
    changes.nonce = Some(nonce(value, after(300_000)));
    changes
}

fn with_key(key: &str, mut changes: Changes) -> Changes {
    changes.idempotency = Some(IdempotencyRecord {
        audience: Audience::Merchant,
        key: key.parse().expect("a key"),
        body_hash: "hash".to_owned(),
        payment_id: None,
        answer: KeptAnswer::Sealed { status: 400, body: "sealed".to_owned() },
        expires_at: after(86_400_000),
    });
    changes
}

fn named(reference: &str, mut sample: Sample) -> Sample {
    reference.clone_into(&mut sample.reference);
    sample
}

fn judged(state: State, changes: Vec<Changes>) -> (Vec<Verdict>, Writes, Vec<Job>) {
    let mut jobs: Vec<Job> =
        changes.into_iter().map(|changes| Job::new(changes, oneshot::channel().0)).collect();
    let (verdicts, writes) = judge(state, &mut jobs);
    (verdicts, writes, jobs)
}

fn balance_of(writes: &Writes) -> Option<Balance> {
    writes.balances.first().map(|(.., known)| known.balance)
}

#[test]
fn a_change_that_the_state_bears_is_accepted() {
    let made = Sample::withdrawal(ours(), 10).payment();
    let mut elsewhere = money(1, 0);
    elsewhere.references.insert((tenant(2), "taken".to_owned()), made.id().clone());
    let cases: Vec<(&str, State, Changes)> = vec![
        ("all there is", money(100, 0), withdrawal(100)),
        ("a deposit without any money", State::default(), Sample::deposit(ours(), 100).create()),
        ("the first money", State::default(), posting(Transaction::adjustment(MXN, minor(5)))),
        ("a move from where it stands", standing(&made, Status::Pending, 1), {
            move_to(&made, Status::Processing, after(1))
        }),
        (
            "a reference that another merchant holds",
            elsewhere,
            named("taken", Sample::withdrawal(ours(), 1)).create(),
        ),
        ("a nonce that expired this moment", burnt("nonce-01", START), with_nonce("nonce-01", withdrawal(1))),
        ("a key whose answer expired this moment", kept("key", START), with_key("key", withdrawal(1))),
        ("up to the largest total", money(0, 0), posting(Transaction::adjustment(MXN, minor(LARGEST)))),
    ];
    for (name, state, changes) in cases {
        let (verdicts, writes, _) = judged(state, vec![changes]);
        assert_eq!(verdicts, [Ok(None)], "{name}");
        assert_eq!(writes.accepted, [0], "{name}");
    }
}

/// Every reason to refuse, each with a state that gives it and a change that meets it.
fn refusals() -> Vec<(&'static str, State, Changes, Refusal)> {
    let made = Sample::withdrawal(ours(), 10).payment();
    let holder = made.id().clone();
    let moved = || move_to(&made, Status::Cancelled, after(1));
    let short = Refusal::Posting(PostingError::InsufficientFunds);
    let released = Transaction::withdrawal_released(MXN, amount(10), Minor::ZERO).expect("in range");
    let taken = || named("taken", Sample::withdrawal(ours(), 1)).create();
    let refused_as_taken = Refusal::ReferenceTaken { holder: holder.clone() };
    vec![
        ("a unit more than there is", money(100, 0), withdrawal(101), short.clone()),
        ("no balance at all", State::default(), withdrawal(1), short.clone()),
        ("frozen money", money(0, 100), withdrawal(1), short),
        ("more released than is frozen", money(0, 9), posting(released), {
            Refusal::Posting(PostingError::FrozenShort)
        }),
        (
            "a unit beyond the largest total",
            money(1, 0),
            posting(Transaction::adjustment(MXN, minor(LARGEST))),
            { Refusal::Posting(PostingError::OutOfRange) },
        ),
        ("a reference that is held", holding("taken", &holder), taken(), refused_as_taken),
        ("a payment that is not there", money(0, 100), moved(), Refusal::Stale),
        ("another status", standing(&made, Status::Processing, 1), moved(), Refusal::Stale),
        ("another version", standing(&made, Status::Pending, 2), moved(), Refusal::Stale),
        (
            "a used nonce",
            burnt("nonce-01", after(1)),
            with_nonce("nonce-01", withdrawal(1)),
            Refusal::NonceUsed,
        ),
        ("a used key", kept("key", after(1)), with_key("key", withdrawal(1)), Refusal::IdempotencyKeyUsed),
        (
            "a used nonce before all else",
            burnt("nonce-01", after(1)),
            with_nonce("nonce-01", withdrawal(101)),
            { Refusal::NonceUsed },
        ),
        ("a used key before the balance", kept("key", after(1)), with_key("key", withdrawal(101)), {
            Refusal::IdempotencyKeyUsed
        }),
        (
            "a held reference before the balance",
            holding("taken", &holder),
            { named("taken", Sample::withdrawal(ours(), 101)).create() },
            Refusal::ReferenceTaken { holder: holder.clone() },
        ),
    ]
}

#[test]
fn a_change_that_the_state_does_not_bear_is_refused_by_name_and_leaves_no_trace() {
    for (name, state, changes, refusal) in refusals() {
        let (verdicts, writes, _) = judged(state, vec![changes]);
        assert_eq!(verdicts, [Err(refusal)], "{name}");
        assert!(writes.is_empty(), "{name}");
        assert!(writes.customers.is_empty() && writes.answers.is_empty(), "{name}");
        assert!(writes.payments.is_empty() && writes.counts.is_empty(), "{name}");
        assert!(writes.balances.is_empty(), "{name}");
    }
}

#[test]
fn those_behind_a_refused_change_are_judged_as_if_it_had_never_been() {
    let next = || {
        let sample =
            Sample { customer: customer(Some("next@example.com"), None), ..Sample::deposit(ours(), 1) };
        let mut changes = named("next", sample).create();
        changes.transactions.push(Transaction::adjustment(MXN, minor(1)));
        with_key("next-key", with_nonce("next-nonce", changes))
    };
    for ((name, behind, changes, _), (_, alone, ..)) in refusals().into_iter().zip(refusals()) {
        let (verdicts, with, _) = judged(behind, vec![changes, next()]);
        let (expected, without, _) = judged(alone, vec![next()]);
        assert_eq!(verdicts[1..], expected, "{name}");
        assert_eq!(balance_of(&with), balance_of(&without), "{name}");
        assert_eq!(with.counts, without.counts, "{name}");
        assert_eq!(with.customers.len(), without.customers.len(), "{name}");
        assert_eq!((with.accepted, with.nonces), (vec![1], vec![1]), "{name}");
    }
}

#[test]
fn a_nonce_is_burnt_even_though_the_rest_is_refused() {
    let (verdicts, writes, _) = judged(
        money(1, 0),
        vec![with_nonce("nonce-01", withdrawal(2)), with_nonce("nonce-01", withdrawal(1))],
    );
    let short = Refusal::Posting(PostingError::InsufficientFunds);
    assert_eq!(verdicts, [Err(short), Err(Refusal::NonceUsed)]);
    assert_eq!(writes.nonces, [0]);
    assert_eq!(writes.accepted, [] as [usize; 0]);
    assert!(!writes.is_empty());
}

#[test]
fn each_change_sees_what_those_before_it_left() {
    let first = named("same", Sample::withdrawal(ours(), 60)).create();
    let Some(PaymentChange::Created(holder)) = first.payment.clone() else { panic!("a creation") };
    let (verdicts, writes, _) = judged(
        money(100, 0),
        vec![
            with_key("key", first),
            named("same", Sample::withdrawal(ours(), 1)).create(),
            with_key("key", withdrawal(1)),
            withdrawal(41),
            withdrawal(40),
        ],
    );
    let taken = Refusal::ReferenceTaken { holder: holder.id().clone() };
    let short = Refusal::Posting(PostingError::InsufficientFunds);
    assert_eq!(verdicts, [Ok(None), Err(taken), Err(Refusal::IdempotencyKeyUsed), Err(short), Ok(None)]);
    assert_eq!(writes.accepted, [0, 4]);
    let balance = balance_of(&writes).expect("it changed");
    assert_eq!((balance.available, balance.frozen), (Minor::ZERO, minor(100)));
}

#[test]
fn a_payment_made_and_moved_in_one_batch_is_inserted_once_as_it_ends() {
    let made = named("free again", Sample::withdrawal(ours(), 10));
    let creation = made.create();
    let Some(PaymentChange::Created(payment)) = creation.payment.clone() else { panic!("a creation") };
    let cancel = move_to(&payment, Status::Cancelled, after(1));
    let again = named("free again", Sample::withdrawal(ours(), 10)).create();
    let (verdicts, writes, jobs) = judged(money(10, 0), vec![creation, cancel.clone(), cancel, again]);
    assert_eq!(verdicts, [Ok(None), Ok(None), Err(Refusal::Stale), Ok(None)]);
    assert_eq!(writes.payments_to(Write::Insert), [1, 3]);
    assert_eq!(writes.payments_to(Write::Update), [] as [usize; 0]);
    assert_eq!(jobs[1].payment().map(Payment::status), Some(Status::Cancelled));
    let counted: Vec<_> = writes.counts.iter().map(|((_, status, ..), by)| (*status, *by)).collect();
    assert_eq!(counted, [(Status::Pending, 1), (Status::Cancelled, 1)]);
}

#[test]
fn customers_of_one_address_are_one_customer() {
    let by = |email: &str| {
        let sample = Sample { customer: customer(Some(email), None), ..Sample::deposit(ours(), 1) };
        sample.create()
    };
    let known = CustomerId(7);
    let emails = HashMap::from([((ours(), "known@example.com".to_owned()), known)]);
    let state = State { emails, ..State::default() };
    let (_, writes, jobs) =
        judged(state, vec![by("known@example.com"), by("New@example.com"), by("new@example.com")]);
    let named: Vec<_> =
        jobs.iter().filter_map(|job| job.payment().map(|payment| payment.terms().customer.id)).collect();
    assert_eq!(writes.customers.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1]);
    assert_eq!(named[0], known);
    assert_eq!(named[1], named[2]);
    assert_ne!(named[1], known);
}
