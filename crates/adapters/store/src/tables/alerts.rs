//! Alerts about payments. A second alert about the same payment is ignored.

use diesel::sql_types::{BigInt, Text};
use quipu_payments::Alert;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "alerts" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        payment_id: &'a str as Text = line.record::<Alert>().payment_id.as_str();
        alerted_at: i64 as BigInt = line.record::<Alert>().at.millis();
    }
    then "ON CONFLICT (merchant_id, environment, payment_id) DO NOTHING"
}

record_table! {
    /// Alerts.
    Alerts keeps Alert
}
