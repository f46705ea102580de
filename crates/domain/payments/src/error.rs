//! The refusals of the use cases of this crate.

use quipu_commit::{CommitError, Refusal};
use quipu_kernel::{Amount, Currency, PaymentId, Problems, StoreError};
use quipu_ledger::PostingError;

use crate::{
    history::receipt::NotResolved,
    payment::{apply::NotMoved, refund::NotRefundable, status::Status},
};

/// Why no payment was created.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CreateError {
    /// The request breaks rules; each problem names its field.
    #[error("the request is not valid")]
    Invalid(Problems),
    /// The merchant has no route at all in this currency.
    #[error("currency {0} is not enabled")]
    CurrencyNotEnabled(Currency),
    /// The merchant has no enabled route for this method, currency and direction.
    #[error(
        "no route is enabled for this method, currency and type; GET /api/v1/payments/methods lists those that are"
    )]
    MethodNotAvailable,
    /// The amount is outside the route's bounds, below its fee, or more than a balance could hold.
    #[error("the amount is out of range: {}", bounds(*.min, *.max))]
    AmountOutOfRange {
        /// The least amount of the route.
        min: Amount,
        /// The greatest amount of the route.
        max: Option<Amount>,
    },
    /// There is no enabled partner route in this currency.
    #[error("the partner payout route is not enabled for this currency")]
    PartnerPayoutNotReady,
    /// The available balance does not cover amount and fee.
    #[error("the available balance does not cover the amount and its fee")]
    InsufficientBalance,
    /// Another payment of the tenant holds the reference.
    #[error("merchant_reference is already used by another payment")]
    DuplicateReference {
        /// The payment that holds it.
        holder: PaymentId,
    },
    /// The first request under the same key is still running, or its answer cannot be given yet.
    #[error(
        "the first request with this idempotency key is still running, or its answer cannot be given yet: wait a second \
         and send it again"
    )]
    IdempotencyKeyInUse,
    /// The key was used with another body.
    #[error("the idempotency key was used with another request body")]
    IdempotencyKeyMismatch,
    /// The nonce was used before.
    #[error("the nonce has been used")]
    NonceUsed,
    /// The outcome is not known: the store could not tell whether the payment was made, or it was made and
    /// its rail gave no answer that could be understood. A repeat under the same key or reference finds the
    /// payment or makes it, and never makes a second one.
    #[error("the outcome is unknown: repeat the request with the same idempotency key or reference")]
    OutcomeUnknown {
        /// The identifier of the payment.
        id: PaymentId,
        /// Why the outcome is not known, for the log. A repeat under the same key is not logged again.
        cause: String,
    },
    /// The provider that would give the instructions has not answered lately and is left alone for a while; the payment
    /// was not made.
    #[error(
        "the payment provider of this method does not answer at present and nothing was changed; try again later"
    )]
    ProviderSilent,
    /// The store failed, and the payment was not made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CreateError {
    /// Whether it says that nothing happened and that the same call, with the same nonce, may be sent again.
    pub(crate) const fn invites_repeat(&self) -> bool {
        matches!(
            self,
            Self::ProviderSilent | Self::Store(StoreError::Overloaded | StoreError::Unavailable(_))
        )
    }

    /// Whether a repeat under the same idempotency key is to get this answer again: the refusal follows from
    /// the merchant's state, and not from the form or the credentials of the request.
    pub(crate) const fn is_kept(&self) -> bool {
        matches!(
            self,
            Self::CurrencyNotEnabled(_)
                | Self::MethodNotAvailable
                | Self::AmountOutOfRange { .. }
                | Self::PartnerPayoutNotReady
                | Self::InsufficientBalance
                | Self::DuplicateReference { .. }
        )
    }
}

fn bounds(min: Amount, max: Option<Amount>) -> String {
    let most = max.map(|max| format!(" and at most {max}")).unwrap_or_default();
    format!("it must be at least {min}{most}, cover its fee and take no balance beyond 2^53 - 1")
}

/// Why a payment was not cancelled.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CancelError {
    /// The tenant has no such payment.
    #[error("there is no such payment")]
    NotFound,
    /// Its status does not allow it (`PAYMENT_ALREADY_PROCESSED`).
    #[error("the payment is {} and can no longer be cancelled", .0.as_str())]
    AlreadyProcessed(Status),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for CancelError {
    fn from(error: CommitError) -> Self {
        Self::Store(error.into())
    }
}

/// Why the due work on a payment was not done. It stays due.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SettleError {
    /// The ledger cannot post what happened. The operator has to make room; it is tried again in an hour.
    #[error("the ledger cannot take its outcome, which is tried again in an hour: {0}")]
    Unbookable(PostingError),
    /// There is no rail with the name that the payment was made with. It is reported once a minute for each
    /// name.
    #[error("the rail {0} is not configured")]
    UnknownRail(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for SettleError {
    fn from(error: CommitError) -> Self {
        RailEventError::from(error).into()
    }
}

impl From<RailEventError> for SettleError {
    fn from(error: RailEventError) -> Self {
        match error {
            RailEventError::Unbookable(error) => Self::Unbookable(error),
            RailEventError::Store(error) => Self::Store(error),
        }
    }
}

/// Why an event of a rail was not processed. The rail will send it again.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RailEventError {
    /// The ledger cannot post it.
    #[error("the ledger cannot take it: {0}")]
    Unbookable(PostingError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for RailEventError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::Posting(error)) => Self::Unbookable(error),
            error => Self::Store(error.into()),
        }
    }
}

/// What stands in the way of a person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum NotAllowed {
    /// The payment does not make the move.
    Move(#[from] NotMoved),
    /// The payment cannot be refunded.
    Refund(#[from] NotRefundable),
    /// The receipt cannot be resolved so.
    Receipt(#[from] NotResolved),
}

/// Why a person's decision about a payment or a balance was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DecideError {
    /// There is no such payment.
    #[error("there is no such payment")]
    PaymentNotFound,
    /// There is no such receipt.
    #[error("there is no such receipt")]
    ReceiptNotFound,
    /// The state of the payment or receipt does not allow it (`INVALID_STATUS_TRANSITION`).
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The refunds would sum to more than was paid.
    #[error("{0}")]
    ExceedsPayment(NotRefundable),
    /// The available balance does not cover it.
    #[error("the available balance does not cover it")]
    InsufficientBalance,
    /// A balance would go beyond 2^53 − 1 minor units.
    #[error("a balance would go beyond 2^53 - 1 minor units")]
    OutOfRange,
    /// An answer was kept under the key meanwhile; look it up.
    #[error("the idempotency key has been used meanwhile")]
    IdempotencyKeyUsed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for DecideError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::Posting(PostingError::InsufficientFunds)) => {
                Self::InsufficientBalance
            }
            CommitError::Refused(Refusal::Posting(PostingError::OutOfRange)) => Self::OutOfRange,
            CommitError::Refused(Refusal::IdempotencyKeyUsed) => Self::IdempotencyKeyUsed,
            error => Self::Store(error.into()),
        }
    }
}
