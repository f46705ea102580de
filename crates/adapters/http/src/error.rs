//! The one mapping of everything that can go wrong to a status code, a shape and an `error_code` (specification,
//! "Errors").

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use quipu_kernel::{Problems, Timestamp};
use quipu_ledger::LedgerUnavailable;
use quipu_merchants::{DirectoryError, Scope, StoreUnavailable, Verdict};
use quipu_payments::{AdjustError, Answer, CancelError, CreateError};
use quipu_signing::{ApiKeyProblem, SignatureProblem};
use serde::Serialize;

use crate::reply;

/// How many seconds a caller waits after `OVERLOADED`.
const OVERLOAD_RETRY_SECONDS: u32 = 1;

/// A refusal, as it will be answered.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// 400 in shape 2.
    Validation(Problems),
    /// 401 in shape 3.
    Unauthorized { code: &'static str, message: String },
    /// 403 in shape 3.
    Forbidden { code: &'static str, message: String },
    /// Anything else in shape 1.
    Business { status: StatusCode, code: &'static str, message: String, transaction_id: Option<String> },
    /// 405, with the methods the path has.
    MethodNotAllowed { allow: String },
    /// 429 in shape 1.
    RateLimited(Verdict),
    /// 503 in shape 1.
    Overloaded,
    /// 500 in shape 1; the cause goes to the log and nowhere else.
    Internal { cause: String },
}

impl ApiError {
    pub(crate) fn validation(field: &str, what: &str) -> Self {
        Self::Validation(Problems::of(field, what))
    }

    pub(crate) fn unauthorized(code: &'static str, message: impl Into<String>) -> Self {
        Self::Unauthorized { code, message: message.into() }
    }

    pub(crate) fn scope_missing(scope: Scope) -> Self {
        let message = format!("the scope {} is required", scope.as_str());
        Self::Forbidden { code: "SCOPE_MISSING", message }
    }

    pub(crate) fn business(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self::Business { status, code, message: message.into(), transaction_id: None }
    }

    pub(crate) fn not_found(code: &'static str, message: &str) -> Self {
        Self::business(StatusCode::NOT_FOUND, code, message)
    }

    pub(crate) fn idempotency_key_in_use() -> Self {
        (&CreateError::IdempotencyKeyInUse).into()
    }

    pub(crate) fn payment_not_found() -> Self {
        Self::not_found("PAYMENT_NOT_FOUND", "there is no such payment")
    }

    pub(crate) fn merchant_not_found() -> Self {
        Self::not_found("MERCHANT_NOT_FOUND", "there is no such merchant")
    }

    /// What was being done, and why it failed, for the log.
    pub(crate) fn internal(doing: &str, error: &dyn std::fmt::Display) -> Self {
        Self::Internal { cause: format!("{doing}: {error}") }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Validation(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized { .. } => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::Business { status, .. } => *status,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The body, in the shape that its kind of error has.
    pub(crate) fn body(&self, now: Timestamp) -> Vec<u8> {
        let status = self.status().as_u16();
        match self {
            Self::Validation(problems) => written(&ValidationShape {
                status_code: status,
                message: problems.messages(),
                error: "Bad Request",
                error_code: "VALIDATION_FAILED",
            }),
            Self::Unauthorized { code, message } => {
                written(&AuthShape { status_code: status, message, error: "Unauthorized", error_code: code })
            }
            Self::Forbidden { code, message } => {
                written(&AuthShape { status_code: status, message, error: "Forbidden", error_code: code })
            }
            Self::Business { code, message, transaction_id, .. } => written(&BusinessShape {
                status_code: status,
                message,
                error_code: code,
                timestamp: now,
                transaction_id: transaction_id.as_deref(),
            }),
            Self::MethodNotAllowed { .. } => {
                plain(status, "METHOD_NOT_ALLOWED", "the path does not have this method", now)
            }
            Self::RateLimited(_) => plain(status, "RATE_LIMITED", "too many requests", now),
            Self::Overloaded => {
                plain(status, "OVERLOADED", "the service is overloaded; try again in a moment", now)
            }
            Self::Internal { .. } => plain(status, "INTERNAL_ERROR", "an internal error occurred", now),
        }
    }

    /// The whole answer, but for the headers that every answer has.
    pub(crate) fn into_response(self, now: Timestamp) -> HttpResponse {
        let mut response = reply::raw(self.status(), self.body(now));
        let headers = response.headers_mut();
        match self {
            Self::RateLimited(verdict) => {
                headers.insert(header::RETRY_AFTER, verdict.retry_after_seconds.into());
            }
            Self::Overloaded => {
                headers.insert(header::RETRY_AFTER, OVERLOAD_RETRY_SECONDS.into());
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
        Answer { status: self.status().as_u16(), body: self.body(now) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidationShape<'a> {
    status_code: u16,
    message: &'a [String],
    error: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthShape<'a> {
    status_code: u16,
    message: &'a str,
    error: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BusinessShape<'a> {
    status_code: u16,
    message: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
    timestamp: Timestamp,
    #[serde(rename = "transaction_id", skip_serializing_if = "Option::is_none")]
    transaction_id: Option<&'a str>,
}

fn plain(status_code: u16, error_code: &str, message: &str, timestamp: Timestamp) -> Vec<u8> {
    written(&BusinessShape { status_code, message, error_code, timestamp, transaction_id: None })
}

fn written(shape: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(shape).unwrap_or_default()
}

impl From<Problems> for ApiError {
    fn from(problems: Problems) -> Self {
        Self::Validation(problems)
    }
}

impl From<StoreUnavailable> for ApiError {
    fn from(error: StoreUnavailable) -> Self {
        match error {
            StoreUnavailable::Overloaded => Self::Overloaded,
            StoreUnavailable::Failed(cause) => Self::Internal { cause },
        }
    }
}

impl From<LedgerUnavailable> for ApiError {
    fn from(error: LedgerUnavailable) -> Self {
        match error {
            LedgerUnavailable::Overloaded => Self::Overloaded,
            LedgerUnavailable::Failed(cause) => Self::Internal { cause },
        }
    }
}

impl From<&CreateError> for ApiError {
    fn from(error: &CreateError) -> Self {
        let status = match error {
            CreateError::Invalid(problems) => return Self::Validation(problems.clone()),
            CreateError::NonceUsed => return Self::unauthorized(error.code(), error.to_string()),
            CreateError::Store(error) => return error.clone().into(),
            CreateError::DuplicateReference { .. } | CreateError::IdempotencyKeyInUse => StatusCode::CONFLICT,
            CreateError::IdempotencyKeyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            CreateError::CurrencyNotEnabled(_)
            | CreateError::MethodNotAvailable
            | CreateError::AmountOutOfRange { .. }
            | CreateError::PartnerPayoutNotReady
            | CreateError::InsufficientBalance => StatusCode::BAD_REQUEST,
        };
        let transaction_id = match error {
            CreateError::DuplicateReference { holder } => Some(holder.as_str().to_owned()),
            _ => None,
        };
        Self::Business { status, code: error.code(), message: error.to_string(), transaction_id }
    }
}

impl From<CreateError> for ApiError {
    fn from(error: CreateError) -> Self {
        (&error).into()
    }
}

impl From<CancelError> for ApiError {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::NotFound => Self::payment_not_found(),
            CancelError::AlreadyProcessed(_) => {
                Self::business(StatusCode::BAD_REQUEST, "PAYMENT_ALREADY_PROCESSED", error.to_string())
            }
            CancelError::Store(error) => error.into(),
        }
    }
}

impl From<AdjustError> for ApiError {
    fn from(error: AdjustError) -> Self {
        let code = match error {
            AdjustError::Store(error) => return error.into(),
            AdjustError::Zero => return Self::validation("amount", "must not be zero"),
            AdjustError::InsufficientBalance => "INSUFFICIENT_BALANCE",
            AdjustError::OutOfRange => "AMOUNT_OUT_OF_RANGE",
            AdjustError::IdempotencyKeyUsed => return Self::idempotency_key_in_use(),
        };
        Self::business(StatusCode::BAD_REQUEST, code, error.to_string())
    }
}

impl From<DirectoryError> for ApiError {
    fn from(error: DirectoryError) -> Self {
        let code = match error {
            DirectoryError::NotFound => return Self::merchant_not_found(),
            DirectoryError::Store(error) => return error.into(),
            // Decided anew many times, and always overtaken.
            DirectoryError::Stale => return Self::Overloaded,
            DirectoryError::LimitReached(_) => "LIMIT_REACHED",
            DirectoryError::Conflict(_) => "INVALID_STATUS_TRANSITION",
        };
        Self::business(StatusCode::BAD_REQUEST, code, error.to_string())
    }
}

impl From<ApiKeyProblem> for ApiError {
    fn from(problem: ApiKeyProblem) -> Self {
        let code = match problem {
            ApiKeyProblem::RetiredPrefix => "API_KEY_PREFIX_REJECTED",
            ApiKeyProblem::Malformed => "API_KEY_INVALID",
        };
        Self::unauthorized(code, problem.to_string())
    }
}

impl From<SignatureProblem> for ApiError {
    fn from(problem: SignatureProblem) -> Self {
        let code = match problem {
            SignatureProblem::Missing(_) => "SIGNATURE_MISSING",
            SignatureProblem::Malformed { .. } | SignatureProblem::Mismatch => "SIGNATURE_INVALID",
            SignatureProblem::TimestampOutOfWindow => "TIMESTAMP_OUT_OF_WINDOW",
        };
        Self::unauthorized(code, problem.to_string())
    }
}
