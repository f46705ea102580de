//! Payments, and the references that they hold. On PostgreSQL the statement that inserts a payment also
//! inserts its [class](super::payment_classes).

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
use quipu_commit::{Aggregate, Holder, Index};
use quipu_kernel::{Amount, Timestamp};
use quipu_payments::Payment;

use super::{columns::saved_columns, names::held_names, record::record_table, table::Line};
use crate::rows::document::Document;

saved_columns! {
    in "payments" from (line: Line<'a>)
    key {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.record::<Payment>().id().as_str();
    }
    fixed {
        kind named "type": &'a str as Text = line.record::<Payment>().terms().kind.as_str();
        method: &'a str as Text = line.record::<Payment>().terms().method.as_str();
        currency: &'a str as Text = line.record::<Payment>().terms().currency.as_str();
        amount: i64 as BigInt = line.record::<Payment>().terms().amount.get();
        merchant_reference: &'a str as Text = &line.record::<Payment>().terms().merchant_reference;
        customer_id: i64 as BigInt = line.record::<Payment>().terms().customer.id.0;
        rail: &'a str as Text = &line.record::<Payment>().terms().rail;
        created_at: i64 as BigInt = line.record::<Payment>().terms().created_at.millis();
        webhook_url: Option<&'a str> as Nullable<Text> =
            line.record::<Payment>().terms().webhook.as_ref().map(|webhook| webhook.url.as_str());
    }
    moving {
        fee: i64 as BigInt = line.record::<Payment>().state().fee.get();
        holds_reference: bool as Bool = line.record::<Payment>().holds_reference();
        status: &'a str as Text = line.record::<Payment>().status().as_str();
        status_version: i32 as Integer = line.record::<Payment>().state().version;
        updated_at: i64 as BigInt = line.record::<Payment>().state().updated_at.millis();
        expires_at: Option<i64> as Nullable<BigInt> =
            line.record::<Payment>().terms().expires_at.map(Timestamp::millis);
        completed_at: Option<i64> as Nullable<BigInt> =
            line.record::<Payment>().state().completed_at.map(Timestamp::millis);
        refunded_amount: i64 as BigInt = line.record::<Payment>().state().refunded_amount.get();
        received_amount: Option<i64> as Nullable<BigInt> =
            line.record::<Payment>().state().received_amount.map(Amount::get);
        late: bool as Bool = line.record::<Payment>().state().late;
        document: &'a str as Text = line.prepared;
    }
    counted {
        revision: i64 as BigInt = line.record::<Payment>().state().revision, from line.from;
    }
    inserted on a server between "WITH made AS (" and " RETURNING merchant_id, environment,
            status || '/' || type || '/' || method || '/' || currency, id)
        INSERT INTO payment_classes (merchant_id, environment, class, id) SELECT * FROM made"
}

record_table! {
    /// Payments.
    Payments keeps Payment, prepared by Document::text_of, saved as Aggregate::PAYMENT, in "payments"
}

held_names! {
    /// References, each held by at most one payment.
    References of Index::REFERENCE, in "payments" by "merchant_reference" where "holds_reference",
    held by "id": String as Text => Holder::Text, within references
}
