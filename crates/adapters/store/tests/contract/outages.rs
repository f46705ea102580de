//! What callers are told while the way to the server is cut, delayed or swallowed at any message of a batch: never
//! anything that is not so.
//!
//! Each run has a seed, which is printed where it fails. `QUIPU_FAULT_RUNS` says how many runs there are
//! (`forever` is a number too), `QUIPU_FAULT_SEED` with which seed they begin.

use std::{
    future::ready,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use futures_util::{
    StreamExt as _,
    future::{join, join_all},
    stream,
};
use quipu_commit::{
    Answer, Changes, Commit as _, CommitError, Committed, IdempotencyRecord, KeptAnswer, KeyOwner, Refusal,
};
use quipu_kernel::{PaymentId, StoreError, Tenant};
use quipu_ledger::LedgerReads as _;
use quipu_payments::PaymentReads as _;
use quipu_store::{Store, StoreSettings};
use tokio::time::sleep;

use crate::{
    fixture::{self, Engine, Fixture},
    proxy::{Action, Blow, Point, Proxy, Side},
    sample::{MXN, Sample, after, funding, nonce, tenant, unique},
};

/// Runs unless told otherwise.
const RUNS: u64 = 200;
/// Runs at the same time. They wait more than they work.
const AT_ONCE: usize = 16;
/// How long it may take until it is known what happened.
const RESOLVED: Duration = Duration::from_mins(1);
/// The pause between two tries.
const BREATH: Duration = Duration::from_millis(10);
/// What the merchant of a run has to pay out from.
const FUNDS: i64 = 1_000;
/// What every run adjusts, once.
const ADJUSTMENT: i64 = 7;

#[test]
fn every_answer_is_true_wherever_the_connection_fails() {
    let runs = match std::env::var("QUIPU_FAULT_RUNS").ok().as_deref() {
        None => RUNS,
        Some("forever") => u64::MAX,
        Some(number) => number.parse().expect("QUIPU_FAULT_RUNS is a number or forever"),
    };
    let first = std::env::var("QUIPU_FAULT_SEED").map_or_else(
        |_| uuid::Uuid::new_v4().as_u64_pair().0,
        |text| text.parse().expect("QUIPU_FAULT_SEED is a number"),
    );
    println!("seeds from {first}");
    fixture::run(Engine::Postgres, |fixture| async move {
        let truth = fixture.open().await;
        let counted = count_messages(&fixture, &truth).await;
        stream::iter(0..runs)
            .map(|number| one_run(&fixture, &truth, first.wrapping_add(number), counted))
            .buffer_unordered(AT_ONCE)
            .for_each(|()| ready(()))
            .await;
        let report = truth.check().await.expect("checked");
        assert!(report.is_clean(), "{:?}", report.breaches);
        let (unknown, absent) = (UNKNOWN.load(Ordering::Relaxed), ABSENT.load(Ordering::Relaxed));
        println!("{runs} runs, {unknown} answers unknown at first, {absent} that nothing happened");
        assert!(runs < RUNS || (unknown > 0 && absent > 0), "the connection failed nowhere that mattered");
    });
}

/// How many answers said that nobody knows.
static UNKNOWN: AtomicU64 = AtomicU64::new(0);
/// How many said that nothing happened.
static ABSENT: AtomicU64 = AtomicU64::new(0);

/// A small generator: the same seed gives the same run (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("below a usize")
    }

    fn blow(&mut self, (client, server): (usize, usize)) -> Blow {
        let (side, messages) =
            if self.below(2) == 0 { (Side::Client, client) } else { (Side::Server, server) };
        let action = match self.below(4) {
            0 | 1 => Action::Cut,
            2 => Action::Swallow,
            _ => Action::Delay(Duration::from_millis(self.below(3_000) as u64)),
        };
        let gone_for = match self.below(3) {
            0 => Duration::from_millis(self.below(6_000) as u64),
            _ => Duration::ZERO,
        };
        let at = if self.below(3) == 0 { Point::Commit } else { Point::Message(self.below(messages)) };
        Blow { side, at, arrives: self.below(2) == 0, action, gone_for }
    }
}

/// A store behind a proxy, which gives up soon.
async fn behind(proxy: &Proxy) -> Store {
    let mut settings = StoreSettings::new(&proxy.url);
    (settings.readers, settings.lanes) = (2, 1);
    (settings.call, settings.lock) = (Duration::from_secs(4), Duration::from_millis(300));
    fixture::opened(settings).await
}

/// How many messages a run's changes take on a connection that has its statements, and on one that has not.
async fn count_messages(fixture: &Fixture, truth: &Store) -> (usize, usize) {
    let proxy = Proxy::before(&fixture.url, &fixture::handle()).await;
    let store = behind(&proxy).await;
    let owner = tenant(1);
    truth.commit(funding(owner, FUNDS)).await.expect("funded");
    proxy.arm(None);
    let script = Script::new(owner);
    let _outcomes = script.play(&store).await;
    let (client, server) = proxy.counted();
    assert!(client > 20 && server > 20, "{client} and {server} messages");
    store.close().await;
    (client, server)
}

/// What the merchants of one run ask for, by the names under which they can ask again.
struct Script {
    owner: Tenant,
    references: Vec<String>,
    key: String,
    adjustment_key: String,
}

type Outcome = Result<Committed, CommitError>;

impl Script {
    fn new(owner: Tenant) -> Self {
        let references = (0..5).map(|_| unique("ref")).collect();
        Self { owner, references, key: unique("key"), adjustment_key: unique("adjustment") }
    }

    /// A withdrawal; the last is more than the merchant has, the first has a key and the second a nonce.
    fn withdrawal(&self, number: usize) -> (PaymentId, Changes) {
        let amount = if number == self.references.len() - 1 { 10 * FUNDS } else { 100 };
        let reference = self.references[number].clone();
        let mut changes = Sample { reference, ..Sample::withdrawal(self.owner, amount) }.create();
        let id = crate::sample::payment_of(&changes).id().clone();
        match number {
            0 => changes.idempotency = Some(record(KeyOwner::Merchant, &self.key)),
            1 => changes.nonce = Some(nonce(&unique("nonce"), after(60_000))),
            _ => {}
        }
        (id, changes)
    }

    fn adjustment(&self) -> Changes {
        let mut changes = funding(self.owner, ADJUSTMENT);
        changes.idempotency = Some(record(KeyOwner::Operator, &self.adjustment_key));
        changes
    }

    /// Everything at once: the withdrawals' identifiers and outcomes, and the adjustment's outcome.
    async fn play(&self, store: &Store) -> (Vec<(PaymentId, Outcome)>, Outcome) {
        let withdrawals = (0..self.references.len()).map(|number| async move {
            let (id, changes) = self.withdrawal(number);
            (id, store.commit(changes).await)
        });
        join(join_all(withdrawals), store.commit(self.adjustment())).await
    }
}

fn record(owner: KeyOwner, key: &str) -> IdempotencyRecord {
    IdempotencyRecord {
        owner,
        key: key.parse().expect("a key"),
        body_hash: "hash".to_owned(),
        payment_id: None,
        answer: KeptAnswer::Given(Answer::success("kept".to_owned())),
        expires_at: after(60_000),
    }
}

async fn one_run(fixture: &Fixture, truth: &Store, seed: u64, counted: (usize, usize)) {
    let mut dice = Dice(seed);
    let merchant = 1_000 + i64::try_from(seed % (1 << 40)).expect("small");
    let owner = tenant(merchant);
    truth.commit(funding(owner, FUNDS)).await.expect("funded");
    let proxy = Proxy::before(&fixture.url, &fixture::handle()).await;
    let store = behind(&proxy).await;
    let is_warm = dice.below(2) == 0;
    if is_warm {
        // Whether it succeeds is of no matter; the connection and its statements are there.
        let _warmed = store.commit(Sample::deposit(owner, 5).create()).await;
    }
    let blow = dice.blow(counted);
    let told = format!("seed {seed}: {blow:?}, {}", if is_warm { "warm" } else { "cold" });
    proxy.arm(Some(blow));
    let script = Script::new(owner);
    let (withdrawals, adjustment) = script.play(&store).await;
    let mut present = 0;
    for (number, (id, outcome)) in withdrawals.into_iter().enumerate() {
        present += i64::from(is_true(&store, truth, &script, (number, id), outcome, &told).await);
    }
    settle_adjustment(&store, &script, adjustment, &told).await;
    let balance = truth.balance(owner, MXN).await.expect("read");
    let expected = (FUNDS + ADJUSTMENT - 100 * present, 100 * present);
    assert_eq!((balance.available.get(), balance.frozen.get()), expected, "{told}");
    store.close().await;
}

async fn exists(truth: &Store, owner: Tenant, id: &PaymentId) -> bool {
    truth.payment(owner, id).await.expect("read").is_some()
}

/// Whether the withdrawal exists in the end, which must be as its caller was told.
async fn is_true(
    store: &Store,
    truth: &Store,
    script: &Script,
    (number, id): (usize, PaymentId),
    outcome: Outcome,
    told: &str,
) -> bool {
    let is_there = exists(truth, script.owner, &id).await;
    match outcome {
        Ok(_) => {
            assert!(is_there, "{told}: {number} was acknowledged and is absent");
            true
        }
        Err(CommitError::Store(StoreError::OutcomeUnknown(_))) => {
            UNKNOWN.fetch_add(1, Ordering::Relaxed);
            resolved(store, truth, script, (number, id), told).await
        }
        Err(CommitError::Refused(refusal)) => {
            assert!(!is_there, "{told}: {number} was refused ({refusal}) and is present");
            false
        }
        Err(CommitError::Store(StoreError::Failed(text))) => panic!("{told}: {number} failed: {text}"),
        Err(CommitError::Store(error)) => {
            ABSENT.fetch_add(1, Ordering::Relaxed);
            assert!(!is_there, "{told}: {number} was said not to have happened ({error}) and is present");
            false
        }
    }
}

/// Asks again until it is known: there is the first payment or that of the repeat, and never both.
async fn resolved(
    store: &Store,
    truth: &Store,
    script: &Script,
    (number, id): (usize, PaymentId),
    told: &str,
) -> bool {
    let mut asked = vec![id];
    let end = Instant::now() + RESOLVED;
    while Instant::now() < end {
        let (again, changes) = script.withdrawal(number);
        asked.push(again);
        let known = match store.commit(changes).await {
            Ok(_) | Err(CommitError::Refused(Refusal::NameTaken { .. } | Refusal::IdempotencyKeyUsed)) => {
                true
            }
            Err(CommitError::Refused(Refusal::Posting(_))) => false,
            Err(CommitError::Refused(other)) => panic!("{told}: {number} was refused: {other}"),
            Err(CommitError::Store(_)) => {
                sleep(BREATH).await;
                continue;
            }
        };
        let mut there = 0;
        for id in &asked {
            there += usize::from(exists(truth, script.owner, id).await);
        }
        assert_eq!(there, usize::from(known), "{told}: {number} was asked for {} times", asked.len());
        return known;
    }
    panic!("{told}: {number} is never known");
}

/// Asks again under the same key until the adjustment is known to have been made.
async fn settle_adjustment(store: &Store, script: &Script, mut outcome: Outcome, told: &str) {
    let end = Instant::now() + RESOLVED;
    while Instant::now() < end {
        match outcome {
            Ok(_) | Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => return,
            Err(CommitError::Refused(other)) => panic!("{told}: the adjustment was refused: {other}"),
            Err(CommitError::Store(_)) => {
                sleep(BREATH).await;
                outcome = store.commit(script.adjustment()).await;
            }
        }
    }
    panic!("{told}: the adjustment is never known");
}
