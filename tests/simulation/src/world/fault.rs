//! Planted faults: rules of the gateway that are broken on purpose, one at a time, by whoever stands between
//! the use cases and their ports. Nothing in the gateway knows of them. A world that does not notice one of
//! them is blind on that side.

/// A rule that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A completion is committed without its event.
    EventLost,
    /// A change tells its event twice.
    EventTwice,
    /// An event forgets the status before.
    EventForgetsPrevious,
    /// A deposit completes and nothing is credited.
    CreditLost,
    /// A deposit is credited twice.
    CreditedTwice,
    /// A deposit is credited in another currency.
    CreditedInOtherCurrency,
    /// A deposit is credited without its fee.
    FeeForgotten,
    /// A withdrawal freezes its amount and not its fee.
    FeeNotFrozen,
    /// A withdrawal that failed gives back its amount and not its fee.
    FeeNotReleased,
    /// A payout that came back is not given back.
    ReturnKept,
    /// The fee is a unit too high.
    FeeMiscounted,
    /// Payments that move are not counted anew.
    CounterForgotten,
    /// Two payments may have one reference.
    ReferenceUnguarded,
    /// A reference is never free again.
    ReferenceKept,
    /// A decision overwrites what it has not seen.
    RevisionUnguarded,
    /// Word of the rail counts as often as it comes.
    WordUnguarded,
    /// Word of the rail is not stored.
    WordNotStored,
    /// A callback is acknowledged before it is stored.
    WordAcknowledgedTooEarly,
    /// What was parked is forgotten.
    ReceiptLost,
    /// An answer is not kept under its key.
    KeyNotKept,
    /// An operator's key does not hold.
    AdjustedTwice,
    /// A nonce is not burnt.
    NonceNotBurnt,
    /// A withdrawal is not due for submission.
    SubmissionForgotten,
    /// A deposit is never due to expire.
    ExpiryForgotten,
    /// What is put off is done with.
    PostponementForgotten,
    /// What is due is taken up too early.
    ClaimedTooEarly,
    /// A lease does not end.
    LeaseWithoutEnd,
    /// A deposit whose node dies while it calls the bank waits for the first question of the schedule.
    CallLeftAlone,
    /// A slow payment by redirect alerts nobody.
    AlertForgotten,
    /// A payment by redirect alerts somebody before it is slow.
    AlertedTooEarly,
    /// A refund leaves no row.
    RefundRowLost,
    /// A decision leaves no line in the audit log.
    AuditLineLost,
    /// No customer is ever found again.
    CustomerNeverFound,
    /// A withdrawal can be cancelled after its submission.
    CancelledAfterSubmission,
    /// Refunds do not count against the next.
    RefundsForgotten,
    /// A payment that is completed can be completed.
    ConfirmedTwice,
    /// Money that comes late is parked.
    LateMoneyRefused,
    /// Whatever amount arrives counts as the one that was agreed.
    AmountUnchecked,
    /// A bank that is silent about a payout has refused it.
    SilenceIsFailure,
    /// A payout about which nothing is decided is paid.
    PendingIsPaid,
    /// A payout of which the bank never heard has failed.
    NotFoundIsFailure,
    /// A payout is submitted under a reference of each attempt.
    FreshReference,
    /// Only the first endpoint is told.
    EndpointForgotten,
    /// Endpoints are told what they did not subscribe to.
    UnsubscribedTold,
    /// A delivery that failed counts as delivered.
    FailureIsDelivery,
    /// A delivery is given up after its second attempt.
    GivesUpTooSoon,
    /// A repeated delivery has other bytes.
    PayloadMadeAnew,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 47] = [
        Self::EventLost,
        Self::EventTwice,
        Self::EventForgetsPrevious,
        Self::CreditLost,
        Self::CreditedTwice,
        Self::CreditedInOtherCurrency,
        Self::FeeForgotten,
        Self::FeeNotFrozen,
        Self::FeeNotReleased,
        Self::ReturnKept,
        Self::FeeMiscounted,
        Self::CounterForgotten,
        Self::ReferenceUnguarded,
        Self::ReferenceKept,
        Self::RevisionUnguarded,
        Self::WordUnguarded,
        Self::WordNotStored,
        Self::WordAcknowledgedTooEarly,
        Self::ReceiptLost,
        Self::KeyNotKept,
        Self::AdjustedTwice,
        Self::NonceNotBurnt,
        Self::SubmissionForgotten,
        Self::ExpiryForgotten,
        Self::PostponementForgotten,
        Self::ClaimedTooEarly,
        Self::LeaseWithoutEnd,
        Self::CallLeftAlone,
        Self::AlertForgotten,
        Self::AlertedTooEarly,
        Self::RefundRowLost,
        Self::AuditLineLost,
        Self::CustomerNeverFound,
        Self::CancelledAfterSubmission,
        Self::RefundsForgotten,
        Self::ConfirmedTwice,
        Self::LateMoneyRefused,
        Self::AmountUnchecked,
        Self::SilenceIsFailure,
        Self::PendingIsPaid,
        Self::NotFoundIsFailure,
        Self::FreshReference,
        Self::EndpointForgotten,
        Self::UnsubscribedTold,
        Self::FailureIsDelivery,
        Self::GivesUpTooSoon,
        Self::PayloadMadeAnew,
    ];
}
