//! Events, in the form in which they are delivered.

use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use quipu_kernel::PaymentId;
use quipu_webhooks::Event;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "events" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.record::<Event>().id.as_str();
        payment_id: Option<&'a str> as Nullable<Text> =
            line.record::<Event>().payment_id.as_ref().map(PaymentId::as_str);
        kind named "type": &'a str as Text = line.record::<Event>().name.as_str();
        status_version: Option<i32> as Nullable<Integer> =
            line.record::<Event>().status.map(|status| status.version);
        previous_status: Option<&'a str> as Nullable<Text> =
            line.record::<Event>().status.and_then(|status| status.previous);
        status: Option<&'a str> as Nullable<Text> = line.record::<Event>().status.map(|status| status.status);
        payload: &'a str as Text = &line.record::<Event>().payload;
        created_at: i64 as BigInt = line.record::<Event>().at.millis();
    }
}

record_table! {
    /// Events.
    Events keeps Event
}
