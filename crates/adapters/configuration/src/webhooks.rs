//! Configures the delivery of webhooks.

use std::time::Duration;

use quipu_webhooks::RetryPolicy;

use crate::{reader::Reader, values};

/// The keys `webhooks.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Whether receivers may have addresses that are not public; `None` means with `--dev` only.
    pub allow_private: Option<bool>,
    /// When a delivery is tried again, and when its endpoint is given up.
    pub policy: RetryPolicy,
    /// How long finished deliveries are kept.
    pub keep_for: Duration,
}

impl WebhookSettings {
    pub(crate) fn read(from: &mut Reader) -> Self {
        let usual = RetryPolicy::default();
        Self {
            allow_private: from.take("webhooks.allow_private", values::flag),
            policy: RetryPolicy {
                gaps: from.take("webhooks.retry_schedule", values::retries).unwrap_or(usual.gaps),
                disable_after: from
                    .take("webhooks.disable_after", values::period)
                    .unwrap_or(usual.disable_after),
            },
            keep_for: from.take("webhooks.keep_for", values::period).unwrap_or(Duration::from_hours(90 * 24)),
        }
    }
}
