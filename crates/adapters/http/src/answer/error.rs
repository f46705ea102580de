//! An error as it is answered. Its code has its status in [`error_code`](super::error_code), and its form is in
//! [`error_shape`](super::error_shape).

use std::slice;

use actix_web::{HttpResponse, http::header};
use quipu_commit::Answer;
use quipu_kernel::{PaymentId, Problems, Timestamp};
use quipu_merchants::{RateVerdict, Scope};
use quipu_payments::{CIRCUIT_OPEN_FOR, CreateError};

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
