//! A lane: a queue, a connection, and the task that commits the waiting changes.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use quipu_kernel::StoreError;
use tokio::{
    runtime::Handle,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::JoinHandle,
};

use super::{
    BATCH, QUEUE,
    aside::Asides,
    batch::{self, Untold},
    job::Job,
    next_step::WhenLocked,
    small_writes::{self, SmallWrite},
};
use crate::{
    hub::Hub,
    metric_names::{COMMIT_BATCH_CHANGES, COMMIT_SECONDS},
    transaction::custody::{Custody, Origin},
};

/// From this number of callers on, a batch is answered beside the next batch, which would otherwise wait for
/// the answers. Answering fewer is faster than waking another task.
const MANY: usize = 64;

/// The expected wait from which on newcomers should be refused.
const MAX_EXPECTED_WAIT: Duration = Duration::from_millis(50);

/// A write of a lane to a server, which is given the lane's connection and ends its transaction by itself.
pub(crate) type LoneWrite = Box<dyn for<'c> FnOnce(&'c mut Custody, &'c Origin) -> BoxFuture<'c, ()> + Send>;

/// A piece of work for a lane.
pub(crate) enum Work {
    /// A change, to be committed together with others that wait.
    Change(Box<Job>),
    /// Another write, done together with others of its kind after the waiting changes.
    SmallWrite(SmallWrite),
    /// Another write, in a transaction of its own after all these.
    Alone(LoneWrite),
    /// Stop after all work that came before.
    Close(oneshot::Sender<()>),
}

/// The sending end of a lane's queue.
pub(crate) struct Lane {
    queue: mpsc::Sender<Work>,
    last_turn: Arc<AtomicU64>,
}

/// The receiving end of a lane's queue.
pub(crate) struct Waiting {
    queue: mpsc::Receiver<Work>,
    /// The duration of the last turn, in microseconds.
    last_turn: Arc<AtomicU64>,
}

impl Lane {
    /// Both ends of a new lane.
    pub(crate) fn new() -> (Self, Waiting) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let last_turn = Arc::<AtomicU64>::default();
        (Self { queue: sender, last_turn: Arc::clone(&last_turn) }, Waiting { queue, last_turn })
    }

    /// Adds work to the queue, if there is room.
    pub(crate) fn put(&self, work: Work) -> Result<(), StoreError> {
        self.queue.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Overloaded,
            TrySendError::Closed(_) => StoreError::Unavailable("the store is closed".to_owned()),
        })
    }

    /// How much work waits for a turn.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Whether newly added work would wait for too long. The expected wait is the number of turns in the
    /// queue times the duration of the last one. Work that goes with the next turn is never too much.
    pub(crate) fn is_pressed(&self) -> bool {
        let turns = self.waiting() / BATCH;
        let turn = Duration::from_micros(self.last_turn.load(Ordering::Relaxed));
        turn.saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX)) > MAX_EXPECTED_WAIT
    }

    /// Finishes the waiting work. No work is taken afterwards.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // An error means that the lane has stopped already, which is what is wanted.
        if self.queue.send(Work::Close(done)).await.is_ok() {
            let _stopped = closed.await;
        }
    }
}

/// Serves a queue until it is told to stop or every sender is gone. There is no timer: a single change is
/// committed at once, and a batch grows only while the one before it is being written to disk. `after_turn`
/// is called after every turn.
pub(crate) async fn serve(
    Waiting { mut queue, last_turn }: Waiting,
    origin: Origin,
    mut answering: Answering,
    mut asides: Asides,
    mut after_turn: impl FnMut() + Send,
) {
    let mut custody = Custody::none();
    let mut waiting = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            // What ended is taken back in every turn.
            biased;
            count = queue.recv_many(&mut waiting, BATCH) => if count == 0 { return },
            () = asides.ended() => {}
        }
        let (begun, is_from_queue) = (Instant::now(), !waiting.is_empty());
        // What waited aside came before what waits in the queue.
        let back = asides.take_back();
        commit(&mut custody, &origin, back, &mut asides, &mut answering).await;
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
        commit(&mut custody, &origin, jobs, &mut asides, &mut answering).await;
        if !writes.is_empty() {
            guarded(small_writes::commit_all(&mut custody, &origin, writes)).await;
        }
        for write in alone {
            guarded(write(&mut custody, &origin)).await;
        }
        if is_from_queue {
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            last_turn.store(micros, Ordering::Relaxed);
        }
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

/// The batch whose callers are being answered beside the next one. News is published in the order of commits.
pub(crate) struct Answering {
    under_way: Option<JoinHandle<()>>,
    hub: Arc<Hub>,
    /// Where large batches are answered.
    runtime: Handle,
}

impl Answering {
    /// The answers of a lane that tells `hub` of its commits.
    pub(crate) fn new(hub: &Arc<Hub>, runtime: &Handle) -> Self {
        Self { under_way: None, hub: Arc::clone(hub), runtime: runtime.clone() }
    }

    /// Waits until all callers are answered.
    async fn finished(&mut self) {
        if let Some(task) = self.under_way.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "answering in a lane panicked");
        }
    }

    /// Answers the remaining callers of a batch, and publishes its news.
    async fn answer(&mut self, untold: Untold) {
        self.finished().await;
        if untold.callers() >= MANY {
            let hub = Arc::clone(&self.hub);
            let telling = async move { untold.answer_and_publish(&hub) };
            self.under_way = Some(self.runtime.spawn(telling));
        } else {
            guarded(async { untold.answer_and_publish(&self.hub) }).await;
        }
    }
}

async fn commit(
    custody: &mut Custody,
    origin: &Origin,
    jobs: Vec<Job>,
    asides: &mut Asides,
    answering: &mut Answering,
) {
    if jobs.is_empty() {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^52")]
    metrics::histogram!(COMMIT_BATCH_CHANGES).record(jobs.len() as f64);
    let begun = Instant::now();
    let when_locked = if asides.are_possible() { WhenLocked::MoveAside } else { WhenLocked::WaitOnceMore };
    let outcome = guarded(batch::commit_all(custody, origin, &answering.hub, jobs, when_locked))
        .await
        .unwrap_or_default();
    metrics::histogram!(COMMIT_SECONDS).record(begun.elapsed().as_secs_f64());
    answering.answer(outcome.untold).await;
    if !outcome.aside.is_empty() {
        asides.open(outcome.aside);
    }
}

/// Runs `work` so that a panic in it does not stop the lane. Its callers see their channel close.
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
        assert!(matches!(lane.put(nothing()), Err(StoreError::Overloaded)));
        drop(waiting);
        assert!(matches!(lane.put(nothing()), Err(StoreError::Unavailable(_))));
    }
}
