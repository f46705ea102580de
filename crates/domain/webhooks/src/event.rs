//! One event.

use quipu_kernel::{EventId, PaymentId, Timestamp};

use crate::{name::EventName, target::TargetUrl};

/// Something a merchant is told of, with the bytes it is told in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Identifier, the same in every delivery.
    pub id: EventId,
    /// What it tells of.
    pub name: EventName,
    /// When it happened.
    pub at: Timestamp,
    /// The payment it is about, if any.
    pub payment_id: Option<PaymentId>,
    /// The payment's status before and after, by their names in the interface, and its version: together the events
    /// `payment.*` of a payment are its history.
    pub status: Option<EventStatus>,
    /// The JSON that is delivered, byte for byte.
    pub payload: String,
    /// The target that its payment named for itself, if it did.
    pub named: Option<NamedTarget>,
}

/// A target that a payment's request named for the payment's own events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// Where to.
    pub url: TargetUrl,
    /// Which events.
    pub events: Vec<EventName>,
    /// Whether this is the change that names it: an endpoint is made for it then, or the one there is enabled again.
    pub first: bool,
}

/// The step of a payment that an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventStatus {
    /// Before; none for a new payment.
    pub previous: Option<&'static str>,
    /// After.
    pub status: &'static str,
    /// `status_version` after; 1 for a new payment.
    pub version: i32,
}
