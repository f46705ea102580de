//! A payment: the terms it was made on, which never change, and the state it is in, which changes only through
//! [`Payment::apply`].

use quipu_kernel::{Amount, Currency, CustomerId, Minor, PaymentId, Tenant, Timestamp, wire_names};
use quipu_merchants::{Method, ReturnUrls};
use quipu_webhooks::EventName;
use serde::{Deserialize, Serialize};

use crate::{
    customer::Customer,
    instructions::Instructions,
    kind::{PaymentType, RedirectScheme, TrafficType},
    payout::Payout,
    status::{Situation, Status},
};

/// A webhook target that a request named for its own payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InRequestWebhook {
    /// Where to.
    pub url: String,
    /// Which events.
    pub events: Vec<EventName>,
}

/// Why a payment did not succeed, or did not stay so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code: `EXPIRED`, `PAYOUT_RETURNED`, or the rail's.
    pub code: String,
    /// The same for a person.
    pub message: String,
}

wire_names! {
    /// What a worker must do with a payment next.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DueAction {
        /// Hand a withdrawal to its rail.
        Submit = "submit",
        /// Ask the rail how it stands.
        Ask = "ask",
        /// Let it expire.
        Expire = "expire",
    }
}

/// The next thing to do with a payment, and from when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Not before.
    pub at: Timestamp,
    /// What.
    pub action: DueAction,
}

impl Due {
    /// Of two things to do, the one that comes first.
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

/// What was agreed when the payment was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Its identifier, shown as `transaction_id`.
    pub id: PaymentId,
    /// Whose.
    pub tenant: Tenant,
    /// Deposit or withdrawal, hosted or not.
    pub kind: PaymentType,
    /// By which method.
    pub method: Method,
    /// In which currency.
    pub currency: Currency,
    /// How much, in minor units.
    pub amount: Amount,
    /// The merchant's own reference.
    pub merchant_reference: String,
    /// Who pays or is paid.
    pub customer: Customer,
    /// The rail of the route it was made on.
    pub rail: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops waiting. A hosted withdrawal waits for nobody once its recipient is named.
    pub expires_at: Option<Timestamp>,
    /// The merchant's text about the payment.
    pub description: Option<String>,
    /// Another.
    pub note: Option<String>,
    /// The merchant's identifier beside the reference.
    pub external_id: Option<String>,
    /// The merchant's sorting.
    pub traffic_type: Option<TrafficType>,
    /// The payment's own webhook target.
    pub webhook: Option<InRequestWebhook>,
    /// Where a hosted page leads afterwards.
    pub return_urls: ReturnUrls,
    /// The scheme that `redirectpay` is restricted to.
    pub redirect_scheme: Option<RedirectScheme>,
}

/// Where the payment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// How often the status was set, the first included.
    pub version: i32,
    /// The fee, in minor units.
    pub fee: Minor,
    /// How much went back, in minor units.
    pub refunded_amount: Minor,
    /// What arrived, where it was another amount and the operator accepted it.
    pub received_amount: Option<Amount>,
    /// Whether the money arrived after the payment had ended.
    pub late: bool,
    /// Why it did not succeed.
    pub failure: Option<Failure>,
    /// Where a withdrawal goes.
    pub payout: Option<Payout>,
    /// What the payer needs.
    pub instructions: Instructions,
    /// How often anything of it was written, the first time included: what a decision refers to that changes it.
    pub revision: i64,
    /// When it completed.
    pub completed_at: Option<Timestamp>,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

impl State {
    /// How a payment of this kind begins at `at`: without a fee, with nothing to do and nothing told to the payer.
    pub fn first(kind: PaymentType, at: Timestamp) -> Self {
        Self {
            status: Status::first(kind),
            version: 1,
            fee: Minor::ZERO,
            refunded_amount: Minor::ZERO,
            received_amount: None,
            late: false,
            failure: None,
            payout: None,
            instructions: Instructions::default(),
            revision: 1,
            completed_at: None,
            updated_at: at,
        }
    }
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    terms: Terms,
    state: State,
}

impl Payment {
    /// A payment as a store kept it.
    pub const fn restore(terms: Terms, state: State) -> Self {
        Self { terms, state }
    }

    /// What was agreed, and where it stands.
    pub(crate) fn into_parts(self) -> (Terms, State) {
        (self.terms, self.state)
    }

    /// What was agreed.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Where it stands.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Its identifier.
    pub const fn id(&self) -> &PaymentId {
        &self.terms.id
    }

    /// Its status.
    pub const fn status(&self) -> Status {
        self.state.status
    }

    /// What the transition table needs to know of it.
    pub const fn situation(&self) -> Situation {
        Situation {
            kind: self.terms.kind,
            method: self.terms.method,
            has_recipient: self.state.payout.is_some(),
        }
    }

    /// Whether it holds its `merchant_reference` against others. A late completion does not take it back.
    pub const fn holds_reference(&self) -> bool {
        !self.state.status.frees_reference() && !self.state.late
    }

    /// `amount − fee` for a deposit (of what was received, if that differs); what the recipient gets for a withdrawal.
    pub fn net_amount(&self) -> i64 {
        match self.terms.kind.direction() {
            quipu_merchants::Direction::Deposit => {
                self.state.received_amount.unwrap_or(self.terms.amount).get() - self.state.fee.get()
            }
            quipu_merchants::Direction::Withdrawal => self.terms.amount.get(),
        }
    }

    /// Names the customer that the commit matched or made.
    pub const fn assign_customer(&mut self, id: CustomerId) {
        self.terms.customer.id = id;
    }
}
