//! Hosted pages, by the hash of the secret part of their address.

use diesel::sql_types::{BigInt, Text};
use quipu_payments::PageAddress;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "payment_pages" from (line: Line<'a>) {
        hash: &'a str as Text = &line.record::<PageAddress>().hash;
        merchant_id: i64 as BigInt = line.record::<PageAddress>().tenant.merchant().0;
        environment: &'a str as Text = line.record::<PageAddress>().tenant.environment().as_str();
        payment_id: &'a str as Text = line.record::<PageAddress>().payment_id.as_str();
    }
}

record_table! {
    /// Hosted pages.
    PaymentPages keeps PageAddress
}
