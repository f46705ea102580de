//! The history of one payment, as the operator's staff see it.

use quipu_kernel::{EventId, Minor, Timestamp};
use quipu_webhooks::{Attempt, DeliveryStatus};
use serde::Serialize;

use crate::{history::receipt::Receipt, payment::refund::Refund, rail::event::RailEventKind};

/// An event of a payment, as its timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventLine {
    /// The identifier of the event.
    pub id: String,
    /// The name of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status before the step, if the event tells of a step and there was one.
    pub previous_status: Option<String>,
    /// The status after the step, if the event tells of one.
    pub status: Option<String>,
    /// The version of the payment after the step, if the event tells of one.
    pub status_version: Option<i32>,
    /// When it happened (UTC).
    pub created_at: Timestamp,
}

/// A status of a payment, as its timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusLine {
    /// The status before; `None` for the first one.
    pub previous_status: Option<String>,
    /// The status after the change.
    pub status: String,
    /// The version of the payment after the change.
    pub status_version: i32,
    /// When it changed (UTC).
    pub at: Timestamp,
}

impl StatusLine {
    /// The statuses that the events of a payment tell of: every change of status has one event that is named
    /// `payment.*`.
    pub fn of_events(events: &[EventLine]) -> Vec<Self> {
        let of_status = events.iter().filter(|event| event.kind.starts_with("payment."));
        let line = |event: &EventLine| {
            Some(Self {
                previous_status: event.previous_status.clone(),
                status: event.status.clone()?,
                status_version: event.status_version?,
                at: event.created_at,
            })
        };
        of_status.filter_map(line).collect()
    }
}

/// An entry of the ledger, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryLine {
    /// The identifier of its transaction.
    pub transaction_id: String,
    /// Why the money moved.
    pub reason: String,
    /// The account that changed.
    pub account: String,
    /// The amount added to the account, in minor units; negative if it was taken away.
    pub amount: Minor,
    /// Currency of the amount.
    pub currency: String,
    /// When it was posted (UTC).
    pub created_at: Timestamp,
}

/// A line of the audit log, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// When it was done (UTC).
    pub at: Timestamp,
    /// The name of the person or shell that did it.
    pub actor: String,
    /// The action, as `noun.verb`.
    pub action: String,
    /// The changed thing after the action, without secrets.
    pub after: serde_json::Value,
}

/// An event of a rail, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallbackLine {
    /// The name of the rail.
    pub rail: String,
    /// The rail's identifier of the event.
    pub event_id: String,
    /// The kind of event.
    #[serde(rename = "type")]
    pub kind: String,
    /// The outcome of the event: `applied`, `known` or `parked`.
    pub outcome: String,
    /// When it was received (UTC).
    pub received_at: Timestamp,
}

/// A delivery of an event to one endpoint, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeliveryLine {
    /// The identifier of the event.
    pub event_id: EventId,
    /// The identifier of the endpoint.
    pub endpoint_id: String,
    /// The URL of the endpoint.
    pub url: String,
    /// The status of the delivery.
    pub status: DeliveryStatus,
    /// Why it failed without another attempt, if it did.
    pub error: Option<String>,
    /// When the next attempt is due (UTC).
    pub next_attempt_at: Option<Timestamp>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

/// The whole history of a payment, each list in the order of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The statuses that it went through.
    pub statuses: Vec<StatusLine>,
    /// The events that told merchants of it.
    pub events: Vec<EventLine>,
    /// The deliveries of these events. A deleted endpoint took its deliveries with it.
    pub deliveries: Vec<DeliveryLine>,
    /// The entries that it posted to the ledger.
    pub entries: Vec<EntryLine>,
    /// The events that its rail sent by itself, and those of its answers that were parked.
    pub callbacks: Vec<CallbackLine>,
    /// The receipts that were parked for it.
    pub receipts: Vec<Receipt>,
    /// The refunds that were made of it.
    pub refunds: Vec<Refund>,
    /// The lines of the audit log about it.
    pub audit: Vec<AuditLine>,
    /// Since when it waits too long and an alert calls for a person (UTC), if it does.
    pub alerted_at: Option<Timestamp>,
}

impl Timeline {
    /// Whether the rail has reported this kind of event before, whatever came of it. What was parked counts:
    /// it may be the money that a person saw when the payment was completed by hand.
    pub(crate) fn tells_of(&self, kind: RailEventKind) -> bool {
        self.callbacks.iter().any(|line| line.kind == kind.as_str())
    }
}
