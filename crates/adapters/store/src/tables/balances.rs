//! Balances: running totals of the entries.

use diesel::sql_types::{BigInt, Text};
use quipu_commit::KnownBalance;
use quipu_kernel::{Currency, Tenant};

use super::columns::saved_columns;

/// A balance after a batch.
pub(crate) type BalanceLine = (Tenant, Currency, KnownBalance);

saved_columns! {
    in "balances" from (line: BalanceLine)
    key {
        merchant_id: i64 as BigInt = line.0.merchant().0;
        environment: &'a str as Text = line.0.environment().as_str();
        currency: &'a str as Text = line.1.as_str();
    }
    fixed {}
    moving {
        available: i64 as BigInt = line.2.balance.available.get();
        frozen: i64 as BigInt = line.2.balance.frozen.get();
        deposit: i64 as BigInt = line.2.balance.deposit.get();
        withdrawal: i64 as BigInt = line.2.balance.withdrawal.get();
        commission: i64 as BigInt = line.2.balance.commission.get();
        adjustment: i64 as BigInt = line.2.balance.adjustment.get();
    }
}
