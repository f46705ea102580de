//! The one mapping of the domain's errors to an [`ApiError`].

use quipu_kernel::{Problems, StoreError};
use quipu_merchants::DirectoryError;
use quipu_payments::{
    AttemptError, CancelError, CreateError, DecideError, FillError, NotVerified, RailEventError,
};
use quipu_signing::{ApiKeyProblem, SignatureProblem};
use quipu_tickets::{FileRefused, TicketError, UploadError};
use quipu_webhooks::EndpointError;

use super::{error::ApiError, error_code::ErrorCode};

impl From<Problems> for ApiError {
    fn from(problems: Problems) -> Self {
        Self::Validation(problems)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overloaded => Self::Overloaded,
            StoreError::Unavailable(cause) => Self::Unavailable { cause },
            StoreError::OutcomeUnknown(cause) => Self::OutcomeUnknown { cause },
            StoreError::Failed(cause) => Self::Internal { cause },
        }
    }
}

impl From<&CreateError> for ApiError {
    fn from(error: &CreateError) -> Self {
        let code = match error {
            CreateError::Invalid(problems) => return Self::Validation(problems.clone()),
            CreateError::Store(error) => return error.clone().into(),
            CreateError::ProviderSilent => return Self::ProviderSilent,
            CreateError::OutcomeUnknown { id, cause } => {
                let (id, cause) = (id.clone(), cause.clone());
                return Self::CreationUnknown { id, message: error.to_string(), cause };
            }
            CreateError::NonceUsed => ErrorCode::NonceReused,
            CreateError::DuplicateReference { .. } => ErrorCode::DuplicateMerchantReference,
            CreateError::IdempotencyKeyInUse => ErrorCode::IdempotencyKeyInUse,
            CreateError::IdempotencyKeyMismatch => ErrorCode::IdempotencyKeyMismatch,
            CreateError::CurrencyNotEnabled(_) => ErrorCode::CurrencyNotEnabled,
            CreateError::MethodNotAvailable => ErrorCode::MethodNotAvailable,
            CreateError::AmountOutOfRange { .. } => ErrorCode::AmountOutOfRange,
            CreateError::PartnerPayoutNotReady => ErrorCode::PartnerPayoutNotReady,
            CreateError::InsufficientBalance => ErrorCode::InsufficientBalance,
        };
        let transaction_id = match error {
            CreateError::DuplicateReference { holder } => Some(holder.as_str().to_owned()),
            _ => None,
        };
        Self::Refused { code, message: error.to_string(), transaction_id }
    }
}

impl From<CreateError> for ApiError {
    fn from(error: CreateError) -> Self {
        (&error).into()
    }
}

impl From<FillError> for ApiError {
    fn from(error: FillError) -> Self {
        let code = match error {
            FillError::NotFound => return Self::page_not_found(),
            FillError::Invalid(problems) => return problems.into(),
            FillError::Store(error) => return error.into(),
            FillError::NotAwaited => ErrorCode::PaymentAlreadyProcessed,
            FillError::MethodNotAvailable => ErrorCode::MethodNotAvailable,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<CancelError> for ApiError {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::NotFound => Self::payment_not_found(),
            CancelError::AlreadyProcessed(_) => {
                Self::refused(ErrorCode::PaymentAlreadyProcessed, error.to_string())
            }
            CancelError::Store(error) => error.into(),
        }
    }
}

impl From<AttemptError> for ApiError {
    fn from(error: AttemptError) -> Self {
        let code = match &error {
            AttemptError::Mismatch => ErrorCode::IdempotencyKeyMismatch,
            AttemptError::InUse => ErrorCode::IdempotencyKeyInUse,
            AttemptError::Store(error) => return error.clone().into(),
        };
        Self::refused(code, error.to_string())
    }
}

impl From<DecideError> for ApiError {
    fn from(error: DecideError) -> Self {
        let code = match &error {
            DecideError::PaymentNotFound => return Self::payment_not_found(),
            DecideError::ReceiptNotFound => ErrorCode::ReceiptNotFound,
            DecideError::NotAllowed(_) => ErrorCode::InvalidStatusTransition,
            DecideError::ExceedsPayment(_) => ErrorCode::RefundExceedsPayment,
            DecideError::InsufficientBalance => ErrorCode::InsufficientBalance,
            DecideError::OutOfRange => ErrorCode::AmountOutOfRange,
            DecideError::IdempotencyKeyUsed => return AttemptError::InUse.into(),
            DecideError::Store(error) => return error.clone().into(),
        };
        Self::refused(code, error.to_string())
    }
}

impl From<RailEventError> for ApiError {
    fn from(error: RailEventError) -> Self {
        match error {
            RailEventError::Store(error) => error.into(),
            RailEventError::Unbookable(error) => Self::internal("processing an event of a rail", &error),
        }
    }
}

impl From<TicketError> for ApiError {
    fn from(error: TicketError) -> Self {
        let code = match error {
            TicketError::Invalid(problems) => return problems.into(),
            TicketError::NotFound => return Self::ticket_not_found(),
            TicketError::Overtaken => return Self::Overloaded,
            TicketError::Files(cause) => {
                return Self::Unavailable { cause: format!("keeping a file: {cause}") };
            }
            TicketError::Thumbnail(failed) => return Self::Unavailable { cause: failed.to_string() },
            TicketError::Store(error) => return error.into(),
            TicketError::NoSuchStep(_) => ErrorCode::InvalidStatusTransition,
            TicketError::ExistsForPayment => ErrorCode::TicketExistsForPayment,
            TicketError::TooManyFiles(_) => ErrorCode::LimitReached,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        let code = match error {
            UploadError::NotFound | UploadError::Refused(FileRefused::NotArrived) => {
                return Self::attachment_not_found();
            }
            UploadError::Store(error) => return error.into(),
            UploadError::Refused(FileRefused::Failed(cause)) => {
                return Self::Unavailable { cause: format!("keeping a file: {cause}") };
            }
            UploadError::Used => ErrorCode::UploadUrlUsed,
            UploadError::Refused(FileRefused::TooLarge) => ErrorCode::BodyTooLarge,
            UploadError::Refused(FileRefused::WrongType) => ErrorCode::UnsupportedMediaType,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<NotVerified> for ApiError {
    fn from(error: NotVerified) -> Self {
        let code = match error {
            NotVerified::Missing => ErrorCode::SignatureMissing,
            NotVerified::Invalid => ErrorCode::SignatureInvalid,
            NotVerified::OutOfWindow => ErrorCode::TimestampOutOfWindow,
            NotVerified::NoCallbacks => ErrorCode::RouteNotFound,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<DirectoryError> for ApiError {
    fn from(error: DirectoryError) -> Self {
        let code = match error {
            DirectoryError::NotFound => return Self::merchant_not_found(),
            DirectoryError::Store(error) => return error.into(),
            // Decided again many times, and overtaken by another change each time.
            DirectoryError::Stale => return Self::Overloaded,
            DirectoryError::LimitReached(_) => ErrorCode::LimitReached,
            DirectoryError::Conflict(_) => ErrorCode::InvalidStatusTransition,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<EndpointError> for ApiError {
    fn from(error: EndpointError) -> Self {
        let code = match error {
            EndpointError::Store(error) => return error.into(),
            EndpointError::AddressFixed => {
                return Self::validation("url", "cannot be changed where a payment named it");
            }
            EndpointError::NotFound => ErrorCode::WebhookNotFound,
            EndpointError::LimitReached => ErrorCode::LimitReached,
            EndpointError::Disabled => ErrorCode::InvalidStatusTransition,
        };
        Self::refused(code, error.to_string())
    }
}

impl From<ApiKeyProblem> for ApiError {
    fn from(problem: ApiKeyProblem) -> Self {
        let code = match problem {
            ApiKeyProblem::RetiredPrefix => ErrorCode::ApiKeyPrefixRejected,
            ApiKeyProblem::Malformed => ErrorCode::ApiKeyInvalid,
        };
        Self::refused(code, problem.to_string())
    }
}

impl From<SignatureProblem> for ApiError {
    fn from(problem: SignatureProblem) -> Self {
        let code = match problem {
            SignatureProblem::Missing(_) => ErrorCode::SignatureMissing,
            SignatureProblem::Malformed { .. } | SignatureProblem::Mismatch => ErrorCode::SignatureInvalid,
            SignatureProblem::TimestampOutOfWindow => ErrorCode::TimestampOutOfWindow,
        };
        Self::refused(code, problem.to_string())
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Timestamp;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_creation_of_unknown_outcome_names_its_payment() {
        let id = "pay_1763683200000_czwenqofrlql".parse().expect("an identifier");
        let answer = ApiError::from(CreateError::OutcomeUnknown { id, cause: "a test".to_owned() })
            .to_answer(Timestamp::from_millis(0));
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(answer.status, 504);
        assert_eq!(body["error_code"], "payment_create_outcome_unknown");
        assert_eq!(body["transaction_id"], "pay_1763683200000_czwenqofrlql");
    }
}
