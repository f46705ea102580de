//! The refusals of the use cases of this crate.

use quipu_commit::{CommitError, Index, Refusal};
use quipu_kernel::{Problems, StoreError};

use crate::{
    ports::{FileRefused, ThumbnailFailed},
    ticket::NoSuchStep,
};

/// Why a use case did nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TicketError {
    /// The request breaks rules; each problem names its field.
    #[error("the request is not valid")]
    Invalid(Problems),
    /// The tenant has no such ticket.
    #[error("there is no such ticket")]
    NotFound,
    /// The ticket does not have this step in its status.
    #[error(transparent)]
    NoSuchStep(#[from] NoSuchStep),
    /// Another ticket is about the same payment.
    #[error("there is a ticket for this payment already")]
    ExistsForPayment,
    /// The ticket has the greatest number of files already.
    #[error("a ticket has at most {0} attachments")]
    TooManyFiles(usize),
    /// The ticket changed each time before the decision could be committed; nothing was done.
    #[error("the ticket kept changing")]
    Overtaken,
    /// The store of files failed; the text is for the log.
    #[error("the store of files failed: {0}")]
    Files(String),
    /// A thumbnail could not be made this time.
    #[error(transparent)]
    Thumbnail(#[from] ThumbnailFailed),
    /// The store failed. After `OutcomeUnknown` the change may have been made all the same.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for TicketError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::Stale) => Self::Overtaken,
            CommitError::Refused(Refusal::NameTaken { name, .. }) if name.index == Index::TICKET_PAYMENT => {
                Self::ExistsForPayment
            }
            error => Self::Store(error.into()),
        }
    }
}

/// Why the bytes of an upload were refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UploadError {
    /// There is no such upload.
    #[error("there is no such upload")]
    NotFound,
    /// The file has arrived already; the URL can be used once only.
    #[error("the upload URL has been used")]
    Used,
    /// The file breaks a rule.
    #[error(transparent)]
    Refused(#[from] FileRefused),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for UploadError {
    fn from(error: CommitError) -> Self {
        Self::Store(error.into())
    }
}
