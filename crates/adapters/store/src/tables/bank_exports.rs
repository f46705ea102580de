//! Files for the bank.

use diesel::sql_types::{BigInt, Bool, Text};
use quipu_payments::BankExport;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "bank_exports" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = &line.record::<BankExport>().export_id;
        currency: &'a str as Text = line.record::<BankExport>().currency.as_str();
        method: &'a str as Text = line.record::<BankExport>().method.as_str();
        partner: bool as Bool = line.record::<BankExport>().partner;
        created_at: i64 as BigInt = line.record::<BankExport>().created_at.millis();
    }
}

record_table! {
    /// Files for the bank.
    BankExports keeps BankExport
}
