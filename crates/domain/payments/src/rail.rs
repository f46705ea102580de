//! The port to where money really moves.

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::Timestamp;
use quipu_merchants::Route;

use crate::{
    callback::{CallbackHeaders, NotVerified},
    instructions::Instructions,
    payment::{Due, Payment},
    rail_answer::{Instructed, Promise, RailStatus, Reservation, Submission},
};

/// What a rail gives for a new payment, without asking anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuedInstructions {
    /// What the payer needs; nothing for a withdrawal.
    pub instructions: Instructions,
    /// When a worker must first attend to it.
    pub due: Option<Due>,
    /// An expiry other than the route's.
    pub expires_at: Option<Timestamp>,
    /// Whether the instructions have to be asked for by [`Rail::instruct`], once the payment is committed.
    pub remote: bool,
}

/// Where money really moves. A rail is found by the name that a route gives.
#[async_trait]
pub trait Rail: Send + Sync {
    /// The name that routes use.
    fn name(&self) -> &str;

    /// What a new payment begins with, made quickly and without I/O: it is part of the payment's own commit.
    fn issue(&self, payment: &Payment, route: &Route) -> IssuedInstructions;

    /// Keeps room for the call for a deposit's [remote](IssuedInstructions::remote) instructions, so that it will surely be
    /// made once the deposit is committed. Nothing if the rail takes no call now: then the deposit is not made. A turn is
    /// waited for, though never for long.
    async fn reserve(&self) -> Option<Reservation> {
        Some(Reservation::Unneeded)
    }

    /// Promises the caller, who is about to submit a withdrawal, that it will be sent, or not. What could not be sent must not be
    /// told to be on its way. Where only its turn is missing, that is waited for, though never for long.
    async fn promise(&self) -> Promise {
        Promise::Given(Reservation::Unneeded)
    }

    /// The gaps between questions about a payment whose outcome is open; the last one repeats. None where the rail is never
    /// asked.
    fn questions(&self) -> &[Duration] {
        &[]
    }

    /// Asks for a deposit's instructions, after the payment was committed and if no room was [kept](Self::reserve) for that.
    /// It may be called again, always under the payment's own identifier.
    async fn instruct(&self, _payment: &Payment) -> Instructed {
        Instructed::Unknown
    }

    /// Hands a withdrawal over, if no room was [kept](Self::promise) for that. It is called only after the commit that made
    /// the payment `processing`, always under the payment's own identifier, and may be called again after a crash.
    async fn submit(&self, payment: &Payment) -> Submission;

    /// Asks how a payment stands.
    async fn ask(&self, payment: &Payment) -> RailStatus;

    /// The name in the path of its callbacks; none where it sends none.
    fn callback_name(&self) -> Option<&str> {
        None
    }

    /// Whether a callback's raw body was signed by this rail, and lately.
    fn verify_callback(&self, _headers: CallbackHeaders<'_>, _body: &[u8]) -> Result<(), NotVerified> {
        Err(NotVerified::NoCallbacks)
    }
}
