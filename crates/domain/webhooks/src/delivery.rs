//! A delivery: one event to one endpoint, and its state.

use std::sync::Arc;

use quipu_kernel::{EventId, Tenant, Timestamp};

use crate::{
    attempt::{Attempt, Attempted},
    delivery_key::DeliveryKey,
    endpoint::Endpoint,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        attempt::{Begun, Response, SendProblem},
        fixtures::{NOON, after, answered, attempted, owed, timed_out},
        status::DeliveryStatus,
    };

    fn broken_off(status: u16, retry_after: Option<Duration>) -> Attempted {
        attempted(Err((SendProblem::Broken, Some(Begun { status, retry_after, excerpt: None }))))
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
}
