//! Entries of the ledger.

use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use quipu_kernel::{PaymentId, Tenant, Timestamp};
use quipu_ledger::{Entry, Transaction};

use super::columns::columns;

/// One entry of a transaction.
pub(crate) struct EntryLine<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) at: Timestamp,
    pub(crate) payment_id: Option<&'a PaymentId>,
    pub(crate) transaction: &'a Transaction,
    pub(crate) transaction_id: &'a str,
    pub(crate) number: i32,
    pub(crate) entry: Entry,
}

columns! {
    in "entries" from (line: EntryLine<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        transaction_id: &'a str as Text = line.transaction_id;
        line named "line": i32 as Integer = line.number;
        currency: String as Text = line.transaction.currency().as_str().to_owned();
        account: &'a str as Text = line.entry.account.as_str();
        amount: i64 as BigInt = line.entry.amount.get();
        reason: &'a str as Text = line.transaction.reason().as_str();
        payment_id: Option<&'a str> as Nullable<Text> = line.payment_id.map(PaymentId::as_str);
        created_at: i64 as BigInt = line.at.millis();
    }
}
