//! The one mapping of the domain's errors to an `error_code`, which has its status in [`error_code`](super::error_code) and its
//! form in [`error_shape`](super::error_shape).

use std::slice;

use actix_web::{HttpResponse, http::header};
use quipu_commit::Answer;
use quipu_kernel::{PaymentId, Problems, StoreError, Timestamp};
use quipu_merchants::{DirectoryError, RateVerdict, Scope};
use quipu_payments::{
    AttemptError, CIRCUIT_OPEN_FOR, CancelError, CreateError, DecideError, FillError, NotVerified,
    RailEventError,
};
use quipu_signing::{ApiKeyProblem, SignatureProblem};
use quipu_tickets::{FileRefused, TicketError, UploadError};
use quipu_webhooks::EndpointError;

use super::{
    error_code::ErrorCode,
    error_shape::{self, Family, Shown},
};

/// How many seconds a caller waits after `OVERLOADED`.
const OVERLOAD_RETRY_SECONDS: u32 = 1;

/// An error as it will be answered. Its status follows from its code, and its shape from the route's family.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The request is invalid; every problem is named.
    Validation(Problems),
    /// Refused for the reason that the code names.
    Refused { code: ErrorCode, message: String, transaction_id: Option<String> },
    /// The path does not have this method, only the methods in `allow`.
    MethodNotAllowed { allow: String },
    /// Too many requests.
    RateLimited(RateVerdict),
    /// Nothing was written; the same call may be sent again.
    Overloaded,
    /// Like `Overloaded`; the cause is only written to the log.
    Unavailable { cause: String },
    /// Like `Overloaded`, because a payment provider does not answer.
    ProviderSilent,
    /// It is not known whether the change was made; the cause is only written to the log.
    OutcomeUnknown { cause: String },
    /// The same of a creation, whose payment is known; the cause is only written to the log.
    CreationUnknown { id: PaymentId, message: String, cause: String },
    /// An error of the gateway; the cause is only written to the log.
    Internal { cause: String },
}

impl ApiError {
    pub(crate) fn validation(field: &str, what: &str) -> Self {
        Self::Validation(Problems::of(field, what))
    }

    /// A refusal for the reason that `code` names, with this message.
    pub(crate) fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), transaction_id: None }
    }

    /// Whether the answer is 503, so that the same call may be sent again with the same signature.
    pub(crate) const fn wrote_nothing(&self) -> bool {
        matches!(self, Self::Overloaded | Self::Unavailable { .. } | Self::ProviderSilent)
    }

    pub(crate) fn scope_missing(scope: Scope) -> Self {
        Self::refused(ErrorCode::ScopeMissing, format!("the scope {} is required", scope.as_str()))
    }

    pub(crate) fn payment_not_found() -> Self {
        Self::refused(ErrorCode::PaymentNotFound, "there is no such payment")
    }

    pub(crate) fn page_not_found() -> Self {
        Self::refused(ErrorCode::PageNotFound, "there is no such page")
    }

    pub(crate) fn ticket_not_found() -> Self {
        Self::refused(ErrorCode::TicketNotFound, "there is no such ticket")
    }

    pub(crate) fn attachment_not_found() -> Self {
        Self::refused(ErrorCode::AttachmentNotFound, "there is no such attachment")
    }

    pub(crate) fn merchant_not_found() -> Self {
        Self::refused(ErrorCode::MerchantNotFound, "there is no such merchant")
    }

    /// An internal error from the action that failed and its cause, for the log.
    pub(crate) fn internal(doing: &str, error: &dyn std::fmt::Display) -> Self {
        Self::Internal { cause: format!("{doing}: {error}") }
    }

    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Validation(_) => ErrorCode::ValidationFailed,
            Self::Refused { code, .. } => *code,
            Self::MethodNotAllowed { .. } => ErrorCode::MethodNotAllowed,
            Self::RateLimited(_) => ErrorCode::RateLimited,
            Self::Overloaded | Self::Unavailable { .. } | Self::ProviderSilent => ErrorCode::Overloaded,
            Self::OutcomeUnknown { .. } | Self::CreationUnknown { .. } => {
                ErrorCode::PaymentCreateOutcomeUnknown
            }
            Self::Internal { .. } => ErrorCode::InternalError,
        }
    }

    /// Whether the caller is not authenticated.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.code().status() == 401
    }

    /// Passes the visible parts of an answer to `write`.
    pub(crate) fn shown<T>(&self, write: impl FnOnce(&Shown<'_>) -> T) -> T {
        let code = self.code();
        let fixed = |text: &str| text.to_owned();
        let text = match self {
            Self::Validation(problems) => {
                return write(&Shown { code, messages: problems.messages(), transaction_id: None });
            }
            Self::Refused { message, transaction_id, .. } => {
                let messages = slice::from_ref(message);
                return write(&Shown { code, messages, transaction_id: transaction_id.as_deref() });
            }
            Self::CreationUnknown { id, message, .. } => {
                let messages = slice::from_ref(message);
                return write(&Shown { code, messages, transaction_id: Some(id.as_str()) });
            }
            Self::MethodNotAllowed { .. } => fixed("the path does not have this method"),
            Self::RateLimited(_) => fixed("too many requests"),
            Self::Overloaded => fixed("the service is overloaded; try again in a moment"),
            Self::Unavailable { .. } => {
                fixed("the service is not available and nothing was changed; try again in a moment")
            }
            Self::ProviderSilent => CreateError::ProviderSilent.to_string(),
            Self::OutcomeUnknown { .. } => fixed(
                "it is not known whether the change was made; if the request had an Idempotency-Key, repeat it under the same key, \
                 otherwise look before you repeat it",
            ),
            Self::Internal { .. } => fixed("an internal error occurred"),
        };
        write(&Shown { code, messages: slice::from_ref(&text), transaction_id: None })
    }

    /// The whole answer, except for the headers that every answer has.
    pub(crate) fn into_response(self, family: Family, now: Timestamp) -> HttpResponse {
        let mut response = self.shown(|shown| family.answer(shown, now));
        let headers = response.headers_mut();
        match self {
            Self::RateLimited(verdict) => {
                headers.insert(header::RETRY_AFTER, verdict.retry_after_seconds.into());
            }
            Self::Overloaded | Self::Unavailable { .. } => {
                headers.insert(header::RETRY_AFTER, OVERLOAD_RETRY_SECONDS.into());
            }
            Self::ProviderSilent => {
                headers.insert(header::RETRY_AFTER, CIRCUIT_OPEN_FOR.as_secs().into());
            }
            Self::MethodNotAllowed { allow } => {
                if let Ok(allow) = header::HeaderValue::try_from(allow) {
                    headers.insert(header::ALLOW, allow);
                }
            }
            _ => {}
        }
        response
    }

    /// The answer as it is kept under an idempotency key.
    pub(crate) fn to_answer(&self, now: Timestamp) -> Answer {
        let body = self.shown(|shown| error_shape::api_body(shown, now));
        let body = String::from_utf8(body).unwrap_or_default();
        Answer { status: self.code().status(), body }
    }
}

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
