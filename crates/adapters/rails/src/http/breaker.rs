//! A circuit breaker: a provider that fails again and again is left alone for a while, so that nobody waits for it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use quipu_kernel::Timestamp;

/// Failures in a row that open the circuit.
const FAILURES: u32 = 5;
/// How long an open circuit stays open before one call may try.
const OPEN_FOR: Duration = Duration::from_secs(15);
/// How long a probe is kept for whoever was promised it.
const PROMISED_FOR: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
enum Circuit {
    /// Calls go through; so many failed in a row.
    Closed(u32),
    /// No call goes through before this instant. The first after it is a probe, whose outcome decides.
    Open(Timestamp),
    /// The probe is promised to a caller who is about to call, until this instant. Nobody else gets through.
    Promised(Timestamp),
}

/// What a caller is promised who is about to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// The circuit is closed.
    AsUsual,
    /// The call is the probe.
    Probe,
}

/// What a circuit has just become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// The provider is left alone.
    Open,
    /// It is called as usual.
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

impl Breaker {
    /// Whether a call that began now would be let through. Asking changes nothing.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        matches!(*self.lock(), Circuit::Open(until) | Circuit::Promised(until) if now < until)
    }

    /// Promises a caller who is about to call that it will be let through, or not. A probe is promised to one.
    pub(super) fn promise(&self, now: Timestamp) -> Option<Passage> {
        let mut circuit = self.lock();
        match *circuit {
            Circuit::Closed(_) => Some(Passage::AsUsual),
            Circuit::Open(until) | Circuit::Promised(until) if now < until => None,
            Circuit::Open(_) | Circuit::Promised(_) => {
                *circuit = Circuit::Promised(now.plus(PROMISED_FOR));
                Some(Passage::Probe)
            }
        }
    }

    /// Lets a call through whatever the circuit has become since it was promised: what waits for it is already committed.
    pub(super) fn redeem(&self, passage: Passage, now: Timestamp) {
        self.end_promise(passage, now.plus(OPEN_FOR));
    }

    /// Takes a promise back whose call will not be made; the probe is anybody's again.
    pub(super) fn give_back(&self, passage: Passage, now: Timestamp) {
        self.end_promise(passage, now);
    }

    fn end_promise(&self, passage: Passage, open_until: Timestamp) {
        let mut circuit = self.lock();
        if passage == Passage::Probe && matches!(*circuit, Circuit::Promised(_)) {
            *circuit = Circuit::Open(open_until);
        }
    }

    /// Lets a call through that was promised nothing, or not. Where the circuit has been open long enough, one gets through as a
    /// probe, unless that is promised to another, and the others wait for its outcome.
    pub(super) fn admit(&self, now: Timestamp) -> bool {
        let mut circuit = self.lock();
        match *circuit {
            Circuit::Closed(_) => true,
            Circuit::Open(until) | Circuit::Promised(until) if now < until => false,
            Circuit::Open(_) | Circuit::Promised(_) => {
                *circuit = Circuit::Open(now.plus(OPEN_FOR));
                true
            }
        }
    }

    /// Notes that nobody waits for the end of a call any more. That says nothing of the provider, but a probe has no outcome
    /// then, and the next one waits.
    pub(super) fn abandon(&self, now: Timestamp) {
        let mut circuit = self.lock();
        if matches!(*circuit, Circuit::Open(_)) {
            *circuit = Circuit::Open(now.plus(OPEN_FOR));
        }
    }

    /// Notes how a call ended: whether the provider answered so that it could be understood. Answers what the circuit does
    /// from now on, if that is something else.
    pub(super) fn note(&self, answered: bool, now: Timestamp) -> Option<Turned> {
        let mut circuit = self.lock();
        let (next, turned) = match *circuit {
            Circuit::Closed(_) if answered => (Circuit::Closed(0), None),
            Circuit::Open(_) | Circuit::Promised(_) if answered => (Circuit::Closed(0), Some(Turned::Closed)),
            Circuit::Closed(failures) if failures + 1 < FAILURES => (Circuit::Closed(failures + 1), None),
            Circuit::Closed(_) => (Circuit::Open(now.plus(OPEN_FOR)), Some(Turned::Open)),
            Circuit::Open(_) | Circuit::Promised(_) => (Circuit::Open(now.plus(OPEN_FOR)), None),
        };
        *circuit = next;
        turned
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Circuit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let later = NOON.plus(OPEN_FOR);
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
        let later = NOON.plus(OPEN_FOR);
        assert_eq!(breaker.promise(later), Some(Passage::Probe));
        assert!(breaker.promise(later).is_none() && !breaker.admit(later), "nobody else");
        breaker.redeem(Passage::Probe, later);
        assert!(!breaker.admit(later), "once");
        // A promise that nobody redeems holds up nobody for long.
        let again = later.plus(OPEN_FOR);
        assert!(breaker.promise(again).is_some() && breaker.promise(again).is_none());
        assert!(breaker.admit(again.plus(PROMISED_FOR)));
    }

    #[test]
    fn a_probe_that_is_given_back_is_the_next_callers_and_one_that_begins_is_nobody_elses() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note(false, NOON);
        }
        let later = NOON.plus(OPEN_FOR);
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
        let later = NOON.plus(OPEN_FOR);
        assert!(breaker.admit(later));
        assert_eq!(breaker.note(false, later), None);
        assert!(breaker.promise(later).is_none() && breaker.promise(later.plus(OPEN_FOR)).is_some());
    }
}
