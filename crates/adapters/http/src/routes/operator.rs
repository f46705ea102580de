//! The operator's interface.

use quipu_merchants::Role;

use super::row;
use crate::{door::Door, operator, row::RouteRow};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/operator/v1/merchants", Door::Staff(Role::Admin, run!(operator::merchants::create, call, staff))),
    row("GET", "/operator/v1/merchants", Door::Staff(Role::Admin, run!(operator::merchants::list, call, staff))),
    row("GET", "/operator/v1/merchants/{id}", Door::Staff(Role::Admin, run!(operator::merchants::get, call, staff))),
    row("PATCH", "/operator/v1/merchants/{id}", Door::Staff(Role::Admin, run!(operator::merchants::change, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/rotate-webhook-secret", Door::Staff(Role::Admin, run!(operator::merchants::rotate_webhook_secret, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/switch", Door::Staff(Role::Admin, run!(operator::merchants::switch, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/api-keys", Door::Staff(Role::Admin, run!(operator::api_keys::issue, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/api-keys", Door::Staff(Role::Admin, run!(operator::api_keys::list, call, staff))),
    row("DELETE", "/operator/v1/merchants/{id}/api-keys/{key_id}", Door::Staff(Role::Admin, run!(operator::api_keys::revoke, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/hmac-credentials", Door::Staff(Role::Admin, run!(operator::credentials::issue, call, staff))),
    row("DELETE", "/operator/v1/merchants/{id}/hmac-credentials/{credential_id}", Door::Staff(Role::Admin, run!(operator::credentials::revoke, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/routes", Door::Staff(Role::Admin, run!(operator::routes::get, call, staff))),
    row("PUT", "/operator/v1/merchants/{id}/routes", Door::Staff(Role::Admin, run!(operator::routes::replace, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/beneficiaries", Door::Staff(Role::Admin, run!(operator::beneficiaries::add, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/beneficiaries", Door::Staff(Role::Admin, run!(operator::beneficiaries::list, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/adjustments", Door::Staff(Role::Finance, run!(operator::adjustments::adjust, call, staff))),
    row("GET", "/operator/v1/tickets", Door::Staff(Role::Support, run!(operator::tickets::queue, call, staff))),
    row("GET", "/operator/v1/tickets/{id}", Door::Staff(Role::Support, run!(operator::tickets::get, call, staff))),
    row("POST", "/operator/v1/tickets/{id}/assign", Door::Staff(Role::Support, run!(operator::tickets::assign, call, staff))),
    row("POST", "/operator/v1/tickets/{id}/status", Door::Staff(Role::Support, run!(operator::tickets::set_status, call, staff))),
    row("GET", "/operator/v1/tickets/{id}/comments", Door::Staff(Role::Support, run!(operator::tickets::comments, call, staff))),
    row("POST", "/operator/v1/tickets/{id}/comments", Door::Staff(Role::Support, run!(operator::tickets::say, call, staff))),
    row("GET", "/operator/v1/ledger/check", Door::Staff(Role::Finance, run!(operator::ledger::check, call, staff))),
    row("GET", "/operator/v1/audit-log", Door::Staff(Role::Finance, run!(operator::audit::list, call, staff))),
];
