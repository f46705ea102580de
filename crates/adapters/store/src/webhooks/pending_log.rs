//! The pending deliveries of an endpoint for its log.
//!
//! They are read from the two small indexes that have them, of those that wait and of those in hand. A planner whose
//! statistics are of a day without any would look them all up again for each row of a larger index.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{EventId, Period, Tenant};
use quipu_webhooks::EndpointId;

use crate::{
    connection::{Connection, either},
    error::Fault,
    read::{narrow::BEHIND_ALL, slice::Slice},
    rows::stored::bigint,
    statement::statement,
};

/// The statements for one database. Without `+ 0` the planner could take the key's index, which has all deliveries.
macro_rules! pending {
    ($backend:ty, $count:ident, $newest:ident, $oldest:ident) => {
        pending!(@rows $backend, $count, BigInt, "SELECT COUNT(*)", ; "");
        pending!(@rows $backend, $newest, Text, "SELECT event_id", " ORDER BY event_id DESC LIMIT 0 + " => limit: &'a i64 as BigInt,
            " OFFSET 0 + " => offset: &'a i64 as BigInt ; "");
        pending!(@rows $backend, $oldest, Text, "SELECT event_id", " ORDER BY event_id LIMIT 0 + " => limit: &'a i64 as BigInt,
            " OFFSET 0 + " => offset: &'a i64 as BigInt ; "");
    };
    (@rows $backend:ty, $name:ident, $row:ty, $select:expr, $($before:expr => $field:ident: $rust:ty as $sql:ty),* ; $after:expr) => {
        statement! { $name on $backend => $row {
            concat!($select, " FROM (SELECT merchant_id, environment, event_id FROM deliveries
                WHERE status = 0 AND node IS NULL AND endpoint_id = ") => waiting: &'a str as Text,
            " UNION ALL SELECT merchant_id, environment, event_id FROM deliveries WHERE node IS NOT NULL AND endpoint_id = "
            => in_hand: &'a str as Text, ") AS pending WHERE merchant_id + 0 = " => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text, " AND event_id >= " => from: &'a str as Text,
            " AND event_id < " => to: &'a str as Text $(, $before => $field: $rust as $sql)* ; $after
        } }
    };
}

pending!(Sqlite, CountInFile, NewestInFile, OldestInFile);
pending!(Pg, CountOnServer, NewestOnServer, OldestOnServer);

/// Whose pending deliveries, and of which period, as a range of identifiers: they begin with their time.
pub(super) struct Pending<'a> {
    endpoint: &'a str,
    merchant: i64,
    environment: &'a str,
    from: String,
    to: String,
}

macro_rules! with_whose {
    ($statement:ident, $pending:expr $(, $field:ident: $value:expr)*) => {
        $statement {
            waiting: $pending.endpoint,
            in_hand: $pending.endpoint,
            merchant: $pending.merchant,
            environment: $pending.environment,
            from: &$pending.from,
            to: &$pending.to,
            $($field: $value,)*
        }
    };
}

impl<'a> Pending<'a> {
    pub(super) fn of(tenant: &'a Tenant, endpoint: &'a EndpointId, created: Period) -> Self {
        Self {
            endpoint: endpoint.as_str(),
            merchant: tenant.merchant().0,
            environment: tenant.environment().as_str(),
            from: created.from.map_or_else(String::new, EventId::lower_bound),
            to: created.to.map_or_else(|| BEHIND_ALL.to_owned(), EventId::upper_bound),
        }
    }

    pub(super) async fn count(&self, conn: &mut Connection) -> Result<i64, Fault> {
        let counted =
            either!(conn, get_result, with_whose!(CountInFile, self), with_whose!(CountOnServer, self));
        Ok(counted?)
    }

    /// The identifiers of their events, in the order of the slice.
    pub(super) async fn page(&self, conn: &mut Connection, slice: &Slice) -> Result<Vec<String>, Fault> {
        let (limit, offset) = (&bigint(slice.limit), &bigint(slice.offset));
        macro_rules! in_order {
            ($file:ident, $server:ident) => {
                either!(
                    conn,
                    load,
                    with_whose!($file, self, limit: limit, offset: offset),
                    with_whose!($server, self, limit: limit, offset: offset)
                )
            };
        }
        let found = if slice.oldest_first {
            in_order!(OldestInFile, OldestOnServer)
        } else {
            in_order!(NewestInFile, NewestOnServer)
        };
        Ok(found?)
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId};

    use super::*;
    use crate::plans::Plans;

    #[test]
    fn pending_deliveries_are_found_without_the_others() {
        let tenant = Tenant::new(MerchantId(1), Environment::Live);
        let endpoint = EndpointId::restore("an endpoint".to_owned());
        let pending = Pending::of(&tenant, &endpoint, Period::default());
        let plan = Plans::new().of(&with_whose!(CountInFile, pending)).join("\n");
        for index in ["deliveries_waiting (endpoint_id=?", "deliveries_in_hand (endpoint_id=?"] {
            assert!(plan.contains(index), "{plan}");
        }
        assert!(!plan.contains("deliveries_key"), "{plan}");
    }
}
