//! Calling a person: a line in the log, and a count for whoever watches.

use quipu_payments::{Attention, ParkReason, RailEvent};

use crate::metrics::PARKED;

/// Warns and counts.
pub(crate) struct LoudAttention;

impl Attention for LoudAttention {
    fn parked(&self, rail: &str, event: &RailEvent, reason: ParkReason) {
        metrics::counter!(PARKED).increment(1);
        let payment = &event.rail_reference;
        tracing::warn!(
            rail,
            payment,
            reason = reason.as_str(),
            "a message of a rail was parked as a receipt"
        );
    }
}
