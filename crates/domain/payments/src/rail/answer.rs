//! The answers of rails, and how certain they are.
//!
//! If the answer to a call that may have reached the rail is missing or cannot be parsed, the result is
//! `Unknown`. It never fails a payment, and the rail is asked again.

use async_trait::async_trait;
use quipu_kernel::{Amount, Currency, Timestamp};

use crate::{
    details::instructions::Instructions,
    payment::{Payment, failure::Failure},
    rail::event::RailEvent,
};

/// The answer to a request for a deposit's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instructed {
    /// The instructions for the payer.
    Given(Box<Instructions>),
    /// The rail refuses this payment.
    Rejected(Failure),
    /// The rail may have accepted the payment or not.
    Unknown,
}

/// Whether a rail has room for one more call.
pub enum Capacity {
    /// The call is certain to be sent.
    Reserved(Reservation),
    /// Other calls come first; there will be room in a moment.
    Busy,
    /// The rail takes no calls now and is not called for a while.
    CircuitOpen,
}

/// Room for a call, granted to a payment that is about to be committed and used once it is.
pub enum Reservation {
    /// No room is needed, since the rail takes every call.
    Unneeded,
    /// Room for the one call, reserved until this is dropped.
    Kept(Box<dyn Reserved>),
}

/// Room that is reserved for a call to a rail.
#[async_trait]
pub trait Reserved: Send {
    /// Asks for a deposit's instructions; the request is certain to be sent.
    async fn instruct(self: Box<Self>, payment: &Payment) -> Instructed;

    /// Hands a withdrawal to the rail; the call is certain to be sent.
    async fn submit(self: Box<Self>, payment: &Payment) -> Submission;
}

/// The answer to handing a withdrawal to its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// The rail has it, and will pay it or report why not.
    Accepted {
        /// The rail's own identifier of it.
        provider_reference: Option<String>,
    },
    /// The rail will not pay it.
    Rejected(Failure),
    /// The rail may have it or not.
    Unknown,
    /// The call was not made, since the rail takes none now; the rail does not have it from this call.
    NotSent,
}

/// The status of a payment at its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RailStatus {
    /// Nothing is decided yet; it must be asked again.
    Pending,
    /// Nothing is decided yet, and the rail will report by itself.
    WillReport,
    /// The events that the rail would report by callbacks, in the order in which they arrive, and when it will
    /// have more.
    Events(Vec<RailEvent>, Option<Timestamp>),
    /// The money arrived.
    Completed(Arrival),
    /// The money will not arrive.
    Failed(Failure),
    /// The rail answers that it does not know the payment.
    NotFound,
    /// The rail did not answer, or its answer could not be understood.
    Silent,
    /// The rail was not asked: other calls come first, and there will be room in a moment.
    Busy,
    /// The rail was not asked: it takes no calls now and is not called for a while.
    CircuitOpen,
}

/// Money that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Amount in minor units.
    pub amount: Amount,
    /// Currency of the amount.
    pub currency: Currency,
    /// The rail's own identifier of the payment.
    pub provider_reference: Option<String>,
}
