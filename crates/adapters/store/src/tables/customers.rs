//! Customers, and the names by which they are found.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_commit::{Holder, Index};
use quipu_payments::NewCustomer;

use super::{columns::columns, names::held_names, record::record_table, table::Line};

columns! {
    in "customers" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: i64 as BigInt = line.record::<NewCustomer>().0.id.0;
        email: Option<&'a str> as Nullable<Text> = line.record::<NewCustomer>().0.email.as_deref();
        phone: Option<&'a str> as Nullable<Text> = line.record::<NewCustomer>().0.phone.as_deref();
        name: Option<&'a str> as Nullable<Text> = line.record::<NewCustomer>().0.name.as_deref();
        email_key: Option<String> as Nullable<Text> = line.record::<NewCustomer>().0.email_key();
        phone_key: Option<String> as Nullable<Text> = line.record::<NewCustomer>().0.phone_key();
        created_at: i64 as BigInt = line.at.millis();
    }
}

record_table! {
    /// Customers.
    Customers keeps NewCustomer
}

held_names! {
    /// E-mail addresses, each of at most one customer.
    Emails of Index::CUSTOMER_EMAIL, in "customers" by "email_key",
    held by "id": i64 as BigInt => Holder::Number, within emails
}

held_names! {
    /// Telephone numbers; the oldest customer has the least number.
    Phones of Index::CUSTOMER_PHONE, in "customers" by "phone_key",
    held by "id": i64 as BigInt => Holder::Number, within phones
}
