//! Changes of merchants whose rows are locked by another session. They wait in queues of their own, so that
//! other merchants do not wait behind them.
//!
//! A lane waits for a lock only as long as a neighbour's batch may hold it. If a merchant's rows are locked
//! for longer, its changes leave the lane: they get a queue, a task and a connection of their own, and wait
//! there for the lock for `deadlines.lock`. The merchant returns to the lane once a batch of its own met no lock
//! and nothing waits behind it, or after 10 seconds without a change.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::FutureExt as _;
use quipu_kernel::{MerchantId, StoreError};
use tokio::{runtime::Handle, sync::Notify, task::JoinSet, time::timeout};

use super::{BATCH, QUEUE, batch, job::Job, next_step::WhenLocked};
use crate::{
    custody::{Custody, Origin},
    hub::Hub,
    lock::locked,
};

/// How long a merchant stays aside without changes, if its rows were still locked at the last one. Back in the lane
/// it would soon delay the others again.
const LINGER: Duration = Duration::from_secs(10);

/// The queue of one merchant.
#[derive(Default)]
struct Aside {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether its task has ended, so that no more changes are taken.
    is_over: bool,
    /// Whether the store closes, so that no more changes will come.
    is_closing: bool,
}

impl Aside {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }

    /// Adds a job to the queue; returns it if the task has ended.
    fn push(&self, job: Job) -> Option<Job> {
        let mut queue = self.queue();
        if queue.is_over {
            return Some(job);
        }
        if queue.jobs.len() >= QUEUE {
            let _gone = job.reply.send(Err(StoreError::Overloaded.into()));
        } else {
            queue.jobs.push_back(job);
            self.arrived.notify_one();
        }
        None
    }

    /// Takes the waiting jobs. If there are none and `may_end`, the task ends.
    fn take(&self, may_end: bool) -> Vec<Job> {
        let mut queue = self.queue();
        let count = queue.jobs.len().min(BATCH);
        queue.is_over = count == 0 && (may_end || queue.is_closing);
        queue.jobs.drain(..count).collect()
    }

    fn is_over(&self) -> bool {
        self.queue().is_over
    }

    fn close(&self) {
        self.queue().is_closing = true;
        self.arrived.notify_one();
    }
}

/// The merchants of one lane that wait aside.
pub(crate) struct Asides {
    /// The origin of their connections; `None` for an embedded database, which has only one lock.
    origin: Option<(Origin, Handle)>,
    merchants: HashMap<MerchantId, Arc<Aside>>,
    running: JoinSet<()>,
    hub: Arc<Hub>,
}

impl Asides {
    /// An empty set. Without an `origin` (SQLite) no merchant is ever moved here.
    pub(crate) fn new(origin: Option<(Origin, Handle)>, hub: Arc<Hub>) -> Self {
        Self { origin, merchants: HashMap::new(), running: JoinSet::new(), hub }
    }

    /// Whether merchants can wait aside at all.
    pub(crate) const fn are_possible(&self) -> bool {
        self.origin.is_some()
    }

    /// Takes a job whose merchant waits aside, and returns any other job.
    pub(crate) fn take(&mut self, job: Job) -> Option<Job> {
        if self.merchants.is_empty() {
            return Some(job);
        }
        let merchant = job.changes.tenant.merchant();
        let Some(aside) = self.merchants.get(&merchant) else { return Some(job) };
        let back = aside.push(job);
        if back.is_some() {
            self.merchants.remove(&merchant);
        }
        back
    }

    /// Moves the merchants of these jobs aside.
    pub(crate) fn open(&mut self, jobs: Vec<Job>) {
        while self.running.try_join_next().is_some() {}
        self.merchants.retain(|_, aside| !aside.is_over());
        for job in jobs {
            let Some(job) = self.take(job) else { continue };
            let Some((origin, runtime)) = &self.origin else { continue };
            let merchant = job.changes.tenant.merchant();
            tracing::warn!(merchant = merchant.0, "a merchant's rows are locked; its changes wait aside");
            let aside = Arc::new(Aside::default());
            let _none = aside.push(job);
            self.merchants.insert(merchant, Arc::clone(&aside));
            let serving = serve(aside, Counted::new(), origin.clone(), Arc::clone(&self.hub));
            self.running.spawn_on(serving, runtime);
        }
    }

    /// Finishes the waiting jobs.
    pub(crate) async fn close(mut self) {
        self.merchants.values().for_each(|aside| aside.close());
        while self.running.join_next().await.is_some() {}
    }
}

/// A merchant in the count of those that wait aside, in any lane.
struct Counted;

impl Counted {
    fn new() -> Self {
        metrics::gauge!("quipu_commit_asides").increment(1.0);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!("quipu_commit_asides").decrement(1.0);
    }
}

async fn serve(aside: Arc<Aside>, _counted: Counted, origin: Origin, hub: Arc<Hub>) {
    let mut custody = Custody::none();
    let mut may_end = false;
    loop {
        let jobs = aside.take(may_end);
        if jobs.is_empty() {
            if aside.is_over() {
                return;
            }
            may_end = timeout(LINGER, aside.arrived.notified()).await.is_err();
            continue;
        }
        let work = AssertUnwindSafe(async {
            let outcome =
                batch::commit_all(&mut custody, &origin, &hub, jobs, WhenLocked::WaitOnceMore).await;
            outcome.untold.tell(&hub);
            outcome.was_blocked
        });
        let Ok(was_blocked) = work.catch_unwind().await else {
            tracing::error!("work aside of a lane panicked");
            continue;
        };
        may_end = !was_blocked;
    }
}
