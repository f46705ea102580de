//! A lane: one queue, one connection, and whoever takes from the one and writes through the other.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};

use super::{
    aside::Asides,
    batch,
    job::Job,
    small_writes::{self, SmallWrite},
};
use crate::{
    custody::{Custody, Origin},
    hub::Hub,
};

/// How many changes are committed together at most.
const BATCH: usize = 512;

/// What a lane is asked to do.
pub(crate) enum Work {
    /// A change, to be committed together with others that wait.
    Change(Box<Job>),
    /// Anything else, to be written together with others of its kind, behind the changes that wait.
    SmallWrite(SmallWrite),
    /// To stop, once everything before has been done.
    Close(oneshot::Sender<()>),
}

/// Serves a queue until it is told to stop or everybody who could ask has gone. There is no timer: a single change
/// is committed at once, and a batch grows only while the one before it is on its way to the disk. `after_turn` is
/// called behind every turn.
pub(crate) async fn serve(
    mut queue: mpsc::Receiver<Work>,
    origin: Origin,
    hub: Arc<Hub>,
    mut asides: Asides,
    mut after_turn: impl FnMut() + Send,
) {
    let mut custody = Custody::none();
    let mut waiting = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut waiting, BATCH).await > 0 {
        #[expect(clippy::cast_precision_loss, reason = "the queue is bounded")]
        metrics::gauge!("quipu_commit_waiting").set(queue.len() as f64);
        let (mut jobs, mut writes, mut closing) = (Vec::with_capacity(waiting.len()), Vec::new(), None);
        for work in waiting.drain(..) {
            match work {
                Work::Change(job) => jobs.extend(asides.take(*job)),
                Work::SmallWrite(write) => writes.push(write),
                Work::Close(done) => {
                    closing = Some(done);
                    break;
                }
            }
        }
        commit(&mut custody, &origin, jobs, &mut asides, &hub).await;
        if !writes.is_empty() {
            guarded(small_writes::settle(&mut custody, &origin, writes)).await;
        }
        if let Some(done) = closing {
            drop(custody);
            asides.close().await;
            let _gone = done.send(());
            return;
        }
        after_turn();
    }
}

async fn commit(custody: &mut Custody, origin: &Origin, jobs: Vec<Job>, asides: &mut Asides, hub: &Hub) {
    if jobs.is_empty() {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^52")]
    metrics::histogram!("quipu_commit_batch_changes").record(jobs.len() as f64);
    let begun = Instant::now();
    let others_wait = asides.are_possible();
    let settled = guarded(batch::settle(custody, origin, hub, jobs, others_wait)).await.unwrap_or_default();
    metrics::histogram!("quipu_commit_seconds").record(begun.elapsed().as_secs_f64());
    hub.tell(settled.news);
    if !settled.aside.is_empty() {
        asides.open(settled.aside);
    }
}

/// A panic in one piece of work must not stop the lane. Those who waited for it see their channel close.
async fn guarded<T>(work: impl Future<Output = T>) -> Option<T> {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.inspect_err(|_| tracing::error!("work in a lane panicked")).ok()
}
