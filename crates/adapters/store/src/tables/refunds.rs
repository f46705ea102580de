//! Refunds of deposits.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_payments::Refund;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "refunds" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = &line.record::<Refund>().refund_id;
        payment_id: &'a str as Text = line.record::<Refund>().payment_id.as_str();
        amount: i64 as BigInt = line.record::<Refund>().amount.get();
        reason: Option<&'a str> as Nullable<Text> = line.record::<Refund>().reason.as_deref();
        ticket_id: Option<&'a str> as Nullable<Text> = line.record::<Refund>().ticket_id.as_deref();
        created_at: i64 as BigInt = line.record::<Refund>().created_at.millis();
    }
}

record_table! {
    /// Refunds.
    Refunds keeps Refund
}
