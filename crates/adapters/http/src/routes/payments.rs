//! Payments, by key and by signature.

use quipu_merchants::Scope;

use super::{CREATION, row, scope};
use crate::{door::Door, row::RouteRow, v1::payments};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/payments", Door::ApiKey(CREATION, run!(payments::create::by_key, call, caller))),
    row("GET", "/api/v1/payments", Door::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::list::handle, call, caller))),
    row("GET", "/api/v1/payments/methods", Door::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::list, call, caller))),
    row("POST", "/api/v1/payments/methods/validate", Door::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::validate, call, caller))),
    row("GET", "/api/v1/payments/{id}", Door::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller))),
    row("POST", "/api/v1/payments/{id}/cancel", Door::KeyOrToken(scope(Scope::PaymentsCancel), run!(payments::cancel::handle, call, caller))),
    row("POST", "/api/v2/payments", Door::SignedCreation(CREATION, run!(payments::create::by_signature, call, signed))),
    row("GET", "/api/v2/payments/{id}", Door::Signed(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller))),
];
