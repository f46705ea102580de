//! A message about money that cannot be applied to a payment. It is parked until a person decides.

use quipu_commit::{Aggregate, Record, Save};
use quipu_kernel::{Amount, Currency, PaymentId, Tenant, Timestamp, wire_names};
use serde::Serialize;

use crate::{
    payment::{Payment, status::Status},
    rail::event::RailEventKind,
};

wire_names! {
    /// Whether a receipt waits for a person.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ReceiptStatus {
        /// It waits.
        Parked = "parked",
        /// A person has decided.
        Resolved = "resolved",
    }
}

/// The name of the outcome of an event that waits for a person.
pub(crate) const PARKED: &str = ReceiptStatus::Parked.as_str();

wire_names! {
    /// Why a receipt was parked.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ParkReason {
        /// The amount differs from the agreed one.
        AmountMismatch = "amount_mismatch",
        /// The currency differs from the agreed one.
        CurrencyMismatch = "currency_mismatch",
        /// It names no payment of this rail.
        UnknownPayment = "unknown_payment",
        /// It contradicts what is known of the payment.
        Contradiction = "contradiction",
        /// The ledger could not take it.
        Unbookable = "unbookable",
    }
}

wire_names! {
    /// A person's decision about a parked receipt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Resolution {
        /// The payment completes with the amount that arrived: `received_amount` is set, fee and net amount
        /// follow from it.
        CompleteWithReceivedAmount = "complete_with_received_amount",
        /// The receipt has no effect on any payment.
        Ignore = "ignore",
    }
}

/// How and when a receipt was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved {
    /// The decision of a person.
    pub how: Resolution,
    /// When it was made (UTC).
    pub at: Timestamp,
}

/// An event of a rail that is parked, and later resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// Its identifier: `rcp_<13 digits of Unix milliseconds>_<16 base-32 characters>`.
    pub receipt_id: String,
    /// The tenant of the payment that it names, if it names one.
    #[serde(skip)]
    pub tenant: Option<Tenant>,
    /// The payment that it names.
    pub payment_id: Option<PaymentId>,
    /// The rail that reported it, by the name that routes use.
    pub rail: String,
    /// The rail's identifier of the event.
    pub event_id: String,
    /// The kind of event.
    #[serde(rename = "type", serialize_with = "kind_name")]
    pub kind: RailEventKind,
    /// The reference that the rail gave.
    pub rail_reference: String,
    /// The provider's or bank's own identifier of the payment that it reported, if it named one.
    pub provider_reference: Option<String>,
    /// Amount in minor units, if the event has one.
    pub amount: Option<Amount>,
    /// Currency of the amount.
    pub currency: Option<Currency>,
    /// Why it was parked.
    pub reason: ParkReason,
    /// When it was parked (UTC).
    pub created_at: Timestamp,
    /// What became of it; `None` while it is open. It is shown as `resolution` and `resolved_at`.
    #[serde(flatten, serialize_with = "resolved_members")]
    pub resolved: Option<Resolved>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn kind_name<S: serde::Serializer>(kind: &RailEventKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

#[expect(clippy::ref_option, reason = "serde hands over a reference")]
fn resolved_members<S: serde::Serializer>(
    resolved: &Option<Resolved>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members {
        resolution: Option<Resolution>,
        resolved_at: Option<Timestamp>,
    }
    let (resolution, resolved_at) = resolved.map(|Resolved { how, at }| (how, at)).unzip();
    Members { resolution, resolved_at }.serialize(serializer)
}

/// Why a receipt was not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotResolved {
    /// The receipt has been resolved before.
    #[error("the receipt has been resolved")]
    AlreadyResolved,
    /// No payment of the gateway is named in the receipt.
    #[error("the receipt names no payment")]
    NamesNoPayment,
    /// The receipt is not about money for a deposit that waits for it, in the deposit's currency.
    #[error("only money for a waiting deposit, in its currency, can complete it; use ignore")]
    CannotComplete,
}

impl Record for Receipt {}

impl Receipt {
    /// How a commit writes it. One that is resolved is refused as stale if somebody resolved it meanwhile.
    pub(crate) fn into_save(self) -> Save {
        let (from, to) = match self.status() {
            ReceiptStatus::Parked => (None, 1),
            ReceiptStatus::Resolved => (Some(1), 2),
        };
        let (aggregate, id) = (Aggregate::RECEIPT, self.receipt_id.clone());
        Save { aggregate, id, from, to, record: Box::new(self) }
    }

    /// Its status.
    pub const fn status(&self) -> ReceiptStatus {
        if self.resolved.is_some() { ReceiptStatus::Resolved } else { ReceiptStatus::Parked }
    }

    /// The amount with which `payment` may complete by this receipt.
    pub fn completing(&self, payment: &Payment) -> Result<Amount, NotResolved> {
        if self.resolved.is_some() {
            return Err(NotResolved::AlreadyResolved);
        }
        let terms = payment.terms();
        let names_it = self.payment_id.as_ref() == Some(payment.id());
        let waits = matches!(payment.status(), Status::Processing | Status::Expired | Status::Cancelled);
        let is_deposit = terms.kind.direction() == quipu_merchants::Direction::Deposit;
        let is_money = self.kind == RailEventKind::Completed && self.currency == Some(terms.currency);
        match self.amount {
            Some(amount) if names_it && waits && is_deposit && is_money => Ok(amount),
            _ => Err(NotResolved::CannotComplete),
        }
    }
}
