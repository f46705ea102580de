//! Events that rails reported.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_commit::{Holder, Index};
use quipu_kernel::{Amount, PaymentId, Timestamp};
use quipu_payments::ReceivedEvent;

use super::{columns::columns, names::held_names, record::record_table, table::Line};

columns! {
    in "callbacks" from (line: Line<'a>) {
        name: String as Text =
            ReceivedEvent::name_of(&line.record::<ReceivedEvent>().rail, &line.record::<ReceivedEvent>().event.id);
        id: &'a str as Text = &line.record::<ReceivedEvent>().id;
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        rail: &'a str as Text = &line.record::<ReceivedEvent>().rail;
        event_id: &'a str as Text = &line.record::<ReceivedEvent>().event.id;
        kind named "type": &'a str as Text = line.record::<ReceivedEvent>().event.kind.as_str();
        rail_reference: &'a str as Text = &line.record::<ReceivedEvent>().event.rail_reference;
        payment_id: Option<&'a str> as Nullable<Text> =
            line.record::<ReceivedEvent>().payment_id.as_ref().map(PaymentId::as_str);
        amount: Option<i64> as Nullable<BigInt> = line.record::<ReceivedEvent>().event.amount.map(Amount::get);
        currency: Option<String> as Nullable<Text> =
            line.record::<ReceivedEvent>().event.currency.map(|currency| currency.to_string());
        code: Option<&'a str> as Nullable<Text> = line.record::<ReceivedEvent>().event.code.as_deref();
        message: Option<&'a str> as Nullable<Text> = line.record::<ReceivedEvent>().event.message.as_deref();
        occurred_at: Option<i64> as Nullable<BigInt> =
            line.record::<ReceivedEvent>().event.occurred_at.map(Timestamp::millis);
        outcome: &'a str as Text = line.record::<ReceivedEvent>().outcome;
        received_at: i64 as BigInt = line.record::<ReceivedEvent>().at.millis();
    }
}

record_table! {
    /// What rails told.
    Callbacks keeps ReceivedEvent
}

held_names! {
    /// Events of rails, each stored once.
    RailEvents of Index::RAIL_EVENT, in "callbacks" by "name",
    held by "id": String as Text => Holder::Text, within rail_events
}
