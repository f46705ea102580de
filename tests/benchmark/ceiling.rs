//! The store without HTTP: the same changes as the gateway's, committed as fast as the store takes them. It
//! also fills the merchant with its first million payments.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use hdrhistogram::Histogram;
use quipu_commit::{Changes, Commit, CommitError, Committed, Record, WorkChange};
use quipu_kernel::{Clock, Entropy, SystemClock, Tenant, Timestamp};
use quipu_merchants::{ReturnUrls, RouteBook};
use quipu_payments::{CreatePayment, Creation, CreationPorts, Draft, Payment, PaymentReads, Rails};
use quipu_rails::Simulator;
use quipu_signing::SystemEntropy;
use quipu_store::Store;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    load::microseconds,
    workload::{CUSTOMERS, next},
};

/// Takes down what would be committed, and says it was.
#[derive(Default)]
struct Recorder(Mutex<Option<Changes>>);

#[async_trait]
impl Commit for Recorder {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let payment = changes.saved::<Payment>().cloned();
        let saved = payment.into_iter().map(|payment| Box::new(payment) as Box<dyn Record>).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(changes);
        Ok(Committed { saved, answer: None })
    }
}

const YEAR: Duration = Duration::from_hours(365 * 24);

/// One payment in so many is in a currency of its own.
pub(crate) const RARE: usize = 5_000;

/// A clock that stands where it was set, or goes with the machine's if it was not set.
#[derive(Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        match self.0.load(Ordering::Relaxed) {
            0 => SystemClock.now(),
            millis => Timestamp::from_millis(millis),
        }
    }
}

/// Makes changes as the gateway would for one merchant, and commits them.
pub(crate) struct Filler {
    store: Store,
    hands: Arc<Hands>,
    /// The number of payments over which the last year is spread; nothing if all are made now.
    over_a_year: Option<usize>,
    recorder: Arc<Recorder>,
    create: CreatePayment,
    tenant: Tenant,
    /// Every hundredth payment, to be asked for later.
    pub(crate) sample: Vec<String>,
    /// How many payments were committed.
    pub(crate) committed: usize,
}

/// What the store did in the measured time.
pub(crate) struct Rate {
    /// Commits a second.
    pub(crate) per_second: f64,
    /// Time from commit to answer, in microseconds.
    pub(crate) latency: Histogram<u64>,
}

impl Filler {
    pub(crate) fn new(store: Store, tenant: Tenant) -> Self {
        let recorder = Arc::new(Recorder::default());
        let hands = Arc::new(Hands::default());
        let clock: Arc<dyn Clock> = Arc::clone(&hands) as Arc<dyn Clock>;
        let rail = Simulator::new(Duration::from_hours(1), "http://127.0.0.1", Arc::clone(&clock));
        let rails = Arc::new(Rails::new(vec![Arc::new(rail)]));
        let reads: Arc<dyn PaymentReads> = Arc::new(store.clone());
        let route_book: Arc<dyn RouteBook> = Arc::new(store.clone());
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let commit: Arc<dyn Commit> = Arc::clone(&recorder) as Arc<dyn Commit>;
        let create = CreatePayment::new(CreationPorts { commit, reads, route_book, rails, clock, entropy });
        Self { store, hands, over_a_year: None, recorder, create, tenant, sample: Vec::new(), committed: 0 }
    }

    /// Spreads the first so many payments over the year until now.
    pub(crate) fn over_a_year(mut self, payments: usize) -> Self {
        self.over_a_year = Some(payments);
        self
    }

    /// Sets the clock to when the payment was made that has this place among all.
    fn set_clock(&self, place: usize) {
        let millis = self.over_a_year.filter(|payments| place < *payments).map_or(0, |payments| {
            let before = YEAR / u32::try_from(payments).expect("millions")
                * u32::try_from(payments - place).expect("millions");
            SystemClock.now().minus(before).millis()
        });
        self.hands.0.store(millis, Ordering::Relaxed);
    }

    /// Commits for `time` with so many callers waiting at once.
    pub(crate) async fn measure(&mut self, draft: fn(u64) -> Value, callers: usize, time: Duration) -> Rate {
        let (mut spent, mut commits, mut latency) = (Duration::ZERO, 0_u32, microseconds());
        // Making changes is not what is measured, so it is done ahead, a portion at a time.
        let portion = (callers * 200).min(20_000);
        while spent < time {
            let changes = self.prepare(draft, portion).await;
            let (elapsed, portion_latency) = self.commit(changes, callers).await;
            spent += elapsed;
            commits += u32::try_from(portion).expect("a small portion");
            latency.add(portion_latency).expect("equal bounds");
        }
        Rate { per_second: f64::from(commits) / spent.as_secs_f64(), latency }
    }

    /// Commits deposits and withdrawals until the merchant has so many payments.
    pub(crate) async fn fill(&mut self, payments: usize) {
        while self.committed < payments {
            let portion = (payments - self.committed).min(20_000);
            let draft = if (self.committed / 20_000).is_multiple_of(2) { withdrawal } else { deposit };
            let changes = self.prepare(draft, portion).await;
            self.commit(changes, 256).await;
        }
    }

    async fn prepare(&mut self, draft: fn(u64) -> Value, count: usize) -> Vec<Changes> {
        let mut prepared = Vec::with_capacity(count);
        for place in (self.committed..).take(count) {
            self.set_clock(place);
            let is_rare = self.over_a_year.is_some() && place.is_multiple_of(RARE);
            let draft = if is_rare { rare } else { draft };
            let creation = Creation {
                tenant: self.tenant,
                draft: Draft::parse(&draft(next())),
                default_return_urls: ReturnUrls::default(),
                nonce: None,
            };
            let payment = self.create.run(creation).await.expect("the merchant may create this");
            if place.is_multiple_of(100) {
                self.sample.push(payment.id().to_string());
            }
            let recorded = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            prepared.push(of_now(recorded.expect("a creation commits once")));
        }
        prepared
    }

    async fn commit(&mut self, changes: Vec<Changes>, callers: usize) -> (Duration, Histogram<u64>) {
        self.committed += changes.len();
        let waiting: Arc<Vec<Mutex<Option<Changes>>>> =
            Arc::new(changes.into_iter().map(|change| Mutex::new(Some(change))).collect());
        let taken = Arc::new(AtomicUsize::new(0));
        let mut committing = JoinSet::new();
        let begun = Instant::now();
        for _ in 0..callers {
            let (store, waiting, taken) = (self.store.clone(), Arc::clone(&waiting), Arc::clone(&taken));
            committing.spawn(async move {
                let mut latency = microseconds();
                while let Some(change) = waiting.get(taken.fetch_add(1, Ordering::Relaxed)) {
                    let change = change.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let sent = Instant::now();
                    store.commit(change.expect("each is taken once")).await.expect("the store accepts it");
                    latency.saturating_record(
                        u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX).max(1),
                    );
                }
                latency
            });
        }
        let mut latency = microseconds();
        for one in committing.join_all().await {
            latency.add(one).expect("equal bounds");
        }
        (begun.elapsed(), latency)
    }
}

/// What is committed is committed now, and due later, however old the payment is.
fn of_now(mut changes: Changes) -> Changes {
    changes.at = SystemClock.now();
    for change in &mut changes.work {
        if let WorkChange::Put(work) | WorkChange::Take(work) = change {
            work.due = changes.at.plus(Duration::from_hours(1));
        }
    }
    changes
}

/// A deposit in a currency that hardly any other has.
fn rare(number: u64) -> Value {
    let mut draft = deposit(number);
    draft["currency"] = json!("UYU");
    draft["method"] = json!("bank_transfer");
    draft
}

/// The withdrawal that is measured over HTTP as well.
pub(crate) fn withdrawal(number: u64) -> Value {
    let mut draft = deposit(number);
    draft["currency"] = json!("ARS");
    draft["method"] = json!("bank_transfer");
    draft["type"] = json!("withdrawal");
    draft["payout"] = json!({ "recipient_name": "Ana Perez", "bank_account": "0000003100010000000001" });
    draft
}

/// The deposit that is measured over HTTP as well.
pub(crate) fn deposit(number: u64) -> Value {
    json!({
        "amount": 100,
        "currency": "MXN",
        "method": "spei",
        "type": "deposit",
        "merchant_reference": uuid::Uuid::new_v4().to_string(),
        "customer": { "name": "Ana Perez", "email": format!("customer{}@example.com", number.wrapping_mul(7_919) % CUSTOMERS) },
    })
}
