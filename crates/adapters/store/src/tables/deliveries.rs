//! Deliveries: inserted when an event is owed, and updated after an attempt.

use std::{any::TypeId, collections::BTreeMap};

use diesel::{
    QueryResult, RunQueryDsl as _, SqliteConnection,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use diesel_async::AsyncPgConnection;
use futures_util::future::{BoxFuture, try_join};
use quipu_commit::Record;
use quipu_kernel::{EventId, Tenant, Timestamp, json_text};
use quipu_webhooks::{Attempt, DeliveryStatus, ENDPOINT_DISABLED, Endpoint, EndpointId, Outcome, Owed};

use super::{
    columns::columns,
    table::{Line, Table},
};
use crate::{error::Fault, rows::stored::from_json, statement::statement};

/// A status as its column stores it.
pub(crate) const fn code(status: DeliveryStatus) -> i32 {
    match status {
        DeliveryStatus::Pending => 0,
        DeliveryStatus::Delivered => 1,
        DeliveryStatus::Failed => 2,
    }
}

/// The status that its column stores for a delivery of this event.
pub(crate) fn status_of(event: &str, stored: i32) -> Result<DeliveryStatus, Fault> {
    let status = DeliveryStatus::ALL.into_iter().find(|known| code(*known) == stored);
    status.ok_or_else(|| {
        Fault::Corrupt(format!("a delivery of {event} has the status {stored}, which is none"))
    })
}

/// The attempts that their column stores.
pub(crate) fn attempts_of(stored: Option<String>) -> Result<Vec<Attempt>, Fault> {
    stored.map_or(Ok(Vec::new()), |text| from_json("attempts", &text))
}

/// The name of the counters of deliveries: by endpoint, how many there ever were (`all`), and how many of
/// them are `delivered` or `failed` now.
///
/// Two transactions do not block each other, since each writes the counters `delivered` and `failed` of all its endpoints, in
/// the same order, before any counter `all`: a batch records outcomes before it makes deliveries.
pub(crate) const COUNTER: &str = "deliveries";

/// A new delivery.
pub(crate) struct DeliveryLine<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) event_id: &'a EventId,
    pub(crate) due_at: i64,
    pub(crate) node: Option<&'a str>,
}

impl<'a> DeliveryLine<'a> {
    pub(crate) fn of(owed: &'a Owed, node: Option<&'a str>) -> Self {
        Self { endpoint: &owed.endpoint, event_id: &owed.event_id, due_at: owed.due_at.millis(), node }
    }
}

columns! {
    in "deliveries" from (line: DeliveryLine<'a>) {
        merchant_id: i64 as BigInt = line.endpoint.tenant.merchant().0;
        environment: &'a str as Text = line.endpoint.tenant.environment().as_str();
        endpoint_id: &'a str as Text = line.endpoint.id.as_str();
        event_id: &'a str as Text = line.event_id.as_str();
        status: i32 as Integer = 0;
        due_at: i64 as BigInt = line.due_at;
        node: Option<&'a str> as Nullable<Text> = line.node;
        step: i32 as Integer = 0;
    }
}

/// Outcomes of deliveries that a node has in hand. As a record they share a commit with other changes that
/// wait.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryOutcomes {
    pub(crate) node: String,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Record for DeliveryOutcomes {}

/// The columns that one outcome writes.
struct Row<'a> {
    tenant: Tenant,
    node: &'a str,
    outcome: &'a Outcome,
    due_at: Option<i64>,
    attempts: String,
}

impl<'a> Row<'a> {
    fn all_of(line: &Line<'a>) -> Vec<Self> {
        let all: &'a DeliveryOutcomes = line.record();
        let row = |outcome: &'a Outcome| Self {
            tenant: line.tenant,
            node: &all.node,
            outcome,
            due_at: outcome.reception.next_at().map(Timestamp::millis),
            attempts: json_text(&outcome.attempts),
        };
        all.outcomes.iter().map(row).collect()
    }

    fn step(&self) -> i32 {
        i32::try_from(self.outcome.step).unwrap_or(i32::MAX)
    }

    /// The status of a delivery whose endpoint was disabled during the attempt: still `failed`, unless the
    /// attempt delivered it.
    fn late_status(&self) -> i32 {
        match self.outcome.status() {
            DeliveryStatus::Delivered => code(DeliveryStatus::Delivered),
            DeliveryStatus::Pending | DeliveryStatus::Failed => code(DeliveryStatus::Failed),
        }
    }

    fn late(&self) -> RecordOutcomeLate<'_> {
        let status = self.late_status();
        RecordOutcomeLate {
            status,
            error: (status == code(DeliveryStatus::Failed)).then_some(ENDPOINT_DISABLED),
            step: self.step(),
            attempts: &self.attempts,
            merchant: self.tenant.merchant().0,
            environment: self.tenant.environment().as_str(),
            endpoint: self.outcome.endpoint.as_str(),
            event: self.outcome.event_id.as_str(),
            disabled: ENDPOINT_DISABLED,
            before: self.step() - 1,
        }
    }
}

statement! { RecordOutcome on Sqlite {
    "UPDATE deliveries SET status = " => status: i32 as Integer, ", due_at = " => due_at: Option<i64> as Nullable<BigInt>,
    ", node = NULL, step = " => step: i32 as Integer, ", attempts = " => attempts: &'a str as Text,
    " WHERE merchant_id = " => merchant: i64 as BigInt, " AND environment = " => environment: &'a str as Text,
    " AND endpoint_id = " => endpoint: &'a str as Text, " AND event_id = " => event: &'a str as Text,
    " AND node = " => node: &'a str as Text, " AND due_at = " => since: i64 as BigInt ; " AND status = 0"
} }

// An attempt that was under way when its endpoint was disabled, which let the delivery fail.
statement! { RecordOutcomeLate on Sqlite {
    "UPDATE deliveries SET status = " => status: i32 as Integer, ", error = " => error: Option<&'a str> as Nullable<Text>,
    ", step = " => step: i32 as Integer, ", attempts = " => attempts: &'a str as Text,
    " WHERE merchant_id = " => merchant: i64 as BigInt, " AND environment = " => environment: &'a str as Text,
    " AND endpoint_id = " => endpoint: &'a str as Text, " AND event_id = " => event: &'a str as Text,
    " AND status = 2 AND error = " => disabled: &'a str as Text, " AND step = " => before: i32 as Integer ; ""
} }

statement! { CountOne on Sqlite {
    "INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count) VALUES ("
    => merchant: i64 as BigInt, ", " => environment: &'a str as Text, ", 'deliveries', " => endpoint: &'a str as Text,
    ", " => word: &'a str as Text, ", '', '', " => by: i64 as BigInt ;
    ") ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
        DO UPDATE SET count = counters.count + excluded.count"
} }

// The merchant is compared as one of a list, which keeps the planner from reading all deliveries in the order
// of their key and comparing each with every outcome. It likes to do so as long as it believes that the table
// is small.
//
// How many of them it did not find is kept for the statement behind it, which is sent before this one is answered.
statement! { RecordOutcomes on Pg {
    "WITH told AS (UPDATE deliveries AS old SET status = new.status, due_at = new.due_at, node = NULL, step = new.step,
        attempts = new.attempts FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => endpoints: Vec<&'a str> as Array<Text>,
    ", " => events: Vec<&'a str> as Array<Text>, ", " => nodes: Vec<&'a str> as Array<Text>,
    ", " => statuses: Vec<i32> as Array<Integer>, ", " => dues: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    ", " => steps: Vec<i32> as Array<Integer>, ", " => attempts: Vec<&'a str> as Array<Text>,
    ", " => since: Vec<i64> as Array<BigInt>,
    ") AS new (merchant_id, environment, endpoint_id, event_id, node, status, due_at, step, attempts, since)
        WHERE old.merchant_id = ANY (ARRAY [new.merchant_id]) AND old.environment = new.environment
            AND old.endpoint_id = new.endpoint_id AND old.event_id = new.event_id
            AND old.node IS NOT DISTINCT FROM new.node AND old.status = 0 AND old.due_at = new.since
        RETURNING old.merchant_id, old.environment, old.endpoint_id, new.status),
     counted AS (INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
        SELECT merchant_id, environment, 'deliveries', endpoint_id,
            CASE status WHEN 1 THEN 'delivered' ELSE 'failed' END AS word, '', '', COUNT(*) FROM told WHERE status <> 0
        GROUP BY merchant_id, environment, endpoint_id, status ORDER BY merchant_id, environment, endpoint_id, word
     ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
        DO UPDATE SET count = counters.count + excluded.count)
     SELECT set_config('quipu.untold', CAST(" => all: i64 as BigInt ; " - COUNT(*) AS TEXT), true) FROM told"
} }

// Of attempts that were under way when their endpoint was disabled. It looks for them only if some were not
// in hand any more.
statement! { RecordOutcomesLate on Pg {
    "WITH told AS (UPDATE deliveries AS old SET status = new.status, step = new.step, attempts = new.attempts,
        error = CASE new.status WHEN 1 THEN NULL ELSE old.error END FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => endpoints: Vec<&'a str> as Array<Text>,
    ", " => events: Vec<&'a str> as Array<Text>, ", " => statuses: Vec<i32> as Array<Integer>,
    ", " => steps: Vec<i32> as Array<Integer>, ", " => attempts: Vec<&'a str> as Array<Text>,
    ") AS new (merchant_id, environment, endpoint_id, event_id, status, step, attempts)
        WHERE old.merchant_id = ANY (ARRAY [new.merchant_id]) AND old.environment = new.environment
            AND old.endpoint_id = new.endpoint_id AND old.event_id = new.event_id
            AND current_setting('quipu.untold') <> '0'
            AND old.status = 2 AND old.step = new.step - 1 AND old.error = " => disabled: &'a str as Text ;
    " RETURNING old.merchant_id, old.environment, old.endpoint_id, new.status)
     INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
        SELECT merchant_id, environment, 'deliveries', endpoint_id, word, '', '', SUM(by)
        FROM told CROSS JOIN (VALUES ('delivered', 1), ('failed', -1)) AS moved (word, by) WHERE status = 1
        GROUP BY merchant_id, environment, endpoint_id, word ORDER BY merchant_id, environment, endpoint_id, word
     ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
        DO UPDATE SET count = counters.count + excluded.count"
} }

/// Changes a counter of an endpoint's deliveries in an embedded database.
pub(crate) fn count_in_file(
    conn: &mut SqliteConnection,
    tenant: Tenant,
    endpoint: &EndpointId,
    word: &str,
    by: i64,
) -> QueryResult<()> {
    let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
    let count = CountOne { merchant, environment, endpoint: endpoint.as_str(), word, by };
    count.execute(conn).map(drop)
}

/// The table of outcomes.
pub(crate) struct Outcomes;

impl Table for Outcomes {
    fn keeps(&self) -> TypeId {
        TypeId::of::<DeliveryOutcomes>()
    }

    fn insert_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()> {
        let mut counts: BTreeMap<(&EndpointId, &str), i64> = BTreeMap::new();
        let rows = Row::all_of(line);
        for row in &rows {
            let status = row.outcome.status();
            let in_hand = RecordOutcome {
                status: code(status),
                due_at: row.due_at,
                step: row.step(),
                attempts: &row.attempts,
                merchant: row.tenant.merchant().0,
                environment: row.tenant.environment().as_str(),
                endpoint: row.outcome.endpoint.as_str(),
                event: row.outcome.event_id.as_str(),
                node: row.node,
                since: row.outcome.due_at.millis(),
            };
            let mut count = |status: DeliveryStatus, by| {
                *counts.entry((&row.outcome.endpoint, status.as_str())).or_default() += by;
            };
            // Somebody else has ended or released what this node no longer has in hand.
            if in_hand.execute(conn)? == 1 {
                if status != DeliveryStatus::Pending {
                    count(status, 1);
                }
            } else if row.late().execute(conn)? == 1 && status == DeliveryStatus::Delivered {
                count(DeliveryStatus::Delivered, 1);
                count(DeliveryStatus::Failed, -1);
            }
        }
        for ((endpoint, word), by) in counts {
            count_in_file(conn, line.tenant, endpoint, word, by)?;
        }
        Ok(())
    }

    fn insert_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>> {
        Box::pin(async move {
            let rows: Vec<_> = lines.iter().flat_map(Row::all_of).collect();
            let in_hand = RecordOutcomes {
                merchants: rows.iter().map(|row| row.tenant.merchant().0).collect(),
                environments: rows.iter().map(|row| row.tenant.environment().as_str()).collect(),
                endpoints: rows.iter().map(|row| row.outcome.endpoint.as_str()).collect(),
                events: rows.iter().map(|row| row.outcome.event_id.as_str()).collect(),
                nodes: rows.iter().map(|row| row.node).collect(),
                statuses: rows.iter().map(|row| code(row.outcome.status())).collect(),
                dues: rows.iter().map(|row| row.due_at).collect(),
                steps: rows.iter().map(Row::step).collect(),
                attempts: rows.iter().map(|row| row.attempts.as_str()).collect(),
                since: rows.iter().map(|row| row.outcome.due_at.millis()).collect(),
                all: i64::try_from(rows.len()).unwrap_or(i64::MAX),
            };
            let late = RecordOutcomesLate {
                merchants: rows.iter().map(|row| row.tenant.merchant().0).collect(),
                environments: rows.iter().map(|row| row.tenant.environment().as_str()).collect(),
                endpoints: rows.iter().map(|row| row.outcome.endpoint.as_str()).collect(),
                events: rows.iter().map(|row| row.outcome.event_id.as_str()).collect(),
                statuses: rows.iter().map(Row::late_status).collect(),
                steps: rows.iter().map(Row::step).collect(),
                attempts: rows.iter().map(|row| row.attempts.as_str()).collect(),
                disabled: ENDPOINT_DISABLED,
            };
            let (mut one, mut other) = (conn, conn);
            let in_hand = diesel_async::RunQueryDsl::execute(in_hand, &mut one);
            try_join(in_hand, diesel_async::RunQueryDsl::execute(late, &mut other)).await.map(drop)
        })
    }
}
