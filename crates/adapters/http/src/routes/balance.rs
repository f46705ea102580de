//! Balances, by key, by signature and for staff.

use quipu_merchants::Scope;

use super::{row, scope};
use crate::{door::Door, row::RouteRow, v1::balance};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/api/v1/balance", Door::KeyOrToken(scope(Scope::BalanceRead), run!(balance::own, call, caller))),
    row("GET", "/api/v1/balance/all", Door::KeyOrToken(scope(Scope::BalanceRead), run!(balance::all_own, call, caller))),
    row("GET", "/api/v1/merchants/{id}/balance", Door::Scoped(scope(Scope::BalanceRead), run!(balance::of, call, tenant))),
    row("GET", "/api/v1/merchants/{id}/balance/all", Door::Scoped(scope(Scope::BalanceRead), run!(balance::all_of, call, tenant))),
    row("GET", "/api/v2/balance", Door::Signed(scope(Scope::BalanceRead), run!(balance::own, call, caller))),
    row("GET", "/api/v2/balance/all", Door::Signed(scope(Scope::BalanceRead), run!(balance::all_own, call, caller))),
];
