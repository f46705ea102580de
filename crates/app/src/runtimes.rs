//! The runtimes of a serving process, and how they end.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Handle, Runtime};

/// How long what is left of both runtimes may take to end, such as closing the database.
pub(crate) const END: Duration = Duration::from_millis(800);

/// How many threads can run at the same time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A runtime for the parts of the process, and one for the store.
pub(crate) struct Runtimes {
    parts: Runtime,
    store: Runtime,
}

impl Runtimes {
    /// Starts both. The store has threads of its own, since otherwise a thousand payments of a worker would be
    /// scheduled before the few tasks that commit them. There are few threads, because a message to a sleeping
    /// one wakes another as well.
    pub(crate) fn start() -> io::Result<Self> {
        let threads = (cores() / 2).max(1);
        let store = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("quipu-store")
            .enable_all()
            .build()?;
        Ok(Self { parts: Builder::new_multi_thread().enable_all().build()?, store })
    }

    /// The runtime of the store.
    pub(crate) fn of_store(&self) -> Handle {
        self.store.handle().clone()
    }

    /// Makes what belongs to the runtime of the parts.
    pub(crate) fn make<T>(&self, make: impl FnOnce() -> T) -> T {
        let _entered = self.parts.enter();
        make()
    }

    /// Runs `process` to its end. It must await everything that has to be finished. A call that still blocks a
    /// thread then is left behind: a look-up of a name may take the system a minute, and nobody needs its answer.
    pub(crate) fn run<T>(self, process: impl Future<Output = T>) -> T {
        let outcome = self.parts.block_on(process);
        self.parts.shutdown_timeout(END / 2);
        self.store.shutdown_timeout(END / 2);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    };

    use super::*;

    #[test]
    fn a_process_that_has_ended_waits_for_no_blocked_thread() {
        let runtimes = Runtimes::start().expect("runtimes");
        let store = runtimes.of_store();
        let has_waited = Arc::new(AtomicBool::new(false));
        let (_ends, calls): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel::<()>()).unzip();
        let waited = Arc::clone(&has_waited);
        let outcome = runtimes.run(async move {
            for (place, call) in [Handle::current(), store].into_iter().zip(calls) {
                let (begun, has_begun) = tokio::sync::oneshot::channel();
                let waited = Arc::clone(&waited);
                place.spawn_blocking(move || {
                    begun.send(()).expect("awaited");
                    let outcome = call.recv_timeout(Duration::from_secs(20));
                    waited.fetch_or(outcome == Err(mpsc::RecvTimeoutError::Timeout), Ordering::Relaxed);
                });
                has_begun.await.expect("begun");
            }
            7
        });
        assert_eq!(outcome, 7);
        assert!(!has_waited.load(Ordering::Relaxed), "the runtimes waited until the calls gave up");
    }
}
