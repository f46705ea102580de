//! An event of which merchants are told.

use quipu_kernel::{EventId, PaymentId, Timestamp};

use crate::{name::EventName, target::TargetUrl};

/// An event, with the bytes that are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Identifier, the same in every delivery.
    pub id: EventId,
    /// The name of the event.
    pub name: EventName,
    /// When it happened.
    pub at: Timestamp,
    /// The payment of which it tells a step, if any. An event about a payment that is not a step names the payment in its
    /// `data` only, since `quipu check` takes every event that has one here for that of a step.
    pub payment_id: Option<PaymentId>,
    /// The payment's status before and after by their names in the interface, and its version: together the
    /// `payment.*` events of a payment are its history, one for each step ([`EventName`]).
    pub status: Option<EventStatus>,
    /// The JSON that is delivered, byte for byte.
    pub payload: String,
    /// The target that its payment named for itself, if it did.
    pub named: Option<NamedTarget>,
}

/// A target that a payment's request named for the payment's own events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// The URL that deliveries are sent to.
    pub url: TargetUrl,
    /// The events that are sent to it.
    pub events: Vec<EventName>,
    /// Whether this is the change with which the payment names it: an endpoint is made for it then, or the
    /// existing one is enabled again.
    pub first: bool,
}

/// The step of a payment that an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventStatus {
    /// The status before; `None` for a new payment.
    pub previous: Option<&'static str>,
    /// The status after the step.
    pub status: &'static str,
    /// The payment's `status_version` after the step; 1 for a new payment.
    pub version: i32,
}
