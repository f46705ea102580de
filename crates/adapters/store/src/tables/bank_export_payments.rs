//! The files for the bank in which withdrawals are, each in one file only.

use diesel::sql_types::{BigInt, Text};
use quipu_commit::{Holder, Index};
use quipu_payments::ExportedPayment;

use super::{columns::columns, names::held_names, record::record_table, table::Line};

columns! {
    in "bank_export_payments" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        payment_id: &'a str as Text = line.record::<ExportedPayment>().payment_id.as_str();
        export_id: &'a str as Text = &line.record::<ExportedPayment>().export_id;
    }
}

record_table! {
    /// Withdrawals in files for the bank.
    BankExportPayments keeps ExportedPayment
}

held_names! {
    /// Withdrawals, each held by the file that contains it.
    ExportedPayments of Index::BANK_EXPORT, in "bank_export_payments" by "payment_id",
    held by "export_id": String as Text => Holder::Text, within exported_payments
}
