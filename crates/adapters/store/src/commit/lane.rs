//! A lane: one queue, one connection, and the task that writes what waits in the queue.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use quipu_commit::News;
use quipu_merchants::StoreUnavailable;
use tokio::{
    runtime::Handle,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::JoinHandle,
};

use super::{
    aside::Asides,
    batch::{self, Answers, Settled},
    job::Job,
    small_writes::{self, SmallWrite},
};
use crate::{
    custody::{Custody, Origin},
    hub::Hub,
};

/// How many changes are committed together at most.
const BATCH: usize = 512;

/// How much may wait in the queue of a lane.
const QUEUE: usize = 4096;

/// From how many on they are answered beside the next batch, which is otherwise kept waiting by what their answers cost. A few
/// are answered sooner than somebody else is woken.
const MANY: usize = 64;

/// How long a change may have to wait for its turn before newcomers should be refused.
const PATIENCE: Duration = Duration::from_millis(50);

/// A write of a lane to a server, which is given the lane's connection and ends its transaction by itself.
pub(crate) type LoneWrite = Box<dyn for<'c> FnOnce(&'c mut Custody, &'c Origin) -> BoxFuture<'c, ()> + Send>;

/// What a lane is asked to do.
pub(crate) enum Work {
    /// A change, to be committed together with others that wait.
    Change(Box<Job>),
    /// Anything else, to be written together with others of its kind, behind the changes that wait.
    SmallWrite(SmallWrite),
    /// Anything else, in a transaction of its own, behind all these.
    Alone(LoneWrite),
    /// To stop, once everything before has been done.
    Close(oneshot::Sender<()>),
}

/// The end of a lane to which changes come.
pub(crate) struct Lane {
    queue: mpsc::Sender<Work>,
    last_turn: Arc<AtomicU64>,
}

/// The end from which they are taken.
pub(crate) struct Waiting {
    queue: mpsc::Receiver<Work>,
    /// How long the last turn took, in microseconds.
    last_turn: Arc<AtomicU64>,
}

impl Lane {
    /// Both ends of a new lane.
    pub(crate) fn new() -> (Self, Waiting) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let last_turn = Arc::<AtomicU64>::default();
        (Self { queue: sender, last_turn: Arc::clone(&last_turn) }, Waiting { queue, last_turn })
    }

    /// Puts work at the end of the queue, if there is room.
    pub(crate) fn put(&self, work: Work) -> Result<(), StoreUnavailable> {
        self.queue.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => StoreUnavailable::Overloaded,
            TrySendError::Closed(_) => StoreUnavailable::Unavailable("the store is closed".to_owned()),
        })
    }

    /// Whether what comes now would wait for long: for as many turns as the queue fills, each as long as the last one. What
    /// goes with the next turn is never too much.
    pub(crate) fn is_pressed(&self) -> bool {
        let turns = (self.queue.max_capacity() - self.queue.capacity()) / BATCH;
        let turn = Duration::from_micros(self.last_turn.load(Ordering::Relaxed));
        turn.saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX)) > PATIENCE
    }

    /// Finishes what waits. Nothing more is taken afterwards.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // An error means that the lane has stopped already, which is what is wanted.
        if self.queue.send(Work::Close(done)).await.is_ok() {
            let _stopped = closed.await;
        }
    }
}

/// Serves a queue until it is told to stop or everybody who could ask has gone. There is no timer: a single change
/// is committed at once, and a batch grows only while the one before it is on its way to the disk. `after_turn` is
/// called behind every turn. Large batches are answered on `runtime`.
pub(crate) async fn serve(
    Waiting { mut queue, last_turn }: Waiting,
    origin: Origin,
    (hub, runtime): (Arc<Hub>, Handle),
    mut asides: Asides,
    mut after_turn: impl FnMut() + Send,
) {
    let mut custody = Custody::none();
    let mut answering = Answering { under_way: None, runtime };
    let mut waiting = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut waiting, BATCH).await > 0 {
        #[expect(clippy::cast_precision_loss, reason = "the queue is bounded")]
        metrics::gauge!("quipu_commit_waiting").set(queue.len() as f64);
        let mut jobs = Vec::with_capacity(waiting.len());
        let (mut writes, mut alone, mut closing) = (Vec::new(), Vec::new(), None);
        for work in waiting.drain(..) {
            match work {
                Work::Change(job) => jobs.extend(asides.take(*job)),
                Work::SmallWrite(write) => writes.push(write),
                Work::Alone(write) => alone.push(write),
                Work::Close(done) => {
                    closing = Some(done);
                    break;
                }
            }
        }
        let begun = Instant::now();
        commit(&mut custody, &origin, jobs, &mut asides, &mut answering, &hub).await;
        if !writes.is_empty() {
            guarded(small_writes::settle(&mut custody, &origin, writes)).await;
        }
        for write in alone {
            guarded(write(&mut custody, &origin)).await;
        }
        last_turn.store(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(done) = closing {
            drop(custody);
            answering.finished().await;
            asides.close().await;
            let _gone = done.send(());
            return;
        }
        after_turn();
    }
}

/// Who is being answered beside the next batch. Batches are told in the order of their commits.
struct Answering {
    under_way: Option<JoinHandle<()>>,
    runtime: Handle,
}

impl Answering {
    /// Waits until everybody is answered.
    async fn finished(&mut self) {
        if let Some(task) = self.under_way.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "answering in a lane panicked");
        }
    }

    /// Answers who is left of a batch, and tells what it committed.
    async fn tell(&mut self, news: News, unanswered: Option<Answers>, hub: &Arc<Hub>) {
        self.finished().await;
        if unanswered.as_ref().is_some_and(|answers| answers.len() >= MANY) {
            let hub = Arc::clone(hub);
            let telling = async move { Settled::tell(news, unanswered, &hub) };
            self.under_way = Some(self.runtime.spawn(telling));
        } else {
            guarded(async { Settled::tell(news, unanswered, hub) }).await;
        }
    }
}

async fn commit(
    custody: &mut Custody,
    origin: &Origin,
    jobs: Vec<Job>,
    asides: &mut Asides,
    answering: &mut Answering,
    hub: &Arc<Hub>,
) {
    if jobs.is_empty() {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^52")]
    metrics::histogram!("quipu_commit_batch_changes").record(jobs.len() as f64);
    let begun = Instant::now();
    let others_wait = asides.are_possible();
    let settled = guarded(batch::settle(custody, origin, hub, jobs, others_wait)).await.unwrap_or_default();
    metrics::histogram!("quipu_commit_seconds").record(begun.elapsed().as_secs_f64());
    answering.tell(settled.news, settled.unanswered, hub).await;
    if !settled.aside.is_empty() {
        asides.open(settled.aside);
    }
}

/// A panic in one piece of work must not stop the lane. Those who waited for it see their channel close.
async fn guarded<T>(work: impl Future<Output = T>) -> Option<T> {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.inspect_err(|_| tracing::error!("work in a lane panicked")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Work {
        Work::SmallWrite(Box::new(|_| Box::pin(async { small_writes::Tried::Undone })))
    }

    #[test]
    fn a_lane_is_pressed_if_its_queue_takes_too_many_turns() {
        let (lane, waiting) = Lane::new();
        let turn_of = |millis: u64| waiting.last_turn.store(millis * 1_000, Ordering::Relaxed);
        turn_of(10_000);
        for _ in 1..BATCH {
            lane.put(nothing()).expect("room");
            assert!(!lane.is_pressed(), "what goes with the next turn is never too much");
        }
        lane.put(nothing()).expect("room");
        assert!(lane.is_pressed());
        turn_of(50);
        assert!(!lane.is_pressed());
        for _ in 0..BATCH {
            lane.put(nothing()).expect("room");
        }
        assert!(lane.is_pressed());
        turn_of(25);
        assert!(!lane.is_pressed());
    }

    #[test]
    fn a_full_lane_refuses_and_a_closed_one_says_so() {
        let (lane, waiting) = Lane::new();
        for _ in 0..QUEUE {
            lane.put(nothing()).expect("room");
        }
        assert!(matches!(lane.put(nothing()), Err(StoreUnavailable::Overloaded)));
        drop(waiting);
        assert!(matches!(lane.put(nothing()), Err(StoreUnavailable::Unavailable(_))));
    }
}
