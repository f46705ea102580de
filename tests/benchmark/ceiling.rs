//! The store without HTTP: the same changes as the gateway's, committed as fast as the store takes them. It also fills the
//! merchant with its first million payments.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use hdrhistogram::Histogram;
use quipu_commit::{Changes, Commit, CommitError, Committed, Record};
use quipu_kernel::{Clock, Entropy, SystemClock, Tenant};
use quipu_merchants::{ReturnUrls, RouteBook};
use quipu_payments::{CreatePayment, Creation, Draft, Payment, PaymentReads, Rail, Rails};
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

/// Makes changes as the gateway would for one merchant, and commits them.
pub(crate) struct Filler {
    store: Store,
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
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let rail = Simulator::new(Duration::from_hours(1), "http://127.0.0.1", Arc::clone(&clock));
        let rails: Vec<Arc<dyn Rail>> = vec![Arc::new(rail)];
        let reads: Arc<dyn PaymentReads> = Arc::new(store.clone());
        let routes: Arc<dyn RouteBook> = Arc::new(store.clone());
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let commit: Arc<dyn Commit> = Arc::clone(&recorder) as Arc<dyn Commit>;
        let create = CreatePayment::new(commit, reads, routes, Arc::new(Rails::new(rails)), clock, entropy);
        Self { store, recorder, create, tenant, sample: Vec::new(), committed: 0 }
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
        for _ in 0..count {
            let creation = Creation {
                tenant: self.tenant,
                draft: Draft::parse(&draft(next())),
                default_return_urls: ReturnUrls::default(),
                nonce: None,
            };
            let payment = self.create.run(creation).await.expect("the merchant may create this");
            if (self.committed + prepared.len()).is_multiple_of(100) {
                self.sample.push(payment.id().to_string());
            }
            let recorded = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            prepared.push(recorded.expect("a creation commits once"));
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
