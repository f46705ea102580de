//! A delivery: one event to one endpoint, and its state.

use std::sync::Arc;

use quipu_kernel::{EventId, Tenant, Timestamp};

use crate::{
    attempt::{Attempt, Attempted},
    delivery_key::DeliveryKey,
    endpoint::{Enablement, Endpoint},
    outcome::{Outcome, Reception},
    schedule::{RetryPolicy, Spread},
};

/// Why a delivery failed before its attempts were used up.
pub const ENDPOINT_DISABLED: &str = "endpoint disabled";

/// A delivery that a node has in hand and is about to attempt.
#[derive(Debug, Clone)]
pub struct Owed {
    /// The endpoint that it goes to.
    pub endpoint: Arc<Endpoint>,
    /// The event; its identifier is the `webhook-id` of every attempt.
    pub event_id: EventId,
    /// The bytes to be sent.
    pub payload: Arc<str>,
    /// The attempts so far, oldest first.
    pub attempts: Vec<Attempt>,
    /// The number of attempts in this round; a retry that is asked for begins a new round.
    pub step: u32,
    /// The earliest time at which it could have been sent (UTC).
    pub due_at: Timestamp,
}

impl Owed {
    /// Whether there was no attempt yet.
    pub const fn is_fresh(&self) -> bool {
        self.attempts.is_empty()
    }

    /// The bytes of memory that its payload and its attempts take, about. A payload that deliveries share counts for
    /// each of them.
    pub fn bytes(&self) -> usize {
        self.payload.len() + self.attempts.iter().map(Attempt::bytes).sum::<usize>()
    }

    /// The same delivery without its payload and its attempts, which nobody needs who releases it.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self {
            endpoint: Arc::clone(&self.endpoint),
            event_id: self.event_id.clone(),
            payload: Arc::default(),
            attempts: Vec::new(),
            step: self.step,
            due_at: self.due_at,
        }
    }

    /// Which delivery it is.
    pub fn key(&self) -> DeliveryKey {
        let (endpoint, event) = (self.endpoint.id.clone(), self.event_id.clone());
        DeliveryKey { tenant: self.tenant(), endpoint, event }
    }

    /// The tenant that owns it.
    pub fn tenant(&self) -> Tenant {
        self.endpoint.tenant
    }

    /// The outcome of an attempt. Only this function decides what happens to a delivery after an attempt.
    pub fn after(&self, attempted: &Attempted, policy: &RetryPolicy, spread: Spread) -> Outcome {
        let number = self.attempts.last().map_or(1, |last| last.number.saturating_add(1));
        let ended_at = attempted.started_at.plus(attempted.duration);
        let reception = if attempted.is_success() {
            Reception::Accepted
        } else {
            let wait = policy.wait(self.step, attempted.retry_after(), spread);
            Reception::Failed {
                began_at: attempted.started_at,
                gone: attempted.is_gone(),
                overtaken: false,
                next_at: wait.map(|wait| ended_at.plus(wait)),
            }
        };
        // A receiver that is gone gets another attempt only if its endpoint has moved.
        let due = reception.next_at().filter(|_| !attempted.is_gone());
        let mut attempts = self.attempts.clone();
        attempts.push(Attempt::of(number, attempted, due));
        let beyond = attempts.len().saturating_sub(MOST_ATTEMPTS_KEPT);
        attempts.drain(..beyond);
        Outcome {
            tenant: self.tenant(),
            endpoint: self.endpoint.id.clone(),
            address: self.endpoint.url.clone(),
            event_id: self.event_id.clone(),
            due_at: self.due_at,
            attempts,
            step: self.step.saturating_add(1),
            reception,
            ended_at,
        }
    }
}

/// The most attempts of one delivery that are stored: two full rounds of the ordinary schedule. Only retries that are
/// asked for, and longer schedules, make more.
const MOST_ATTEMPTS_KEPT: usize = 20;

impl Endpoint {
    /// Updates the endpoint after an attempt; answers whether that changed it. A success ends a period of
    /// failures. An endpoint whose receiver is gone, or has failed for too long, is disabled. An attempt to a
    /// URL that the endpoint no longer has is ignored.
    pub fn note(&mut self, outcome: &Outcome, policy: &RetryPolicy) -> bool {
        let before = (self.failing_since, self.is_enabled());
        if outcome.address == self.url {
            match outcome.reception {
                Reception::Accepted => self.failing_since = None,
                Reception::Failed { began_at, gone, overtaken, .. } => {
                    if !overtaken {
                        self.note_failure(began_at);
                    }
                    // Who enabled the endpoint since then wants it to be tried again.
                    if gone && began_at >= self.updated_at {
                        let reason = "the receiver answered 410 Gone".to_owned();
                        self.disable(Some(reason), outcome.ended_at);
                    }
                }
            }
        }
        self.disable_if_failing(outcome.ended_at, policy);
        before != (self.failing_since, self.is_enabled())
    }

    /// Notes that an attempt failed that began at `at`. An attempt that began before the endpoint was last
    /// changed does not count towards the period of failures.
    fn note_failure(&mut self, at: Timestamp) {
        let is_earlier = self.failing_since.is_none_or(|since| at < since);
        if is_earlier && at >= self.updated_at {
            self.failing_since = Some(at);
        }
    }

    /// Disables the endpoint if at `now` it has been without a success for too long; answers whether it did.
    pub fn disable_if_failing(&mut self, now: Timestamp, policy: &RetryPolicy) -> bool {
        let Some(since) = self.failing_since else { return false };
        if now < since.plus(policy.disable_after) || self.enablement != Enablement::Enabled {
            return false;
        }
        self.disable(Some(format!("no delivery has succeeded since {since}")), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        attempt::{Begun, Response, SendProblem},
        endpoint::Source,
        samples::{NOON, endpoint, owed},
        status::DeliveryStatus,
        target::TargetUrl,
    };

    fn attempted(result: Result<Response, (SendProblem, Option<Begun>)>) -> Attempted {
        Attempted { started_at: NOON, duration: Duration::from_millis(250), result }
    }

    fn answered(status: u16) -> Attempted {
        attempted(Ok(Response::new(status, None, b"noted")))
    }

    fn broken_off(status: u16, retry_after: Option<Duration>) -> Attempted {
        attempted(Err((SendProblem::Broken, Some(Begun { status, retry_after, excerpt: None }))))
    }

    fn timed_out() -> Attempted {
        attempted(Err((SendProblem::TimedOut, None)))
    }

    fn after(attempted: &Attempted) -> Outcome {
        owed().after(attempted, &RetryPolicy::default(), Spread::NONE)
    }

    #[test]
    fn each_result_has_its_consequence() {
        let failed = |gone, wait: u64| Reception::Failed {
            began_at: NOON,
            gone,
            overtaken: false,
            next_at: Some(NOON.plus(Duration::from_millis(250 + wait))),
        };
        for (attempted, reception) in [
            (answered(200), Reception::Accepted),
            (answered(204), Reception::Accepted),
            (answered(301), failed(false, 5_000)),
            (answered(400), failed(false, 5_000)),
            (answered(404), failed(false, 5_000)),
            (answered(410), failed(true, 5_000)),
            (answered(500), failed(false, 5_000)),
            (timed_out(), failed(false, 5_000)),
            (broken_off(200, None), failed(false, 5_000)),
            (broken_off(410, None), failed(true, 5_000)),
            (broken_off(503, Some(Duration::from_secs(8))), failed(false, 8_000)),
        ] {
            assert_eq!(after(&attempted).reception, reception, "{attempted:?}");
        }
    }

    #[test]
    fn payload_and_attempts_take_memory_until_only_the_name_is_needed() {
        let mut owed = owed();
        assert_eq!(owed.bytes(), owed.payload.len());
        owed.attempts = owed
            .after(
                &attempted(Ok(Response::new(500, None, &[b'x'; 600]))),
                &RetryPolicy::default(),
                Spread::NONE,
            )
            .attempts;
        assert!((600..900).contains(&owed.bytes()), "{}", owed.bytes());
        let emptied = owed.emptied();
        assert_eq!((emptied.bytes(), &emptied.event_id), (0, &owed.event_id));
    }

    #[test]
    fn an_attempt_is_kept_with_all_that_was_learnt() {
        let outcome = after(&answered(503));
        let shown = serde_json::to_value(&outcome.attempts).expect("JSON");
        let expected = serde_json::json!([{
            "number": 1, "started_at": "2025-11-21T12:00:00.000Z", "duration_ms": 250, "http_status": 503, "error": null,
            "response_excerpt": "noted", "next_attempt_at": "2025-11-21T12:00:05.250Z",
        }]);
        assert_eq!(shown, expected);
        let outcome = after(&timed_out());
        assert_eq!(outcome.attempts[0].error.as_deref(), Some("timed out"));
        assert_eq!(outcome.attempts[0].http_status, None);
    }

    #[test]
    fn the_schedule_is_used_up_after_ten_attempts_and_begins_again_when_asked_to() {
        let mut owed = owed();
        for number in 1..=10 {
            let outcome = owed.after(&answered(500), &RetryPolicy::default(), Spread::NONE);
            assert_eq!(outcome.status() == DeliveryStatus::Failed, number == 10, "{number}");
            assert_eq!(outcome.attempts.last().expect("an attempt").number, number);
            (owed.attempts, owed.step) = (outcome.attempts, outcome.step);
        }
        owed.step = 0;
        let outcome = owed.after(&answered(500), &RetryPolicy::default(), Spread::NONE);
        assert_eq!(outcome.status(), DeliveryStatus::Pending);
        assert_eq!(outcome.attempts.last().expect("an attempt").number, 11);
    }

    #[test]
    fn no_more_than_two_rounds_of_attempts_are_kept_and_numbers_go_on() {
        let mut owed = owed();
        for number in 1..=50_u32 {
            let outcome = owed.after(&answered(500), &RetryPolicy::default(), Spread::NONE);
            let kept: Vec<u32> = outcome.attempts.iter().map(|attempt| attempt.number).collect();
            let first = number.saturating_sub(20) + 1;
            assert_eq!(kept, (first..=number).collect::<Vec<_>>());
            owed.attempts = outcome.attempts;
        }
    }

    #[test]
    fn a_receiver_that_is_gone_is_disabled_at_once() {
        let mut endpoint = endpoint(Source::Admin);
        assert!(endpoint.note(&after(&answered(410)), &RetryPolicy::default()));
        assert_eq!(
            endpoint.enablement,
            Enablement::Disabled(Some("the receiver answered 410 Gone".to_owned()))
        );
        assert_eq!(after(&answered(410)).attempts[0].next_attempt_at, None);
    }

    #[test]
    fn a_failure_that_began_before_a_success_begins_no_time_of_failing() {
        let mut endpoint = endpoint(Source::Admin);
        let mut outcome = after(&answered(500));
        let of_its_own = outcome.clone();
        if let Reception::Failed { overtaken, .. } = &mut outcome.reception {
            *overtaken = true;
        }
        assert!(!endpoint.note(&outcome, &RetryPolicy::default()));
        assert!(endpoint.note(&of_its_own, &RetryPolicy::default()));
    }

    #[test]
    fn what_a_former_address_answers_tells_nothing_of_the_endpoint() {
        let moved = TargetUrl::restore("https://shop.example/new".to_owned());
        let endpoint = Endpoint { url: moved, failing_since: Some(NOON), ..endpoint(Source::Admin) };
        for attempted in [answered(410), answered(500), answered(200)] {
            let mut noted = endpoint.clone();
            assert!(!noted.note(&after(&attempted), &RetryPolicy::default()), "{attempted:?}");
            assert_eq!(noted, endpoint);
        }
    }

    #[test]
    fn an_attempt_that_was_under_way_when_its_endpoint_was_enabled_is_not_held_against_it() {
        let mut endpoint = endpoint(Source::Admin);
        endpoint.disable(None, NOON);
        endpoint.enable(NOON.plus(Duration::from_millis(1)));
        for status in [500, 410] {
            assert!(!endpoint.note(&after(&answered(status)), &RetryPolicy::default()), "{status}");
        }
        let later = Attempted { started_at: NOON.plus(Duration::from_millis(1)), ..answered(500) };
        assert!(endpoint.note(&after(&later), &RetryPolicy::default()));
        assert_eq!(endpoint.failing_since, Some(later.started_at));
    }

    #[test]
    fn five_days_count_from_the_first_failure_after_the_last_success() {
        let policy = RetryPolicy::default();
        let mut endpoint = endpoint(Source::Admin);
        let at = |hours: u64| {
            let started_at = NOON.plus(Duration::from_hours(hours));
            Attempted { started_at, duration: Duration::ZERO, ..timed_out() }
        };
        assert!(endpoint.note(&after(&at(0)), &policy));
        assert!(!endpoint.note(&after(&at(100)), &policy));
        assert!(endpoint.note(&after(&answered(200)), &policy));
        assert!(!endpoint.note(&after(&answered(200)), &policy), "a healthy delivery changes nothing");
        assert!(endpoint.note(&after(&at(101)), &policy));
        assert!(!endpoint.note(&after(&at(220)), &policy) && endpoint.is_enabled());
        assert!(endpoint.note(&after(&at(221)), &policy) && !endpoint.is_enabled());
        let reason = "no delivery has succeeded since 2025-11-25T17:00:00.000Z".to_owned();
        assert_eq!(endpoint.enablement, Enablement::Disabled(Some(reason)));
    }

    proptest! {
        /// Attempts that end together may be recorded in any order.
        #[test]
        fn the_time_of_failing_begins_with_the_earliest_failure(hours in prop::collection::vec(0_u64..100, 1..10)) {
            let mut endpoint = endpoint(Source::Admin);
            for hour in &hours {
                let started_at = NOON.plus(Duration::from_hours(*hour));
                endpoint.note(&after(&Attempted { started_at, ..timed_out() }), &RetryPolicy::default());
            }
            let first = hours.iter().min().map(|hour| NOON.plus(Duration::from_hours(*hour)));
            prop_assert_eq!(endpoint.failing_since, first);
        }
    }
}
