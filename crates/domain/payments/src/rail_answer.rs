//! What rails answer when they are asked, and how sure that is.
//!
//! If the answer to a call that may have reached the rail is missing or cannot be parsed, the result is `Unknown`. It never
//! fails a payment, and is asked about again.

use async_trait::async_trait;
use quipu_kernel::{Amount, Currency, Timestamp};

use crate::{
    instructions::Instructions,
    payment::{Failure, Payment},
    rail_event::RailEvent,
};

/// What came of asking a rail for a deposit's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instructed {
    /// What the payer needs.
    Given(Box<Instructions>),
    /// The rail will not take this payment.
    Rejected(Failure),
    /// The rail may have taken it on or not.
    Unknown,
}

/// What a rail grants to a payment that is about to be committed, and handed to it then.
pub enum Reservation {
    /// It takes every call.
    Unneeded,
    /// Room for the one call, kept for it until this is dropped.
    Kept(Box<dyn Reserved>),
}

/// Room for a call to a rail.
#[async_trait]
pub trait Reserved: Send {
    /// Asks for a deposit's instructions, which will surely be sent.
    async fn instruct(self: Box<Self>, payment: &Payment) -> Instructed;

    /// Hands a withdrawal over, which will surely be sent.
    async fn submit(self: Box<Self>, payment: &Payment) -> Submission;
}

/// Whether a withdrawal that is submitted now will be sent.
pub enum Promise {
    /// It will.
    Given(Reservation),
    /// Others are before it; there will be room in a moment.
    NoRoom,
    /// The rail takes no calls now and is left alone for a while.
    LeftAlone,
}

/// What came of handing a withdrawal to its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// The rail has it, and will pay it or tell why not.
    Accepted {
        /// The rail's own name for it.
        provider_reference: Option<String>,
    },
    /// The rail will not pay it.
    Rejected(Failure),
    /// The rail may have it or not.
    Unknown,
    /// The rail takes no calls now; it surely does not have it from this one.
    NotSent,
}

/// How a payment stands at its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RailStatus {
    /// Nothing is decided yet; ask again.
    Pending,
    /// Nothing is decided yet, and the rail will tell by itself.
    AwaitWord,
    /// What the rail would tell by callbacks, in the order in which they arrive, and when it has more to tell.
    Told(Vec<RailEvent>, Option<Timestamp>),
    /// The money arrived.
    Completed(Arrival),
    /// The money will not arrive.
    Failed(Failure),
    /// The rail answers that it never heard of the payment.
    NeverHeardOf,
    /// The rail did not answer, or not so that it could be understood.
    Silent,
    /// It was not asked: others are before it, and there will be room in a moment.
    NoRoom,
    /// It was not asked: the rail takes no calls now and is left alone for a while.
    LeftAlone,
}

/// Money that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// How much, in minor units.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// The rail's own name for it.
    pub provider_reference: Option<String>,
}
