//! When an endpoint counts as failing, and when it is disabled for that.

use quipu_kernel::Timestamp;

use crate::{
    endpoint::{Enablement, Endpoint},
    outcome::{Outcome, Reception},
    schedule::RetryPolicy,
};

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
        attempt::Attempted,
        endpoint::Source,
        fixtures::{NOON, after, answered, endpoint, timed_out},
        target::TargetUrl,
    };

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
