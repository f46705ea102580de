//! What happened to one payment, as the operator's staff see it.

use quipu_kernel::{EventId, Timestamp};
use quipu_webhooks::{Attempt, DeliveryStatus};
use serde::Serialize;

use crate::{
    rail_event::RailEventKind,
    receipt::{PARKED, Receipt, Resolution},
    refund::Refund,
};

/// An event of a payment, as its timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventLine {
    /// Its identifier.
    pub id: String,
    /// Its name.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status before.
    pub previous_status: Option<String>,
    /// The status after.
    pub status: Option<String>,
    /// The version after.
    pub status_version: Option<i32>,
    /// When.
    pub created_at: Timestamp,
}

/// A status of a payment, as its timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusLine {
    /// The status before; none at the beginning.
    pub previous_status: Option<String>,
    /// The status after.
    pub status: String,
    /// The version after.
    pub status_version: i32,
    /// When.
    pub at: Timestamp,
}

impl StatusLine {
    /// What the events of a payment say of its status: every change of it has one that is named `payment.*`.
    pub fn told_by(events: &[EventLine]) -> Vec<Self> {
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
    /// Its transaction.
    pub transaction_id: String,
    /// Why the money moved.
    pub reason: String,
    /// On which account.
    pub account: String,
    /// By how much, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: String,
    /// When.
    pub created_at: Timestamp,
}

/// A line of the audit log, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// The thing after.
    pub after: serde_json::Value,
}

/// An event of a rail, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallbackLine {
    /// The rail.
    pub rail: String,
    /// The rail's identifier of the event.
    pub event_id: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// What came of it: `applied`, `known`, `parked`.
    pub outcome: String,
    /// When it was heard.
    pub received_at: Timestamp,
}

/// What one endpoint was told of an event, as a payment's timeline shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeliveryLine {
    /// The event.
    pub event_id: EventId,
    /// The endpoint.
    pub endpoint_id: String,
    /// Its address.
    pub url: String,
    /// How the delivery stands.
    pub status: DeliveryStatus,
    /// Why it failed without another attempt.
    pub error: Option<String>,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// What was tried, the oldest first.
    pub attempts: Vec<Attempt>,
}

/// Everything that is known of what happened to a payment, each list in the order of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The statuses that it went through.
    pub statuses: Vec<StatusLine>,
    /// Its events.
    pub events: Vec<EventLine>,
    /// Which of its endpoints heard of them, and how. An endpoint that was deleted took its deliveries with it.
    pub deliveries: Vec<DeliveryLine>,
    /// The money it moved.
    pub entries: Vec<EntryLine>,
    /// What its rail told by itself, and those of its answers that were parked.
    pub callbacks: Vec<CallbackLine>,
    /// What was parked.
    pub receipts: Vec<Receipt>,
    /// What was paid back.
    pub refunds: Vec<Refund>,
    /// Who did what.
    pub audit: Vec<AuditLine>,
    /// Since when it waits for so long that somebody should look.
    pub alerted_at: Option<Timestamp>,
}

impl Timeline {
    /// Whether the rail told of this before, and it counts: it moved the payment, or agreed with what was known, or a person
    /// booked what had arrived.
    pub(crate) fn tells_of(&self, kind: RailEventKind) -> bool {
        let told = |line: &CallbackLine| line.kind == kind.as_str() && line.outcome != PARKED;
        let booked = |receipt: &Receipt| {
            receipt.kind == kind && receipt.resolution == Some(Resolution::CompleteWithReceivedAmount)
        };
        self.callbacks.iter().any(told) || self.receipts.iter().any(booked)
    }
}
