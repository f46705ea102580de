//! Balances, by key, by signature and for staff.

use quipu_merchants::Scope;

use super::{row, scope};
use crate::{
    answer::ErrorCode,
    routing::{Access, Operation, RouteRow, Shows::Members, operation::op},
    v1::balance,
};

const ONE: Operation =
    op("getBalance", "One balance").asks(&["BalanceCurrency", "BalanceType"]).shows(Members("Balance"));
const ALL: Operation = op("listBalances", "Every balance").shows(Members("AllBalances"));
const NOT_FOUND: &[ErrorCode] = &[ErrorCode::MerchantNotFound];

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/api/v1/balance", Access::KeyOrToken(scope(Scope::BalanceRead), run!(balance::own, call, caller)))
        .doc(ONE),
    row("GET", "/api/v1/balance/all", Access::KeyOrToken(scope(Scope::BalanceRead), run!(balance::all_own, call, caller)))
        .doc(ALL),
    row("GET", "/api/v1/merchants/{id}/balance", Access::Scoped(scope(Scope::BalanceRead), run!(balance::of, call, tenant)))
        .doc(ONE.named("getBalanceOfMerchant").asks(&["BalanceCurrency", "BalanceType", "EnvironmentOfStaff"]).refuses(NOT_FOUND)),
    row("GET", "/api/v1/merchants/{id}/balance/all", Access::Scoped(scope(Scope::BalanceRead), run!(balance::all_of, call, tenant)))
        .doc(ALL.named("listBalancesOfMerchant").asks(&["EnvironmentOfStaff"]).refuses(NOT_FOUND)),
    row("GET", "/api/v2/balance", Access::Signed(scope(Scope::BalanceRead), run!(balance::own, call, caller)))
        .doc(ONE.named("getBalanceSigned")),
    row("GET", "/api/v2/balance/all", Access::Signed(scope(Scope::BalanceRead), run!(balance::all_own, call, caller)))
        .doc(ALL.named("listBalancesSigned")),
];
