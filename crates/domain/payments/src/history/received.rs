//! What became of an event of a rail, and the row that says so.

use quipu_commit::Record;
use quipu_kernel::{PaymentId, Tenant, Timestamp};

use crate::{
    history::receipt::{PARKED, ParkReason},
    rail::event::RailEvent,
};

/// The tenant under which something is stored that names `tenant`, or none.
pub fn filed_under(tenant: Option<Tenant>) -> Tenant {
    tenant.unwrap_or(Tenant::NOBODY)
}

/// The tenant that is named by something stored under `tenant`; the reverse of [`filed_under`].
pub fn named_by(tenant: Tenant) -> Option<Tenant> {
    Some(tenant).filter(|tenant| tenant.merchant() != Tenant::NOBODY.merchant())
}

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RailEventOutcome {
    /// The event moved its payment.
    Applied,
    /// The event changed nothing: it had been processed before, or reported what was known.
    Known,
    /// The event waits for a person.
    Parked(ParkReason),
}

impl RailEventOutcome {
    /// The name in the store and in a payment's timeline.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Known => "known",
            Self::Parked(_) => PARKED,
        }
    }
}

/// An event as it is stored, once for each rail and identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEvent {
    /// The identifier of this row, different for every attempt to store the event.
    pub id: String,
    /// The rail, by the name that routes use.
    pub rail: String,
    /// The event as the rail sent it.
    pub event: RailEvent,
    /// The payment that it names.
    pub payment_id: Option<PaymentId>,
    /// The outcome, by its name in the store.
    pub outcome: &'static str,
    /// When it was received (UTC).
    pub at: Timestamp,
}

impl ReceivedEvent {
    /// The unique name of an event: the name of the rail and the identifier of the event.
    pub fn name_of(rail: &str, event_id: &str) -> String {
        format!("{rail} {event_id}")
    }
}

impl Record for ReceivedEvent {}
