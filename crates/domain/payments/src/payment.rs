//! A payment: the terms it was made on, and the state it is in.
//!
//! The status changes only through [`Payment::apply`]. Some things change without a move: a rail's
//! instructions and the recipient of a hosted withdrawal become part of the state when they are known, and the
//! recipient ends the expiry. The commit that makes a payment fills in the number of its customer. No other
//! term ever changes.

pub(crate) mod additions;
pub(crate) mod apply;
pub(crate) mod changes;
pub(crate) mod counters;
pub(crate) mod decision;
pub(crate) mod failure;
pub(crate) mod moves;
pub(crate) mod page_links;
pub(crate) mod payload;
pub(crate) mod refund;
pub(crate) mod status;
pub(crate) mod step_events;
pub(crate) mod stored_events;
pub(crate) mod view;

use quipu_kernel::{Amount, Currency, CustomerId, Minor, PaymentId, Tenant, Timestamp, wire_names};
use quipu_merchants::{Method, ReturnUrls, RouteKey};
use quipu_webhooks::EventName;

use crate::{
    details::{
        customer::Customer,
        instructions::Instructions,
        kind::{PaymentType, RedirectScheme, TrafficType},
        payout::Payout,
    },
    payment::{
        failure::Failure,
        status::{Situation, Status},
    },
};

/// A webhook target that a request named for its own payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InRequestWebhook {
    /// The URL that deliveries are sent to.
    pub url: String,
    /// The events that are sent to it.
    pub events: Vec<EventName>,
}

/// The most characters of a reason that a merchant or a member of staff gives.
pub(crate) const MAX_REASON: usize = 500;

wire_names! {
    /// What a worker must do with a payment next.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DueAction {
        /// Hand a withdrawal to its rail.
        Submit = "submit",
        /// Ask the rail for its status.
        Ask = "ask",
        /// Let it expire, since its time is over.
        Expire = "expire",
    }
}

/// The next thing to do with a payment, and the earliest time for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The earliest time to do it (UTC).
    pub at: Timestamp,
    /// The thing to do.
    pub action: DueAction,
}

impl Due {
    /// The earlier of two things to do.
    pub fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

/// The terms that were agreed when the payment was made. Only the customer's number and the expiry change
/// later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Its identifier, shown as `transaction_id`.
    pub id: PaymentId,
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// Deposit or withdrawal, hosted or not.
    pub kind: PaymentType,
    /// The payment method.
    pub method: Method,
    /// Currency of all its amounts.
    pub currency: Currency,
    /// Amount in minor units.
    pub amount: Amount,
    /// The merchant's own reference.
    pub merchant_reference: String,
    /// The customer who pays or is paid.
    pub customer: Customer,
    /// The rail of the route it was made on.
    pub rail: String,
    /// When it was made (UTC).
    pub created_at: Timestamp,
    /// When it expires, if it does (UTC). A hosted withdrawal waits for nobody once its recipient is named.
    pub expires_at: Option<Timestamp>,
    /// The merchant's text about the payment.
    pub description: Option<String>,
    /// A further text of the merchant about the payment.
    pub note: Option<String>,
    /// A further identifier of the merchant's, beside the reference.
    pub external_id: Option<String>,
    /// The merchant's classification of its traffic.
    pub traffic_type: Option<TrafficType>,
    /// The payment's own webhook target.
    pub webhook: Option<InRequestWebhook>,
    /// The addresses to which a hosted page, or the provider's own, leads the payer afterwards.
    pub return_urls: ReturnUrls,
    /// The scheme that `redirectpay` is restricted to.
    pub redirect_scheme: Option<RedirectScheme>,
}

impl Terms {
    /// The end of the payment's time, as the next thing to do, if it has one.
    pub(crate) fn expiry(&self) -> Option<Due> {
        self.expires_at.map(|at| Due { at, action: DueAction::Expire })
    }
}

/// The state of a payment. Its status changes only through [`Payment::apply`]; instructions and a recipient
/// that become known later are added without a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// How often the status was set, the first included.
    pub version: i32,
    /// The fee, in minor units.
    pub fee: Minor,
    /// The sum of all refunds, in minor units.
    pub refunded_amount: Minor,
    /// The amount that arrived, in minor units, if it differed from the agreed one and the operator accepted
    /// it.
    pub received_amount: Option<Amount>,
    /// Whether the money arrived after the payment had ended.
    pub late: bool,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// The recipient of a withdrawal.
    pub payout: Option<Payout>,
    /// The instructions for the payer.
    pub instructions: Instructions,
    /// The rail's own identifier of it: that of the money which moved, and before that the latest one that the rail named.
    pub provider_reference: Option<String>,
    /// How often the payment was written, including the first time. A decision that changes the payment
    /// refers to it.
    pub revision: i64,
    /// When it completed (UTC).
    pub completed_at: Option<Timestamp>,
    /// When it last changed (UTC).
    pub updated_at: Timestamp,
}

impl State {
    /// The state with which a payment of this kind begins at `at`: no fee and no instructions.
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
            provider_reference: None,
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
    /// A payment that was read from a store.
    pub const fn restore(terms: Terms, state: State) -> Self {
        Self { terms, state }
    }

    /// A payment that is being made.
    pub(crate) const fn new(terms: Terms, state: State) -> Self {
        Self { terms, state }
    }

    /// The payment with the next revision, under which a change saves it.
    const fn revised(mut self) -> Self {
        self.state.revision += 1;
        self
    }

    /// The terms that were agreed.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Its current state.
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

    /// The facts that the transition table needs.
    pub fn situation(&self) -> Situation {
        Situation {
            kind: self.terms.kind,
            method: self.terms.method,
            has_recipient: self.state.payout.is_some(),
            refundable: self.refundable(),
        }
    }

    /// The key of its route: for a partner destination the partner route, and until a recipient is known the other.
    pub fn route_key(&self) -> RouteKey {
        RouteKey {
            environment: self.terms.tenant.environment(),
            currency: self.terms.currency,
            method: self.terms.method,
            direction: self.terms.kind.direction(),
            partner: self.state.payout.as_ref().is_some_and(Payout::is_partner),
        }
    }

    /// Whether no other payment may have its `merchant_reference`. A late completion does not claim the
    /// reference again.
    pub const fn holds_reference(&self) -> bool {
        !self.state.status.frees_reference() && !self.state.late
    }

    /// `amount − fee` for a deposit (of the received amount, if that differs); the amount that the recipient
    /// gets for a withdrawal.
    pub fn net_amount(&self) -> Minor {
        match self.terms.kind.direction() {
            quipu_merchants::Direction::Deposit => {
                let net = self.paid_amount().minor().checked_sub(self.state.fee);
                net.unwrap_or_else(|_| unreachable!("no fee is below zero"))
            }
            quipu_merchants::Direction::Withdrawal => self.terms.amount.minor(),
        }
    }

    /// The amount that was paid: the received one, if that differs from the agreed one.
    pub(crate) fn paid_amount(&self) -> Amount {
        self.state.received_amount.unwrap_or(self.terms.amount)
    }

    /// Sets the customer that the commit matched or made.
    pub const fn assign_customer(&mut self, id: CustomerId) {
        self.terms.customer.id = id;
    }
}
