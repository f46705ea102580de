//! The state of a piece of work, shared by the caller who waits for it and the worker who does it.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use quipu_kernel::StoreError;

use crate::{error::Fault, settings::Times};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// Either a worker begins the work or its caller withdraws it, and never both.
#[derive(Debug)]
pub(crate) struct JobState {
    state: AtomicU8,
    /// The time from which on the work must not begin.
    pub(crate) deadline: Instant,
}

impl JobState {
    /// Waiting work that must begin before `deadline`.
    pub(crate) const fn until(deadline: Instant) -> Self {
        Self { state: AtomicU8::new(WAITING), deadline }
    }

    fn moved(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Begins the work; `false` if it must not begin any more.
    pub(crate) fn begin(&self) -> bool {
        Instant::now() < self.deadline && self.moved(WAITING, BEGUN)
    }

    /// Notes that a try had no result and the work waits for the next try.
    pub(crate) fn wait_again(&self) {
        self.moved(BEGUN, WAITING);
    }

    /// Withdraws the work; `true` if nobody will begin it.
    fn withdraw(&self) -> bool {
        self.moved(WAITING, WITHDRAWN)
    }

    /// Waits for the result of the work. Work that has not begun by its deadline is withdrawn, and nothing of
    /// it happens. The outcome of work that has begun and does not end soon after its deadline is unknown.
    pub(crate) async fn outcome<T, E>(
        &self,
        mut reply: oneshot::Receiver<Result<T, E>>,
        times: Times,
    ) -> Result<T, E>
    where
        StoreError: Into<E>,
    {
        let told = |fault: Fault| Err(StoreError::from(fault).into());
        match timeout_at(self.deadline, &mut reply).await {
            Ok(Ok(outcome)) => return outcome,
            Ok(Err(_)) => return told(self.abandoned()),
            Err(_) if self.withdraw() => return told(Fault::TooLate),
            Err(_) => {}
        }
        match timeout_at(self.deadline + times.grace, reply).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => told(self.abandoned()),
            // It met a lock meanwhile, and waited once more.
            Err(_) if self.withdraw() => told(Fault::TooLate),
            Err(_) => told(Fault::OutcomeUnknown("the database does not answer".to_owned())),
        }
    }

    /// The fault to report when the worker has gone.
    fn abandoned(&self) -> Fault {
        if self.withdraw() {
            Fault::Abandoned
        } else {
            Fault::OutcomeUnknown("the worker has gone".to_owned())
        }
    }
}
