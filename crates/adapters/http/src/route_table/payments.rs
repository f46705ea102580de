//! Payments, by key and by signature.

use quipu_merchants::Scope;

use super::{CREATION, row, scope};
use crate::{
    answer::ErrorCode,
    routing::{
        Access, Operation, RouteRow,
        Shows::{Data, List, Members},
        operation::op,
    },
    v1::payments,
};

const CREATE: Operation = op("createPayment", "Create a payment")
    .says(
        "A deposit is answered with what the customer needs to pay, a withdrawal with its amount frozen. After a timeout \
         or 5xx the payment may exist: ask for it, or send the same again under the same `Idempotency-Key`.",
    )
    .takes("PaymentCreate")
    .asks(&["IdempotencyKey"])
    .shows(Members("Payment"))
    .tells("webhook_url", &["PaymentEvent", "PayoutEvent"])
    .refuses(&[
        ErrorCode::CurrencyNotEnabled,
        ErrorCode::MethodNotAvailable,
        ErrorCode::AmountOutOfRange,
        ErrorCode::PartnerPayoutNotReady,
        ErrorCode::InsufficientBalance,
        ErrorCode::DuplicateMerchantReference,
        ErrorCode::IdempotencyKeyInUse,
        ErrorCode::IdempotencyKeyMismatch,
    ]);

const GET: Operation =
    op("getPayment", "One payment").shows(Data("Payment")).refuses(&[ErrorCode::PaymentNotFound]);

const LIST: &[&str] = &[
    "Limit",
    "Offset",
    "PaymentStatusFilter",
    "TypeFilter",
    "MethodFilter",
    "CurrencyFilter",
    "ReferenceFilter",
    "CustomerFilter",
    "CreatedFrom",
    "CreatedTo",
];

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/payments", Access::ApiKey(CREATION, run!(payments::create::by_key, call, caller)))
        .doc(CREATE),
    row("GET", "/api/v1/payments", Access::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::list::handle, call, caller)))
        .doc(op("listPayments", "Payments, newest first").asks(LIST).shows(List("Payment"))),
    row("GET", "/api/v1/payments/methods", Access::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::list, call, caller)))
        .doc(op("listMethods", "The methods that your routes enable").shows(Data("MethodRows"))),
    row("POST", "/api/v1/payments/methods/validate", Access::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::validate, call, caller)))
        .doc(op("validateMethod", "Whether a payment of some form could be created").takes("MethodQuestion").shows(Data("MethodJudgement")).changes_nothing()),
    row("GET", "/api/v1/payments/{id}", Access::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller)))
        .doc(GET),
    row("POST", "/api/v1/payments/{id}/cancel", Access::KeyOrToken(scope(Scope::PaymentsCancel), run!(payments::cancel::handle, call, caller)))
        .doc(op("cancelPayment", "Cancel a withdrawal that was not submitted yet").may_take("PaymentCancel").shows(Data("Payment"))
            .refuses(&[ErrorCode::PaymentNotFound, ErrorCode::PaymentAlreadyProcessed])),
    row("POST", "/api/v2/payments", Access::SignedCreation(CREATION, run!(payments::create::by_signature, call, signed)))
        .doc(CREATE.named("createPaymentSigned")),
    row("GET", "/api/v2/payments/{id}", Access::Signed(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller)))
        .doc(GET.named("getPaymentSigned")),
];
