//! Webhook endpoints: under `/api/v1`, and under the bare paths as well.

use quipu_merchants::Scope;

use super::{row, scope};
use crate::{door::Door, row::RouteRow, v1::webhooks};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/webhooks", Door::KeyOrToken(scope(Scope::WebhooksCreate), run!(webhooks::endpoints::create, call, caller))).also_at("/webhooks"),
    row("GET", "/api/v1/webhooks", Door::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::endpoints::list, call, caller))).also_at("/webhooks"),
    row("GET", "/api/v1/webhooks/{id}", Door::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::endpoints::get, call, caller))).also_at("/webhooks/{id}"),
    row("PUT", "/api/v1/webhooks/{id}", Door::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::update, call, caller))).also_at("/webhooks/{id}"),
    row("DELETE", "/api/v1/webhooks/{id}", Door::KeyOrToken(scope(Scope::WebhooksDelete), run!(webhooks::endpoints::delete, call, caller))).also_at("/webhooks/{id}"),
    row("PUT", "/api/v1/webhooks/{id}/enable", Door::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::enable, call, caller))).also_at("/webhooks/{id}/enable"),
    row("PUT", "/api/v1/webhooks/{id}/disable", Door::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::endpoints::disable, call, caller))).also_at("/webhooks/{id}/disable"),
    row("POST", "/api/v1/webhooks/{id}/test", Door::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::test::handle, call, caller))).also_at("/webhooks/{id}/test"),
    row("GET", "/api/v1/webhooks/{id}/events", Door::KeyOrToken(scope(Scope::WebhooksRead), run!(webhooks::events::list, call, caller))).also_at("/webhooks/{id}/events"),
    row("POST", "/api/v1/webhooks/{id}/retry", Door::KeyOrToken(scope(Scope::WebhooksUpdate), run!(webhooks::events::retry, call, caller))).also_at("/webhooks/{id}/retry"),
];
