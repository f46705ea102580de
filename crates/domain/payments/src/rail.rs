//! The port to the rails, which move the money.

pub(crate) mod answer;
pub(crate) mod callback;
pub(crate) mod event;
pub(crate) mod rails;

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::Timestamp;
use quipu_merchants::{Direction, Route};

use crate::{
    details::instructions::Instructions,
    payment::{Due, Payment},
    rail::{
        answer::{Capacity, Instructed, RailStatus, Reservation, Submission},
        callback::{CallbackHeaders, NotVerified},
    },
};

/// How long a provider that fails repeatedly gets no calls. Whoever wanted to call it is to come back after this time.
pub const CIRCUIT_OPEN_FOR: Duration = Duration::from_secs(15);

/// The instructions that a rail makes for a new payment without asking a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuedInstructions {
    /// The instructions for the payer; empty for a withdrawal.
    pub instructions: Instructions,
    /// The first thing that a worker has to do with the payment.
    pub due: Option<Due>,
    /// An expiry that replaces the route's.
    pub expires_at: Option<Timestamp>,
    /// Whether the instructions have to be requested by [`Rail::instruct`] once the payment is committed.
    pub must_be_requested: bool,
}

/// A rail, which moves the money. It is found by the name that a route gives.
#[async_trait]
pub trait Rail: Send + Sync {
    /// The name that routes use.
    fn name(&self) -> &str;

    /// The instructions of a new payment, or of one whose recipient has just been named, made quickly and without
    /// I/O: they are part of that commit. Its time is the payment's `updated_at`; `created_at` may be long ago.
    fn issue(&self, payment: &Payment, route: &Route) -> IssuedInstructions;

    /// Reserves room for the call that follows the commit of a payment of this direction, so that it is certain
    /// to be made: the call for a deposit's instructions that
    /// [must be requested](IssuedInstructions::must_be_requested), or the submission of a withdrawal. Without
    /// room the deposit is not made, and the withdrawal is not reported as on its way. It may wait for its
    /// turn, but never for long.
    async fn reserve(&self, _direction: Direction) -> Capacity {
        Capacity::Reserved(Reservation::Unneeded)
    }

    /// The gaps between questions about a payment whose outcome is open; the last one repeats. Empty if the
    /// rail is never asked.
    fn questions(&self) -> &[Duration] {
        &[]
    }

    /// Asks for a deposit's instructions, after the payment was committed and if no room was
    /// [reserved](Self::reserve). It may be called again, always under the payment's own identifier.
    async fn instruct(&self, _payment: &Payment) -> Instructed {
        Instructed::Unknown
    }

    /// Hands a withdrawal to the rail, if no room was [reserved](Self::reserve). It is called only after the
    /// commit that made the payment `processing`, always under the payment's own identifier, and may be
    /// called again after a crash.
    async fn submit(&self, payment: &Payment) -> Submission;

    /// Asks the rail for the status of a payment.
    async fn ask(&self, payment: &Payment) -> RailStatus;

    /// The name in the path of its callbacks; `None` if it sends no callbacks.
    fn callback_name(&self) -> Option<&str> {
        None
    }

    /// Whether the raw body of a callback was signed by this rail recently.
    fn verify_callback(&self, _headers: CallbackHeaders<'_>, _body: &[u8]) -> Result<(), NotVerified> {
        Err(NotVerified::NoCallbacks)
    }
}

impl Reservation {
    /// Asks for a deposit's instructions, by the reserved call if there is one.
    pub(crate) async fn instruct(self, rail: &dyn Rail, payment: &Payment) -> Instructed {
        match self {
            Self::Kept(reserved) => reserved.instruct(payment).await,
            Self::Unneeded => rail.instruct(payment).await,
        }
    }

    /// Hands a withdrawal to the rail, by the reserved call if there is one.
    pub(crate) async fn submit(self, rail: &dyn Rail, payment: &Payment) -> Submission {
        match self {
            Self::Kept(reserved) => reserved.submit(payment).await,
            Self::Unneeded => rail.submit(payment).await,
        }
    }
}
