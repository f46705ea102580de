//! Wakes the worker of a queue, but only for work that is due before the worker would look by itself.

use std::sync::atomic::{AtomicI64, Ordering};

use quipu_commit::Queue;
use quipu_kernel::Timestamp;
use tokio::sync::Notify;

/// The wake-up of one queue's worker.
pub(crate) struct Wakeup {
    pub(crate) queue: Queue,
    woken: Notify,
    /// In milliseconds. Work that is due later does not wake the worker. While the worker does not wait, any
    /// new work wakes it, so that the worker learns of work that came while it was looking.
    before: AtomicI64,
}

impl Wakeup {
    pub(crate) fn of(queue: Queue) -> Self {
        Self { queue, woken: Notify::new(), before: AtomicI64::new(i64::MAX) }
    }

    /// Tells that there is new work, due at `due`.
    pub(crate) fn wake(&self, due: Timestamp) {
        if due.millis() < self.before.load(Ordering::SeqCst) {
            self.woken.notify_one();
        }
    }

    /// Waits for work that is due before `before`.
    pub(crate) async fn woken(&self, before: Timestamp) {
        let _waiting = Waiting::at(&self.before, before);
        self.woken.notified().await;
    }
}

/// A worker that waits; dropping it ends the wait.
struct Waiting<'a>(&'a AtomicI64);

impl<'a> Waiting<'a> {
    fn at(wakeup: &'a AtomicI64, before: Timestamp) -> Self {
        wakeup.store(before.millis(), Ordering::SeqCst);
        Self(wakeup)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(i64::MAX, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn what_is_due_later_wakes_nobody_who_waits() {
        let wakeup = Wakeup::of(Queue::SETTLEMENT);
        let mut waiting = Box::pin(wakeup.woken(at(10)));
        assert!((&mut waiting).now_or_never().is_none());
        wakeup.wake(at(10));
        assert!((&mut waiting).now_or_never().is_none());
        wakeup.wake(at(9));
        assert!((&mut waiting).now_or_never().is_some());
    }

    #[test]
    fn what_comes_while_nobody_waits_is_heard_whenever_it_is_due() {
        let wakeup = Wakeup::of(Queue::SETTLEMENT);
        assert!(wakeup.woken(at(10)).now_or_never().is_none());
        wakeup.wake(at(1_000));
        assert!(wakeup.woken(at(10)).now_or_never().is_some());
        assert!(wakeup.woken(at(10)).now_or_never().is_none());
    }
}
