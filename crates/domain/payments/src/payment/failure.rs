//! Why a payment failed, with the list of our own codes.

use quipu_kernel::wire_names;
use serde::{Deserialize, Serialize};

wire_names! {
    /// A code of our own for a failure (docs/API.md, "Statuses").
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FailureCode {
        /// The payer did not pay in time, or nobody named the recipient of a hosted withdrawal in time.
        Expired = "EXPIRED",
        /// The merchant cancelled a withdrawal and gave a reason.
        Cancelled = "CANCELLED",
        /// The bank sent a completed withdrawal back.
        PayoutReturned = "PAYOUT_RETURNED",
        /// The rail did not accept the payment.
        RailRejected = "RAIL_REJECTED",
        /// The rail reported that the payment failed, under no code of its own.
        RailFailed = "RAIL_FAILED",
        /// A person of the operator's staff decided that it failed.
        Operator = "OPERATOR",
        /// It failed for a reason that nobody gave.
        Failed = "FAILED",
        /// The payer declined on the page that plays a scheme in the test environment.
        Declined = "DECLINED",
        /// The simulator was told to let it fail.
        SimulatedFailure = "SIMULATED_FAILURE",
    }
}

/// Why a payment failed, or was undone after it had succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code: that of a [`FailureCode`], or the rail's own.
    pub code: String,
    /// The reason in words, for a person.
    pub message: String,
}

impl Failure {
    /// The most characters of a rail's own code.
    pub const MOST_IN_CODE: usize = 64;
    /// The most characters of a rail's own words.
    pub const MOST_IN_MESSAGE: usize = 500;

    /// A failure under a code of our own.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code: code.as_str().to_owned(), message: message.into() }
    }

    /// A failure that a rail reported, with its own code and words if it gave any.
    pub fn reported(code: Option<String>, message: Option<String>) -> Self {
        Self {
            code: code.unwrap_or_else(|| FailureCode::RailFailed.as_str().to_owned()),
            message: message.unwrap_or_else(|| "the rail reported a failure".to_owned()),
        }
    }
}
