//! How long one call has waited for the store, summed over all its steps.

use std::{
    cell::RefCell,
    future::poll_fn,
    mem::swap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use quipu_kernel::locked;

thread_local! {
    /// The waits of the call for which this thread works at this moment.
    static CURRENT: RefCell<Option<Arc<CallWaits>>> = const { RefCell::new(None) };
}

/// The time that one call has waited for the store. A store limits the sum over all steps of a call
/// (`deadlines.call` in `docs/OPERATIONS.md`). Steps that run at the same time count once, and waiting for
/// anything else (a provider, the caller's body) does not count.
///
/// ```
/// use std::{sync::Arc, time::{Duration, Instant}};
/// use quipu_commit::CallWaits;
///
/// let (waits, noon) = (CallWaits::default(), Instant::now());
/// let later = |seconds| noon + Duration::from_secs(seconds);
/// waits.begin(noon);
/// waits.begin(later(1));
/// waits.end(later(2));
/// waits.end(later(3));
/// waits.begin(later(10));
/// assert_eq!(waits.until(later(12)), Duration::from_secs(3 + 2));
/// ```
#[derive(Debug, Default)]
pub struct CallWaits(Mutex<Waits>);

#[derive(Debug, Default)]
struct Waits {
    /// The waits that have ended.
    over: Duration,
    /// How many steps are waiting.
    running: u32,
    /// Since when at least one step waits.
    since: Option<Instant>,
}

impl CallWaits {
    /// The waits of the call for which this code is polled, if it is polled for one.
    #[must_use]
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` on behalf of this call. A task that `work` starts does not count for the call, unless it
    /// is wrapped too.
    pub async fn around<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(move |context| {
            let _entered = Entered::by(&self);
            work.as_mut().poll(context)
        })
        .await
    }

    /// Notes that a step begins to wait.
    pub fn begin(&self, now: Instant) {
        let mut waits = self.waits();
        waits.running += 1;
        waits.since.get_or_insert(now);
    }

    /// Notes that a step has ended its wait.
    pub fn end(&self, now: Instant) {
        let mut waits = self.waits();
        waits.running = waits.running.saturating_sub(1);
        if waits.running == 0 {
            let since = waits.since.take().unwrap_or(now);
            waits.over += now.duration_since(since);
        }
    }

    /// How long the call has waited until `now`.
    #[must_use]
    pub fn until(&self, now: Instant) -> Duration {
        let waits = self.waits();
        waits.over + waits.since.map_or(Duration::ZERO, |since| now.duration_since(since))
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        locked(&self.0)
    }
}

/// Makes this thread work for a call until it is dropped.
struct Entered(Option<Arc<CallWaits>>);

impl Entered {
    fn by(call: &Arc<CallWaits>) -> Self {
        Self(CURRENT.replace(Some(Arc::clone(call))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| swap(current, &mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn only_what_is_polled_within_a_call_belongs_to_it() {
        let outer = Arc::new(CallWaits::default());
        let inner = Arc::new(CallWaits::default());
        let is_current =
            |waits: &Arc<CallWaits>| CallWaits::current().is_some_and(|now| Arc::ptr_eq(&now, waits));
        let mut first = true;
        let nested = poll_fn(|_| {
            assert!(is_current(&inner));
            if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
        });
        let work = async {
            assert!(is_current(&outer));
            Arc::clone(&inner).around(nested).await;
            assert!(is_current(&outer));
        };
        let mut call = pin!(Arc::clone(&outer).around(work));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert!(CallWaits::current().is_none());
        assert!(call.as_mut().poll(&mut context).is_ready());
        assert!(CallWaits::current().is_none());
    }
}
