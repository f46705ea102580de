//! Changes of merchants whose rows are locked by another session. They wait in queues of their own, so that
//! other merchants do not wait behind them.
//!
//! A lane waits for a lock only as long as a neighbour's batch may hold it. If a merchant's rows are locked
//! for longer, its changes leave the lane: they get a queue and a task of their own, which takes turns with those
//! of other merchants to wait for the lock for `deadlines.lock`. Once a batch of its own met no lock with the patience
//! of a lane, or after 10 seconds without a change, the merchant returns to the lane, which takes back what still waits.

use std::{
    collections::{HashMap, VecDeque, vec_deque::Drain},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::FutureExt as _;
use quipu_kernel::{MerchantId, StoreError, locked};
use tokio::{runtime::Handle, sync::Notify, task::JoinSet, time::timeout};

use super::{BATCH, QUEUE, batch, job::Job, next_step::WhenLocked};
use crate::{
    hub::Hub,
    metric_names::COMMIT_ASIDES,
    postgres::lock_turns::{Patience, Turns},
    transaction::custody::{Custody, Origin},
};

/// How long a merchant stays aside without changes, if its rows were still locked at the last one. Back in the lane
/// it would soon delay the others again.
const LINGER: Duration = Duration::from_secs(10);

/// The connections of merchants that wait aside, in any lane.
#[derive(Clone)]
pub(crate) struct Connections {
    /// Those that wait for a lock.
    pub(crate) full: Origin,
    /// Those that look whether a lock is gone.
    pub(crate) brief: Origin,
    /// The turns to use them, no more than there are.
    pub(crate) turns: Turns,
}

/// What the last try of a merchant's changes met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    /// A lock.
    Lock,
    /// Perhaps a lock for which it had the patience.
    Perhaps,
    /// No lock, with the patience that a lane has.
    Nothing,
}

impl Connections {
    /// Commits or refuses all of `jobs`, after a try that has `met` something; answers what the last one met.
    async fn commit(&self, mut jobs: Vec<Job>, mut met: Met, hub: &Hub) -> Met {
        while !jobs.is_empty() {
            let (patience, _turn) = self.turns.next(met == Met::Lock).await;
            let (origin, when_locked) = match patience {
                Patience::Full => (&self.full, WhenLocked::WaitOnceMore),
                Patience::Brief => (&self.brief, WhenLocked::MoveAside),
            };
            let outcome = batch::commit_all(&mut Custody::none(), origin, hub, jobs, when_locked).await;
            outcome.untold.answer_and_publish(hub);
            met = match patience {
                // Nobody waits for these any more, so nothing was tried.
                _ if !outcome.was_tried => met,
                _ if outcome.was_blocked => Met::Lock,
                Patience::Full => Met::Perhaps,
                Patience::Brief => Met::Nothing,
            };
            jobs = outcome.aside;
        }
        met
    }
}

/// The queue of one merchant.
struct Aside {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether its task has ended, so that the lane takes back what waits.
    is_over: bool,
    /// Whether the store closes, so that its task goes on until nothing waits.
    is_closing: bool,
}

impl Queue {
    fn first(&mut self, most: usize) -> Drain<'_, Job> {
        self.jobs.drain(..self.jobs.len().min(most))
    }
}

impl Aside {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }

    /// Adds a job to the queue, if there is room.
    fn push(&self, job: Job) {
        let mut queue = self.queue();
        if queue.jobs.len() >= QUEUE {
            let _gone = job.reply.send(Err(StoreError::Overloaded.into()));
        } else {
            queue.jobs.push_back(job);
            self.arrived.notify_one();
        }
    }

    /// Takes waiting jobs for its task; `None` if that `may_end` and therefore does.
    fn take(&self, may_end: bool) -> Option<Vec<Job>> {
        let mut queue = self.queue();
        queue.is_over = if queue.is_closing { queue.jobs.is_empty() } else { may_end };
        (!queue.is_over).then(|| queue.first(BATCH).collect())
    }

    /// Takes jobs back for the lane once the task has ended, until there are as many as a batch has. Answers whether
    /// more may follow.
    fn take_back(&self, jobs: &mut Vec<Job>) -> bool {
        let mut queue = self.queue();
        if queue.is_over {
            jobs.extend(queue.first(BATCH - jobs.len()));
        }
        !queue.is_over || !queue.jobs.is_empty()
    }

    /// Lets the task finish all jobs. Answers whether it had ended and is to be started again.
    fn close(&self) -> bool {
        let mut queue = self.queue();
        queue.is_closing = true;
        self.arrived.notify_one();
        std::mem::take(&mut queue.is_over)
    }
}

/// The merchants of one lane that wait aside.
pub(crate) struct Asides {
    /// Their connections; `None` for an embedded database, which has only one lock.
    connections: Option<(Connections, Handle)>,
    merchants: HashMap<MerchantId, Arc<Aside>>,
    running: JoinSet<()>,
    /// Notified if there is something to take back.
    ended: Arc<Notify>,
    hub: Arc<Hub>,
}

impl Asides {
    /// An empty set. Without `connections` (SQLite) no merchant is ever moved here.
    pub(crate) fn new(connections: Option<(Connections, Handle)>, hub: Arc<Hub>) -> Self {
        let (merchants, running, ended) = (HashMap::new(), JoinSet::new(), Arc::default());
        Self { connections, merchants, running, ended, hub }
    }

    /// Whether merchants can wait aside at all.
    pub(crate) const fn are_possible(&self) -> bool {
        self.connections.is_some()
    }

    /// Takes a job whose merchant waits aside, and returns any other job.
    pub(crate) fn take(&self, job: Job) -> Option<Job> {
        match self.merchants.get(&job.changes.tenant.merchant()) {
            Some(aside) => {
                aside.push(job);
                None
            }
            None => Some(job),
        }
    }

    /// Waits until there is something to take back.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// The next batch of merchants that return to the lane, with the jobs of each in their order.
    pub(crate) fn take_back(&mut self) -> Vec<Job> {
        let mut jobs = Vec::new();
        self.merchants.retain(|_, aside| aside.take_back(&mut jobs));
        if !jobs.is_empty() {
            self.ended.notify_one();
        }
        jobs
    }

    /// Moves the merchants of these jobs aside.
    pub(crate) fn open(&mut self, jobs: Vec<Job>) {
        while self.running.try_join_next().is_some() {}
        let mut of_merchants = HashMap::<MerchantId, VecDeque<Job>>::new();
        for job in jobs {
            of_merchants.entry(job.changes.tenant.merchant()).or_default().push_back(job);
        }
        for (merchant, mut jobs) in of_merchants {
            tracing::warn!(merchant = merchant.0, "a merchant's rows are locked; its changes wait aside");
            if let Some(ended) = self.merchants.remove(&merchant) {
                // These had not been taken back yet.
                jobs.append(&mut ended.queue().jobs);
            }
            let queue = Queue { jobs, ..Queue::default() };
            let aside = Arc::new(Aside { queue: Mutex::new(queue), arrived: Notify::new() });
            self.start(Arc::clone(&aside));
            self.merchants.insert(merchant, aside);
        }
    }

    fn start(&mut self, aside: Arc<Aside>) {
        let Some((connections, runtime)) = self.connections.clone() else { return };
        let (hub, ended) = (Arc::clone(&self.hub), Arc::clone(&self.ended));
        let counted = Counted::new();
        let serving = async move {
            let _counted = counted;
            serve(&aside, &connections, &hub).await;
            ended.notify_one();
        };
        self.running.spawn_on(serving, &runtime);
    }

    /// Finishes the waiting jobs.
    pub(crate) async fn close(mut self) {
        for aside in std::mem::take(&mut self.merchants).into_values() {
            if aside.close() {
                self.start(aside);
            }
        }
        while self.running.join_next().await.is_some() {}
    }
}

/// A merchant in the count of those that wait aside, in any lane.
struct Counted;

impl Counted {
    fn new() -> Self {
        metrics::gauge!(COMMIT_ASIDES).increment(1.0);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!(COMMIT_ASIDES).decrement(1.0);
    }
}

/// Serves the queue of a merchant until the lane may take it back.
async fn serve(aside: &Aside, connections: &Connections, hub: &Hub) {
    let (mut met, mut may_end) = (Met::Lock, false);
    while let Some(jobs) = aside.take(may_end) {
        if jobs.is_empty() {
            may_end = timeout(LINGER, aside.arrived.notified()).await.is_err();
            continue;
        }
        let committing = AssertUnwindSafe(connections.commit(jobs, met, hub)).catch_unwind().await;
        let ended = committing
            .inspect_err(|_| tracing::error!("committing the changes of a locked merchant panicked"));
        met = ended.unwrap_or(Met::Lock);
        may_end = met == Met::Nothing;
    }
}
