//! Counters for the totals of lists.

use std::borrow::Cow;

use diesel::sql_types::{BigInt, Text};
use quipu_kernel::Tenant;

use super::columns::columns;

/// The number by which a counter changes.
pub(crate) struct CounterLine<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) name: &'a str,
    pub(crate) keys: &'a [Cow<'static, str>; 4],
    pub(crate) by: i64,
}

columns! {
    in "counters" from (line: CounterLine<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        name: &'a str as Text = line.name;
        key1: &'a str as Text = &line.keys[0];
        key2: &'a str as Text = &line.keys[1];
        key3: &'a str as Text = &line.keys[2];
        key4: &'a str as Text = &line.keys[3];
        count: i64 as BigInt = line.by;
    }
    then "ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
        DO UPDATE SET count = counters.count + excluded.count"
}
