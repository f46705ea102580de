//! The operator's interface.

use quipu_merchants::Role;

use super::row;
use crate::{
    answer::ErrorCode,
    operator,
    routing::{
        Access, Operation, RouteRow,
        Shows::{CountedList, Data, List},
        operation::op,
    },
};

const NOT_FOUND: &[ErrorCode] = &[ErrorCode::MerchantNotFound];
const PAGE: &[&str] = &["Limit", "Offset", "CreatedFrom", "CreatedTo"];

const NO_PAYMENT: &[ErrorCode] = &[ErrorCode::PaymentNotFound];
const SEARCH: &[&str] = &[
    "Limit",
    "Offset",
    "MerchantFilter",
    "EnvironmentFilter",
    "RailFilter",
    "PaymentStatusFilter",
    "TypeFilter",
    "MethodFilter",
    "CurrencyFilter",
    "ReferenceFilter",
    "CustomerFilter",
    "CreatedFrom",
    "CreatedTo",
];
const DECISION: Operation =
    op("", "").may_take("Decision").asks(&["IdempotencyKey"]).shows(Data("OperatorPayment")).refuses(&[
        ErrorCode::PaymentNotFound,
        ErrorCode::InvalidStatusTransition,
        ErrorCode::InsufficientBalance,
        ErrorCode::AmountOutOfRange,
        ErrorCode::IdempotencyKeyInUse,
        ErrorCode::IdempotencyKeyMismatch,
    ]);
const NO_TICKET: &[ErrorCode] = &[ErrorCode::TicketNotFound];
const QUEUE: &[&str] = &[
    "Limit",
    "Offset",
    "MerchantFilter",
    "EnvironmentFilter",
    "TicketStatusFilter",
    "TicketCategoryFilter",
    "TicketPriorityFilter",
    "AssigneeFilter",
    "TicketPaymentFilter",
    "CreatedFrom",
    "CreatedTo",
];

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/operator/v1/operators", Access::Staff(Role::Admin, run!(operator::operators::create, call, staff)))
        .doc(op("createOperator", "Add a member of staff; the token is shown once").takes("OperatorCreate").shows(Data("Operator"))),
    row("GET", "/operator/v1/operators", Access::Staff(Role::Admin, run!(operator::operators::list, call, staff)))
        .doc(op("listOperators", "The staff, newest first").asks(PAGE).shows(List("Operator"))),
    row("DELETE", "/operator/v1/operators/{operator_id}", Access::Staff(Role::Admin, run!(operator::operators::revoke, call, staff)))
        .doc(op("revokeOperator", "Revoke a token at once; the last admin stays").shows(Data("Revoked")).refuses(&[ErrorCode::OperatorNotFound, ErrorCode::InvalidStatusTransition])),
    row("POST", "/operator/v1/merchants", Access::Staff(Role::Admin, run!(operator::merchants::create, call, staff)))
        .doc(op("createMerchant", "Add a merchant").takes("MerchantCreate").shows(Data("MerchantAccount"))),
    row("GET", "/operator/v1/merchants", Access::Staff(Role::Admin, run!(operator::merchants::list, call, staff)))
        .doc(op("listMerchants", "Merchants, newest first").asks(&["Limit", "Offset", "MerchantFilter", "MerchantStatusFilter", "CreatedFrom", "CreatedTo"]).shows(List("MerchantAccount"))),
    row("GET", "/operator/v1/merchants/{id}", Access::Staff(Role::Admin, run!(operator::merchants::get, call, staff)))
        .doc(op("getMerchant", "One merchant").shows(Data("MerchantAccount")).refuses(NOT_FOUND)),
    row("PATCH", "/operator/v1/merchants/{id}", Access::Staff(Role::Admin, run!(operator::merchants::change, call, staff)))
        .doc(op("changeMerchant", "Change a name, a status or return URLs").takes("MerchantChange").shows(Data("MerchantAccount")).refuses(NOT_FOUND)),
    row("POST", "/operator/v1/merchants/{id}/rotate-webhook-secret", Access::Staff(Role::Admin, run!(operator::merchants::rotate_webhook_secret, call, staff)))
        .doc(op("rotateWebhookSecret", "A new default webhook secret").takes("InEnvironment").shows(Data("WebhookSecret")).refuses(NOT_FOUND)),
    row("POST", "/operator/v1/merchants/{id}/switch", Access::Staff(Role::Admin, run!(operator::merchants::switch, call, staff)))
        .doc(op("switchVersion", "Move a merchant to another version; its API keys and credentials end").takes("Switch").shows(Data("Switched")).refuses(&[ErrorCode::MerchantNotFound, ErrorCode::InvalidStatusTransition])),
    row("POST", "/operator/v1/merchants/{id}/api-keys", Access::Staff(Role::Admin, run!(operator::api_keys::issue, call, staff)))
        .doc(op("issueApiKey", "Issue an API key, shown once").takes("ApiKeyCreate").shows(Data("ApiKey")).refuses(&[ErrorCode::MerchantNotFound, ErrorCode::InvalidStatusTransition])),
    row("GET", "/operator/v1/merchants/{id}/api-keys", Access::Staff(Role::Admin, run!(operator::api_keys::list, call, staff)))
        .doc(op("listApiKeys", "The keys of a merchant, newest first").asks(PAGE).shows(List("ApiKey")).refuses(NOT_FOUND)),
    row("DELETE", "/operator/v1/merchants/{id}/api-keys/{key_id}", Access::Staff(Role::Admin, run!(operator::api_keys::revoke, call, staff)))
        .doc(op("revokeApiKey", "Revoke an API key, and its tokens").shows(Data("Revoked")).refuses(&[ErrorCode::ApiKeyNotFound, ErrorCode::MerchantNotFound])),
    row("POST", "/operator/v1/merchants/{id}/hmac-credentials", Access::Staff(Role::Admin, run!(operator::credentials::issue, call, staff)))
        .doc(op("issueCredential", "Issue an HMAC credential, shown once").takes("HmacCredentialCreate").shows(Data("HmacCredential")).refuses(&[ErrorCode::MerchantNotFound, ErrorCode::LimitReached])),
    row("DELETE", "/operator/v1/merchants/{id}/hmac-credentials/{credential_id}", Access::Staff(Role::Admin, run!(operator::credentials::revoke, call, staff)))
        .doc(op("revokeCredential", "Revoke an HMAC credential, and its tokens").shows(Data("Revoked")).refuses(&[ErrorCode::CredentialNotFound, ErrorCode::MerchantNotFound])),
    row("GET", "/operator/v1/merchants/{id}/routes", Access::Staff(Role::Admin, run!(operator::routes::get, call, staff)))
        .doc(op("getRoutes", "All routes of a merchant").shows(Data("Routes")).refuses(NOT_FOUND)),
    row("PUT", "/operator/v1/merchants/{id}/routes", Access::Staff(Role::Admin, run!(operator::routes::replace, call, staff)))
        .doc(op("replaceRoutes", "Replace all routes of a merchant").takes("RoutesDraft").shows(Data("Routes")).refuses(NOT_FOUND)),
    row("PUT", "/operator/v1/merchants/{id}/page", Access::Staff(Role::Admin, run!(operator::page::put, call, staff)))
        .doc(op("setMerchantPage", "Set what a merchant's hosted pages show; what is left out is unset").takes("MerchantPageChange").shows(Data("MerchantPage")).refuses(NOT_FOUND)),
    row("GET", "/operator/v1/merchants/{id}/page", Access::Staff(Role::Admin, run!(operator::page::get, call, staff)))
        .doc(op("getMerchantPage", "What a merchant's hosted pages show").shows(Data("MerchantPage")).refuses(NOT_FOUND)),
    row("DELETE", "/operator/v1/merchants/{id}/page", Access::Staff(Role::Admin, run!(operator::page::delete, call, staff)))
        .doc(op("unsetMerchantPage", "Let a merchant's hosted pages show what the gateway has").shows(Data("MerchantPage")).refuses(NOT_FOUND)),
    row("POST", "/operator/v1/merchants/{id}/beneficiaries", Access::Staff(Role::Admin, run!(operator::beneficiaries::add, call, staff)))
        .doc(op("addBeneficiary", "Save a beneficiary of partner payouts").takes("BeneficiaryCreate").shows(Data("Beneficiary")).refuses(&[ErrorCode::MerchantNotFound, ErrorCode::LimitReached])),
    row("GET", "/operator/v1/merchants/{id}/beneficiaries", Access::Staff(Role::Admin, run!(operator::beneficiaries::list, call, staff)))
        .doc(op("listBeneficiaries", "Saved beneficiaries, newest first").asks(PAGE).shows(List("Beneficiary")).refuses(NOT_FOUND)),
    row("POST", "/operator/v1/merchants/{id}/webhooks", Access::Staff(Role::Admin, run!(operator::webhooks::create, call, staff)))
        .doc(op("createMerchantWebhook", "Make a webhook for a merchant; its secret is shown once").takes("WebhookOperatorCreate").shows(Data("WebhookCreated")).tells("url", &["PaymentEvent", "PayoutEvent", "TicketEvent"]).refuses(&[ErrorCode::MerchantNotFound, ErrorCode::LimitReached])),
    row("GET", "/operator/v1/merchants/{id}/webhooks", Access::Staff(Role::Admin, run!(operator::webhooks::list, call, staff)))
        .doc(op("listMerchantWebhooks", "The webhooks of a merchant, newest first").asks(&["Limit", "Offset", "SourceFilter", "EnvironmentOfStaff", "CreatedFrom", "CreatedTo"]).shows(List("Webhook")).refuses(NOT_FOUND)),
    row("POST", "/operator/v1/merchants/{id}/adjustments", Access::Staff(Role::Finance, run!(operator::adjustments::adjust, call, staff)))
        .doc(op("adjustBalance", "Pre-fund or correct a balance").takes("AdjustmentCreate").asks(&["IdempotencyKey"]).shows(Data("Adjustment"))
            .refuses(&[ErrorCode::MerchantNotFound, ErrorCode::InsufficientBalance, ErrorCode::AmountOutOfRange, ErrorCode::IdempotencyKeyInUse, ErrorCode::IdempotencyKeyMismatch])),
    row("GET", "/operator/v1/payments", Access::Staff(Role::Viewer, run!(operator::payments::list, call, staff)))
        .doc(op("searchPayments", "Payments of every merchant, newest first").asks(SEARCH).shows(List("OperatorPayment"))),
    row("GET", "/operator/v1/payments/{payment_id}", Access::Staff(Role::Viewer, run!(operator::payments::get, call, staff)))
        .doc(op("showPayment", "One payment and everything that happened to it").shows(Data("OperatorPayment")).refuses(NO_PAYMENT)),
    row("POST", "/operator/v1/payments/{payment_id}/submit", Access::Staff(Role::Finance, run!(operator::decisions::submit, call, staff)))
        .doc(DECISION.like("submitPayment", "Record that a withdrawal was handed to the bank")),
    row("POST", "/operator/v1/payments/{payment_id}/complete", Access::Staff(Role::Finance, run!(operator::decisions::complete, call, staff)))
        .doc(DECISION.like("completePayment", "Record that a deposit's money arrived, even late, or that a withdrawal was paid")),
    row("POST", "/operator/v1/payments/{payment_id}/fail", Access::Staff(Role::Finance, run!(operator::decisions::fail, call, staff)))
        .doc(DECISION.like("failPayment", "Record that a deposit's money will not arrive, or that a withdrawal will not be paid")),
    row("POST", "/operator/v1/payments/{payment_id}/return", Access::Staff(Role::Finance, run!(operator::decisions::give_back, call, staff)))
        .doc(DECISION.like("returnPayment", "Record that the bank returned a payout")),
    row("POST", "/operator/v1/payments/{payment_id}/refunds", Access::Staff(Role::Finance, run!(operator::refunds::create, call, staff)))
        .doc(op("refundPayment", "Book a refund of a deposit, in part or in full").takes("RefundCreate").asks(&["IdempotencyKey"]).shows(Data("Refund"))
            .refuses(&[ErrorCode::PaymentNotFound, ErrorCode::InvalidStatusTransition, ErrorCode::RefundExceedsPayment, ErrorCode::InsufficientBalance, ErrorCode::IdempotencyKeyInUse, ErrorCode::IdempotencyKeyMismatch])),
    row("GET", "/operator/v1/payments/{payment_id}/refunds", Access::Staff(Role::Finance, run!(operator::refunds::list, call, staff)))
        .doc(op("listRefunds", "The refunds of a payment, oldest first").asks(PAGE).shows(List("Refund")).refuses(NO_PAYMENT)),
    row("GET", "/operator/v1/receipts", Access::Staff(Role::Finance, run!(operator::receipts::list, call, staff)))
        .doc(op("listReceipts", "Receipts: messages about money that could not be applied to a payment, newest first").asks(&["Limit", "Offset", "MerchantFilter", "ReceiptStatusFilter", "ReceiptPaymentFilter", "CreatedFrom", "CreatedTo"]).shows(List("Receipt"))),
    row("POST", "/operator/v1/receipts/{receipt_id}/resolve", Access::Staff(Role::Finance, run!(operator::receipts::resolve, call, staff)))
        .doc(op("resolveReceipt", "Decide about a parked receipt").takes("ReceiptResolve").asks(&["IdempotencyKey"]).shows(Data("Receipt"))
            .refuses(&[ErrorCode::ReceiptNotFound, ErrorCode::InvalidStatusTransition, ErrorCode::AmountOutOfRange, ErrorCode::IdempotencyKeyInUse, ErrorCode::IdempotencyKeyMismatch])),
    row("GET", "/operator/v1/tickets", Access::Staff(Role::Support, run!(operator::tickets::queue, call, staff)))
        .doc(op("listTicketQueue", "Support's queue, by priority and age").asks(QUEUE).shows(CountedList("QueuedTicket"))),
    row("GET", "/operator/v1/tickets/{id}", Access::Staff(Role::Support, run!(operator::tickets::get, call, staff)))
        .doc(op("getSupportTicket", "A ticket with its payment and the last hundred comments and notes").shows(Data("WholeTicket")).refuses(NO_TICKET)),
    row("POST", "/operator/v1/tickets/{id}/assign", Access::Staff(Role::Support, run!(operator::tickets::assign, call, staff)))
        .doc(op("assignTicket", "Give a ticket into somebody's hands").takes("TicketAssignment").shows(Data("SupportTicket")).refuses(NO_TICKET)),
    row("POST", "/operator/v1/tickets/{id}/status", Access::Staff(Role::Support, run!(operator::tickets::set_status, call, staff)))
        .doc(op("moveTicket", "Move a ticket, and say what was found").takes("TicketMove").shows(Data("SupportTicket")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::InvalidStatusTransition])),
    row("GET", "/operator/v1/tickets/{id}/comments", Access::Staff(Role::Support, run!(operator::tickets::comments, call, staff)))
        .doc(op("listTicketEntries", "Comments and internal notes, oldest first").asks(PAGE).shows(CountedList("TicketEntry")).refuses(NO_TICKET)),
    row("POST", "/operator/v1/tickets/{id}/comments", Access::Staff(Role::Support, run!(operator::tickets::say, call, staff)))
        .doc(op("addTicketEntry", "Comment in public, or note internally").takes("ReplyCreate").shows(Data("TicketEntry")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::InvalidStatusTransition])),
    row("GET", "/operator/v1/tickets/{id}/attachments/{attachment_id}", Access::Staff(Role::Support, run!(operator::tickets::attachment, call, staff)))
        .doc(op("getSupportAttachment", "Where a file may be fetched").shows(Data("AttachmentLinks")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::AttachmentNotFound])),
    row("GET", "/operator/v1/ledger/check", Access::Staff(Role::Finance, run!(operator::ledger::check, call, staff)))
        .doc(op("checkLedger", "Recompute every balance and verify every invariant").shows(Data("LedgerReport"))),
    row("GET", "/operator/v1/ledger/chains", Access::Staff(Role::Finance, run!(operator::ledger::chains, call, staff)))
        .doc(op("listChains", "How far entries and audit log are sealed, each chain by one hash").asks(&["Limit", "Offset", "MerchantFilter"]).shows(List("ChainHead"))),
    row("GET", "/operator/v1/audit-log", Access::Staff(Role::Finance, run!(operator::audit::list, call, staff)))
        .doc(op("listAuditLog", "Who changed what, newest first").asks(&["Limit", "Offset", "MerchantFilter", "CreatedFrom", "CreatedTo"]).shows(List("AuditLine"))),
];
