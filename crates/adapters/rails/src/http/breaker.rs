//! A circuit breaker: a provider that fails repeatedly gets no calls for a while, so that callers do not wait
//! for it.

use std::{sync::Mutex, time::Duration};

use quipu_kernel::{Timestamp, locked};
use quipu_payments::CIRCUIT_OPEN_FOR;

/// Failures in a row that open the circuit.
const FAILURES: u32 = 5;
/// How long a probe is reserved for the caller to whom it was promised.
const PROMISED_FOR: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
enum Circuit {
    /// Calls go through; this many have failed in a row.
    Closed(u32),
    /// No call goes through before this time. The first after it is a probe, whose outcome decides.
    Open(Timestamp),
    /// The probe is promised to a caller who is about to call, until this time. No other call goes through.
    Promised(Timestamp),
}

/// The promise to a caller who is about to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// The circuit is closed.
    AsUsual,
    /// The call is the probe.
    Probe,
}

/// The new state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// The provider gets no calls.
    Open,
    /// The provider gets calls as usual.
    Closed,
}

/// The circuit of one rail.
#[derive(Debug)]
pub(super) struct Breaker(Mutex<Circuit>);

impl Default for Breaker {
    fn default() -> Self {
        Self(Mutex::new(Circuit::Closed(0)))
    }
}

/// Whether the time `until` is still to come. It is never further away than an open circuit lasts, unless the clock was
/// set back meanwhile, and then it is over.
fn is_ahead(until: Timestamp, now: Timestamp) -> bool {
    now < until && until <= now.plus(CIRCUIT_OPEN_FOR)
}

impl Breaker {
    /// Whether a call that began now would be refused. Asking changes nothing.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        matches!(*self.lock(), Circuit::Open(until) | Circuit::Promised(until) if is_ahead(until, now))
    }

    /// Promises to let a later call through; `None` if the circuit is open. A probe is promised to one caller
    /// only.
    pub(super) fn promise(&self, now: Timestamp) -> Option<Passage> {
        let mut circuit = self.lock();
        match *circuit {
            Circuit::Closed(_) => Some(Passage::AsUsual),
            Circuit::Open(until) | Circuit::Promised(until) if is_ahead(until, now) => None,
            Circuit::Open(_) | Circuit::Promised(_) => {
                *circuit = Circuit::Promised(now.plus(PROMISED_FOR));
                Some(Passage::Probe)
            }
        }
    }

    /// Lets a promised call through, whatever the circuit's state is now: the payment behind it is already
    /// committed.
    pub(super) fn redeem(&self, passage: Passage, now: Timestamp) {
        self.end_promise(passage, now.plus(CIRCUIT_OPEN_FOR));
    }

    /// Withdraws the promise of a call that will not be made; any other call may then be the probe.
    pub(super) fn give_back(&self, passage: Passage, now: Timestamp) {
        self.end_promise(passage, now);
    }

    fn end_promise(&self, passage: Passage, open_until: Timestamp) {
        let mut circuit = self.lock();
        if passage == Passage::Probe && matches!(*circuit, Circuit::Promised(_)) {
            *circuit = Circuit::Open(open_until);
        }
    }

    /// Whether a call without a promise may go through. After the circuit has been open long enough, one call
    /// goes through as a probe, unless the probe is promised to another, and all others wait for its outcome.
    pub(super) fn admit(&self, now: Timestamp) -> bool {
        let mut circuit = self.lock();
        match *circuit {
            Circuit::Closed(_) => true,
            Circuit::Open(until) | Circuit::Promised(until) if is_ahead(until, now) => false,
            Circuit::Open(_) | Circuit::Promised(_) => {
                *circuit = Circuit::Open(now.plus(CIRCUIT_OPEN_FOR));
                true
            }
        }
    }

    /// Notes that a call was abandoned before its end. This says nothing about the provider, but a probe then
    /// has no outcome, and the next probe has to wait.
    pub(super) fn abandon(&self, now: Timestamp) {
        let mut circuit = self.lock();
        if matches!(*circuit, Circuit::Open(_)) {
            *circuit = Circuit::Open(now.plus(CIRCUIT_OPEN_FOR));
        }
    }

    /// Notes the end of a call: whether the provider gave an answer that could be understood. Returns the
    /// circuit's new state if it has changed.
    pub(super) fn note(&self, answered: bool, now: Timestamp) -> Option<Turned> {
        let mut circuit = self.lock();
        let (next, turned) = match *circuit {
            Circuit::Closed(_) if answered => (Circuit::Closed(0), None),
            Circuit::Open(_) | Circuit::Promised(_) if answered => (Circuit::Closed(0), Some(Turned::Closed)),
            Circuit::Closed(failures) if failures + 1 < FAILURES => (Circuit::Closed(failures + 1), None),
            Circuit::Closed(_) => (Circuit::Open(now.plus(CIRCUIT_OPEN_FOR)), Some(Turned::Open)),
            Circuit::Open(_) | Circuit::Promised(_) => (Circuit::Open(now.plus(CIRCUIT_OPEN_FOR)), None),
        };
        *circuit = next;
        turned
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Circuit> {
        locked(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    #[test]
    fn it_opens_after_failures_in_a_row_and_a_probe_closes_it() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES - 1 {
            assert_eq!(breaker.note(false, NOON), None);
        }
        assert_eq!(breaker.note(true, NOON), None);
        for failure in 1..=FAILURES {
            assert!(breaker.admit(NOON));
            let turned = (failure == FAILURES).then_some(Turned::Open);
            assert_eq!(breaker.note(false, NOON), turned);
        }
        assert!(breaker.is_open(NOON) && breaker.promise(NOON).is_none() && !breaker.admit(NOON));
        let later = NOON.plus(CIRCUIT_OPEN_FOR);
        assert!(!breaker.is_open(later));
        assert!(breaker.admit(later), "one probe");
        assert!(!breaker.admit(later) && breaker.promise(later).is_none(), "and only one");
        assert_eq!(breaker.note(true, later), Some(Turned::Closed));
        assert_eq!(breaker.promise(later), Some(Passage::AsUsual));
        assert!(breaker.admit(later) && breaker.admit(later));
    }

    #[test]
    fn a_probe_is_kept_for_whoever_was_promised_it() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note(false, NOON);
        }
        let later = NOON.plus(CIRCUIT_OPEN_FOR);
        assert_eq!(breaker.promise(later), Some(Passage::Probe));
        assert!(breaker.promise(later).is_none() && !breaker.admit(later), "nobody else");
        breaker.redeem(Passage::Probe, later);
        assert!(!breaker.admit(later), "once");
        // A promise that is not redeemed blocks other callers only briefly.
        let again = later.plus(CIRCUIT_OPEN_FOR);
        assert!(breaker.promise(again).is_some() && breaker.promise(again).is_none());
        assert!(breaker.admit(again.plus(PROMISED_FOR)));
    }

    #[test]
    fn a_probe_that_is_given_back_is_the_next_callers_and_one_that_begins_is_nobody_elses() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note(false, NOON);
        }
        let later = NOON.plus(CIRCUIT_OPEN_FOR);
        let probe = breaker.promise(later).expect("promised");
        breaker.give_back(Passage::AsUsual, later);
        assert!(breaker.promise(later).is_none(), "somebody else's");
        breaker.give_back(probe, later);
        assert_eq!(breaker.promise(later), Some(probe));
        breaker.redeem(probe, later);
        assert!(breaker.is_open(later) && breaker.promise(later.plus(PROMISED_FOR)).is_none());
    }

    #[test]
    fn a_probe_that_fails_keeps_it_open() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note(false, NOON);
        }
        let later = NOON.plus(CIRCUIT_OPEN_FOR);
        assert!(breaker.admit(later));
        assert_eq!(breaker.note(false, later), None);
        assert!(breaker.promise(later).is_none() && breaker.promise(later.plus(CIRCUIT_OPEN_FOR)).is_some());
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_no_circuit_open() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note(false, NOON);
        }
        assert!(breaker.is_open(NOON));
        let before = NOON.minus(Duration::from_hours(1));
        assert!(!breaker.is_open(before) && breaker.admit(before), "its time cannot be known any more");
        assert!(!breaker.admit(before), "and the probe is one");
    }
}
