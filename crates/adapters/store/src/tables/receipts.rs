//! Receipts: parked, and later resolved.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_commit::Aggregate;
use quipu_kernel::{Amount, PaymentId};
use quipu_payments::Receipt;

use super::{columns::saved_columns, record::record_table, table::Line};

saved_columns! {
    in "receipts" from (line: Line<'a>)
    key {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = &line.record::<Receipt>().receipt_id;
    }
    fixed {
        payment_id: Option<&'a str> as Nullable<Text> =
            line.record::<Receipt>().payment_id.as_ref().map(PaymentId::as_str);
        rail: &'a str as Text = &line.record::<Receipt>().rail;
        event_id: &'a str as Text = &line.record::<Receipt>().event_id;
        kind named "type": &'a str as Text = line.record::<Receipt>().kind.as_str();
        rail_reference: &'a str as Text = &line.record::<Receipt>().rail_reference;
        provider_reference: Option<&'a str> as Nullable<Text> = line.record::<Receipt>().provider_reference.as_deref();
        amount: Option<i64> as Nullable<BigInt> = line.record::<Receipt>().amount.map(Amount::get);
        currency: Option<String> as Nullable<Text> =
            line.record::<Receipt>().currency.map(|currency| currency.to_string());
        reason: &'a str as Text = line.record::<Receipt>().reason.as_str();
        created_at: i64 as BigInt = line.record::<Receipt>().created_at.millis();
    }
    moving {
        resolution: Option<&'a str> as Nullable<Text> =
            line.record::<Receipt>().resolved.map(|resolved| resolved.how.as_str());
        resolved_at: Option<i64> as Nullable<BigInt> =
            line.record::<Receipt>().resolved.map(|resolved| resolved.at.millis());
    }
    counted {
        revision: i64 as BigInt = if line.record::<Receipt>().resolved.is_some() { 2 } else { 1 }, from line.from;
    }
}

record_table! {
    /// Receipts.
    Receipts keeps Receipt, saved as Aggregate::RECEIPT, in "receipts"
}
