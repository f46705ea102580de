//! Balances (docs/API.md, "Balances").

use std::{collections::BTreeSet, str::FromStr};

use quipu_kernel::{Currency, Minor, Problems, Tenant, Unrecognised, wire_names};
use quipu_ledger::Balance;
use serde::Serialize;

use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn own(call: Call, caller: Caller) -> Outcome {
    of(call, caller.tenant()).await
}

pub(crate) async fn all_own(call: Call, caller: Caller) -> Outcome {
    all_of(call, caller.tenant()).await
}

/// One balance of a tenant.
pub(crate) async fn of(call: Call, tenant: Tenant) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let currency = query.parsed("currency", &mut problems).map_or(Currency::MXN, |QueryCurrency(it)| it);
    let balance_type = query.parsed("balance_type", &mut problems).unwrap_or(BalanceType::Main);
    problems.into_result()?;
    let balance = call.state.services.ledger.balance(tenant, currency).await?;
    let (total, available, frozen) = balance_type.parts(&balance);
    envelope::top_level(OneBalance {
        merchant_id: tenant.merchant().0,
        row: BalanceRow::new(currency, balance_type, total, available, frozen),
        new_balance: total,
        available_balance: available.get(),
    })
}

/// Every balance of a tenant: five types in each currency that has a route or has ever had activity.
pub(crate) async fn all_of(call: Call, tenant: Tenant) -> Outcome {
    let services = &call.state.services;
    let balances = services.ledger.balances(tenant).await?;
    let routes = services.routes.routes(tenant.merchant()).await?;
    let enabled = routes.iter().filter(|route| route.enabled && route.environment == tenant.environment());
    let currencies: BTreeSet<_> =
        enabled.map(|route| route.currency).chain(balances.iter().map(|balance| balance.currency)).collect();
    let rows = currencies.into_iter().flat_map(|currency| {
        let found = balances.iter().find(|balance| balance.currency == currency);
        let balance = found.copied().unwrap_or(Balance::zero(currency));
        BalanceType::ALL.map(|balance_type| {
            let (total, available, frozen) = balance_type.parts(&balance);
            BalanceRow::new(currency, balance_type, total, available, frozen)
        })
    });
    let balances: Vec<_> = rows.collect();
    let merchant_id = tenant.merchant().0;
    envelope::top_level(AllBalances { merchant_id, total_balances: balances.len(), balances })
}

#[derive(Serialize)]
struct OneBalance {
    merchant_id: i64,
    #[serde(flatten)]
    row: BalanceRow,
    new_balance: i64,
    available_balance: i64,
}

#[derive(Serialize)]
struct AllBalances {
    merchant_id: i64,
    balances: Vec<BalanceRow>,
    total_balances: usize,
}

/// Amounts are texts, so that no reader parses them as floating-point numbers.
#[derive(Serialize)]
struct BalanceRow {
    currency: Currency,
    balance_type: &'static str,
    balance_amount: String,
    available_amount: String,
    frozen_amount: String,
}

impl BalanceRow {
    fn new(currency: Currency, kind: BalanceType, total: i64, available: Minor, frozen: Minor) -> Self {
        Self {
            currency,
            balance_type: kind.as_str(),
            balance_amount: total.to_string(),
            available_amount: available.to_string(),
            frozen_amount: frozen.to_string(),
        }
    }
}

/// A currency that may be named in a balance query.
struct QueryCurrency(Currency);

impl FromStr for QueryCurrency {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let found = Currency::IN_BALANCE_QUERIES.into_iter().find(|currency| currency.as_str() == text);
        found.map(Self).ok_or(Unrecognised { expected: "one of ARS, AUD, LKR, MXN, TRY, UYU" })
    }
}

wire_names! {
    /// The part of a balance that is requested.
    #[derive(Clone, Copy)]
    pub(crate) enum BalanceType {
        /// The whole balance.
        Main = "main",
        /// Incoming money.
        Deposit = "deposit",
        /// Outgoing money.
        Withdrawal = "withdrawal",
        /// Fees.
        Commission = "commission",
        /// Money reserved for open withdrawals.
        Frozen = "frozen",
    }
}

impl BalanceType {
    /// Total, available and frozen, by the table of balances (docs/API.md, "Balances").
    const fn parts(self, balance: &Balance) -> (i64, Minor, Minor) {
        match self {
            // Each is below 2^53, so their sum is far from overflow.
            Self::Main => (balance.available.get() + balance.frozen.get(), balance.available, balance.frozen),
            Self::Deposit => (balance.deposit.get(), Minor::ZERO, Minor::ZERO),
            Self::Withdrawal => (balance.withdrawal.get(), Minor::ZERO, Minor::ZERO),
            Self::Commission => (balance.commission.get(), Minor::ZERO, Minor::ZERO),
            Self::Frozen => (balance.frozen.get(), Minor::ZERO, balance.frozen),
        }
    }
}
