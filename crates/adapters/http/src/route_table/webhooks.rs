//! Webhook endpoints: under `/api/v1`, and under the bare paths as well.

use quipu_merchants::Scope;

use super::{row, scope};
use crate::{
    answer::ErrorCode,
    routing::{
        Access, Operation, RouteRow,
        Shows::{Data, List},
        operation::op,
    },
    v1::webhooks,
};

const NOT_FOUND: &[ErrorCode] = &[ErrorCode::WebhookNotFound];

const CREATE: Operation = op("createWebhook", "Make a webhook; its secret is shown once")
    .takes("WebhookCreate")
    .shows(Data("WebhookCreated"))
    .tells("url", &["PaymentEvent", "PayoutEvent", "TicketEvent"])
    .refuses(&[ErrorCode::LimitReached]);
const LIST: Operation = op("listWebhooks", "Webhooks, newest first")
    .asks(&["Limit", "Offset", "SourceFilter"])
    .shows(List("Webhook"));
const GET: Operation = op("getWebhook", "One webhook").shows(Data("Webhook")).refuses(NOT_FOUND);
const UPDATE: Operation = op("updateWebhook", "Change what is given; the rest stays")
    .takes("WebhookUpdate")
    .shows(Data("Webhook"))
    .refuses(NOT_FOUND);
const DELETE: Operation = op("deleteWebhook", "Remove a webhook and the log of what it was told")
    .shows(Data("WebhookDeleted"))
    .refuses(NOT_FOUND);
const ENABLE: Operation =
    op("enableWebhook", "Let deliveries go out").shows(Data("Webhook")).refuses(NOT_FOUND);
const DISABLE: Operation = op("disableWebhook", "Stop deliveries; what is owed has failed")
    .shows(Data("Webhook"))
    .refuses(NOT_FOUND);
const TEST: Operation = op("testWebhook", "Send a signed sample of an event at once, and answer the attempt")
    .takes("WebhookTest")
    .shows(Data("WebhookTested"))
    .refuses(NOT_FOUND);
const EVENTS: Operation =
    op("listWebhookEvents", "What a webhook was told, newest first, with every attempt")
        .asks(&["Limit", "Offset", "DeliveryStatusFilter", "CreatedFrom", "CreatedTo"])
        .shows(List("WebhookEvent"))
        .refuses(NOT_FOUND);
const RETRY: Operation = op("retryWebhookEvents", "Try failed events again: these, those of a time, or all")
    .may_take("WebhookRetry")
    .shows(Data("WebhookRetried"))
    .refuses(&[ErrorCode::WebhookNotFound, ErrorCode::InvalidStatusTransition]);

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/webhooks", Access::KeyOrToken(scope(Scope::WebhooksCreate), run!(webhooks::endpoints::create, call, caller))).also_at("/webhooks").doc(CREATE),
    row("GET", "/api/v1/webhooks", Access::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::endpoints::list, call, caller))).also_at("/webhooks").doc(LIST),
    row("GET", "/api/v1/webhooks/{id}", Access::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::endpoints::get, call, caller))).also_at("/webhooks/{id}").doc(GET),
    row("PUT", "/api/v1/webhooks/{id}", Access::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::update, call, caller))).also_at("/webhooks/{id}").doc(UPDATE),
    row("DELETE", "/api/v1/webhooks/{id}", Access::KeyOrToken(scope(Scope::WebhooksDelete), run!(webhooks::endpoints::delete, call, caller))).also_at("/webhooks/{id}").doc(DELETE),
    row("PUT", "/api/v1/webhooks/{id}/enable", Access::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::enable, call, caller))).also_at("/webhooks/{id}/enable").doc(ENABLE),
    row("PUT", "/api/v1/webhooks/{id}/disable", Access::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::disable, call, caller))).also_at("/webhooks/{id}/disable").doc(DISABLE),
    row("POST", "/api/v1/webhooks/{id}/test", Access::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::test::handle, call, caller))).also_at("/webhooks/{id}/test").doc(TEST),
    row("GET", "/api/v1/webhooks/{id}/events", Access::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::events::list, call, caller))).also_at("/webhooks/{id}/events").doc(EVENTS),
    row("POST", "/api/v1/webhooks/{id}/retry", Access::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::events::retry, call, caller))).also_at("/webhooks/{id}/retry").doc(RETRY),
];
