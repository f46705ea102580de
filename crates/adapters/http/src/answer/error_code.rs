//! Every `error_code`, with the HTTP status of its answers.

use actix_web::http::StatusCode;

/// One line for each code: its name here, its name in answers, its status.
macro_rules! codes {
    ($($name:ident = $text:literal, $status:ident;)+) => {
        /// The `error_code` of an error answer. Each code has one status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum ErrorCode {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl ErrorCode {
            /// All codes, by status.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name in answers.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            pub(crate) const fn http_status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }
        }
    };
}

#[rustfmt::skip]
codes! {
    ValidationFailed = "VALIDATION_FAILED", BAD_REQUEST;
    CurrencyNotEnabled = "CURRENCY_NOT_ENABLED", BAD_REQUEST;
    MethodNotAvailable = "METHOD_NOT_AVAILABLE", BAD_REQUEST;
    AmountOutOfRange = "AMOUNT_OUT_OF_RANGE", BAD_REQUEST;
    PartnerPayoutNotReady = "PARTNER_PAYOUT_NOT_READY", BAD_REQUEST;
    InsufficientBalance = "INSUFFICIENT_BALANCE", BAD_REQUEST;
    PaymentAlreadyProcessed = "PAYMENT_ALREADY_PROCESSED", BAD_REQUEST;
    InvalidStatusTransition = "INVALID_STATUS_TRANSITION", BAD_REQUEST;
    RefundExceedsPayment = "REFUND_EXCEEDS_PAYMENT", BAD_REQUEST;
    LimitReached = "LIMIT_REACHED", BAD_REQUEST;

    ApiKeyMissing = "API_KEY_MISSING", UNAUTHORIZED;
    ApiKeyInvalid = "API_KEY_INVALID", UNAUTHORIZED;
    ApiKeyRevoked = "API_KEY_REVOKED", UNAUTHORIZED;
    ApiKeyExpired = "API_KEY_EXPIRED", UNAUTHORIZED;
    ApiKeyPrefixRejected = "API_KEY_PREFIX_REJECTED", UNAUTHORIZED;
    ApiVersionMismatch = "API_VERSION_MISMATCH", UNAUTHORIZED;
    SignatureMissing = "SIGNATURE_MISSING", UNAUTHORIZED;
    SignatureInvalid = "SIGNATURE_INVALID", UNAUTHORIZED;
    TimestampOutOfWindow = "TIMESTAMP_OUT_OF_WINDOW", UNAUTHORIZED;
    NonceReused = "NONCE_REUSED", UNAUTHORIZED;
    TokenInvalid = "TOKEN_INVALID", UNAUTHORIZED;
    TokenExpired = "TOKEN_EXPIRED", UNAUTHORIZED;

    ScopeMissing = "SCOPE_MISSING", FORBIDDEN;
    MerchantSuspended = "MERCHANT_SUSPENDED", FORBIDDEN;
    UrlInvalid = "URL_INVALID", FORBIDDEN;
    UrlExpired = "URL_EXPIRED", FORBIDDEN;

    PaymentNotFound = "PAYMENT_NOT_FOUND", NOT_FOUND;
    WebhookNotFound = "WEBHOOK_NOT_FOUND", NOT_FOUND;
    TicketNotFound = "TICKET_NOT_FOUND", NOT_FOUND;
    CommentNotFound = "COMMENT_NOT_FOUND", NOT_FOUND;
    AttachmentNotFound = "ATTACHMENT_NOT_FOUND", NOT_FOUND;
    MerchantNotFound = "MERCHANT_NOT_FOUND", NOT_FOUND;
    PageNotFound = "PAGE_NOT_FOUND", NOT_FOUND;
    ApiKeyNotFound = "API_KEY_NOT_FOUND", NOT_FOUND;
    CredentialNotFound = "CREDENTIAL_NOT_FOUND", NOT_FOUND;
    OperatorNotFound = "OPERATOR_NOT_FOUND", NOT_FOUND;
    ReceiptNotFound = "RECEIPT_NOT_FOUND", NOT_FOUND;
    RouteNotFound = "ROUTE_NOT_FOUND", NOT_FOUND;

    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED;
    BodyTimeout = "BODY_TIMEOUT", REQUEST_TIMEOUT;
    RequestTimeout = "REQUEST_TIMEOUT", REQUEST_TIMEOUT;
    HeadersTooLarge = "HEADERS_TOO_LARGE", REQUEST_HEADER_FIELDS_TOO_LARGE;
    DuplicateMerchantReference = "DUPLICATE_MERCHANT_REFERENCE", CONFLICT;
    TicketExistsForPayment = "TICKET_EXISTS_FOR_PAYMENT", CONFLICT;
    UploadUrlUsed = "UPLOAD_URL_USED", CONFLICT;
    IdempotencyKeyInUse = "IDEMPOTENCY_KEY_IN_USE", CONFLICT;
    BodyTooLarge = "BODY_TOO_LARGE", PAYLOAD_TOO_LARGE;
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE;
    IdempotencyKeyMismatch = "IDEMPOTENCY_KEY_MISMATCH", UNPROCESSABLE_ENTITY;
    RateLimited = "RATE_LIMITED", TOO_MANY_REQUESTS;
    InternalError = "INTERNAL_ERROR", INTERNAL_SERVER_ERROR;
    Overloaded = "OVERLOADED", SERVICE_UNAVAILABLE;
    PaymentCreateOutcomeUnknown = "payment_create_outcome_unknown", GATEWAY_TIMEOUT;
}

impl ErrorCode {
    /// The HTTP status of its answers.
    pub(crate) fn status(self) -> u16 {
        self.http_status().as_u16()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_codes_share_a_name() {
        let names: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
