//! The queue of work: claimed under leases that name the node, released when the node dies; or shown without
//! a claim to a node that is alone.

mod heartbeat;
mod probe;
mod used_keys;

use std::{collections::HashSet, time::Duration};

use async_trait::async_trait;
use diesel::{
    BoolExpressionMethods as _, ExpressionMethods as _, QueryDsl as _, Queryable,
    dsl::{count_star, min},
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Text},
    sqlite::Sqlite,
};
use quipu_commit::{DueWork, LONGEST_HOLD_UP, MAX_CLOCK_SKEW, Queue, QueueState, WorkInHand, WorkQueue};
use quipu_kernel::{StoreError, Timestamp};

use crate::{
    connection::{Connection, either, execute, first, load},
    error::Fault,
    rows::stored::{natural, tenant_of},
    schema::{deliveries, work},
    statement::statement,
    store::Store,
};

#[derive(Queryable)]
struct ClaimRow {
    merchant: i64,
    environment: String,
    subject: String,
    action: String,
    due_since: i64,
    attempts: i32,
    turn: i64,
}

type ClaimColumns = (BigInt, Text, Text, Text, BigInt, Integer, BigInt);

statement! { ClaimOne on Sqlite {
    "UPDATE work SET due_at = " => until: i64 as BigInt, ", lease_node = " => node: &'a str as Text,
    ", attempts = " => attempts: i32 as Integer, ", turn = turn + 1 WHERE queue = " => queue: &'a str as Text,
    " AND merchant_id = " => merchant: i64 as BigInt, " AND environment = " => environment: &'a str as Text,
    " AND subject = " => subject: &'a str as Text, " AND turn = " => turn: i64 as BigInt ; ""
} }

statement! { ClaimShown on Pg => BigInt {
    "UPDATE work SET due_at = " => until: i64 as BigInt, ", lease_node = " => node: &'a str as Text,
    ", attempts = shown.attempts, turn = work.turn + 1 FROM (SELECT shown.*, work.ctid FROM UNNEST ("
    => queues: Vec<&'a str> as Array<Text>, ", " => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => subjects: Vec<&'a str> as Array<Text>,
    ", " => turns: Vec<i64> as Array<BigInt>, ", " => attempts: Vec<i32> as Array<Integer> ;
    ") WITH ORDINALITY AS shown (queue, merchant_id, environment, subject, turn, attempts, place)
     JOIN work USING (queue, merchant_id, environment, subject, turn) ORDER BY shown.place FOR UPDATE OF work SKIP LOCKED
     ) AS shown WHERE work.ctid = shown.ctid RETURNING shown.place"
} }

/// The due work of a queue, beginning with the work that has been due longest.
macro_rules! show_due {
    ($backend:ty, $name:ident) => {
        statement! { $name on $backend => ClaimColumns {
            "SELECT merchant_id, environment, subject, action, due_since, attempts, turn FROM work WHERE queue = "
            => queue: &'a str as Text, " AND due_at <= " => now: i64 as BigInt, " ORDER BY due_at LIMIT 0 + "
            => limit: i64 as BigInt ; ""
        } }
    };
}

show_due!(Sqlite, ShowDue);
show_due!(Pg, ShowDueOnServer);

statement! {
    /// A lease is ended by another node only when it is over by the clock of its holder too, however far that is behind. The
    /// work of a node that died is released before.
    ClaimMany on Pg => ClaimColumns {
        "UPDATE work SET due_at = " => until: i64 as BigInt, ", lease_node = " => node: &'a str as Text,
        ", attempts = attempts + 1, turn = turn + 1 WHERE ctid = ANY (ARRAY (SELECT ctid FROM work WHERE queue = "
        => queue: &'a str as Text, " AND due_at <= " => now: i64 as BigInt,
        " AND (lease_node IS NULL OR lease_node = " => own: &'a str as Text, " OR due_at <= " => others: i64 as BigInt,
        ") ORDER BY due_at LIMIT 0 + " => limit: i64 as BigInt ;
        " FOR UPDATE SKIP LOCKED)) RETURNING merchant_id, environment, subject, action, due_since, attempts, turn"
    }
}

#[async_trait]
impl WorkQueue for Store {
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        // Reading the index takes no turn in the writer's queue when no work is due.
        if self.next_due(queue).await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let node = self.inner.hub.node().to_owned();
        let (until, others) = (now.plus(lease).millis(), now.minus(MAX_CLOCK_SKEW).millis());
        let (now, limit) = (now.millis(), i64::from(limit));
        let claimed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let mut rows = match conn {
                    Connection::Sqlite(conn) => {
                        claim_in_file(conn, ShowDue { queue: queue.0, now, limit }, until, &node)?
                    }
                    Connection::Postgres(conn) => {
                        let (queue, own) = (queue.0, &node);
                        let claim = ClaimMany { until, node: &node, queue, now, own, others, limit };
                        diesel_async::RunQueryDsl::load::<ClaimRow>(claim, &mut ***conn).await?
                    }
                };
                rows.sort_unstable_by_key(|row| row.due_since);
                rows.into_iter().map(|row| claimed(queue, row)).collect()
            })
        });
        claimed.await.map_err(|fault: Fault| fault.into())
    }

    async fn due_here(
        &self,
        queue: Queue,
        now: Timestamp,
        limit: u32,
    ) -> Result<Option<DueWork>, StoreError> {
        if self.inner.hub.has_others() {
            return Ok(None);
        }
        let shown = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let limit = i64::from(limit);
                let later = work::table
                    .filter(work::queue.eq(queue.0))
                    .filter(work::due_at.gt(now.millis()))
                    .select(min(work::due_at));
                let next = first!(conn, Option<i64>, later)?.flatten().map(Timestamp::from_millis);
                let now = now.millis();
                let rows: Vec<ClaimRow> = either!(
                    conn,
                    load,
                    ShowDue { queue: queue.0, now, limit },
                    ShowDueOnServer { queue: queue.0, now, limit }
                )?;
                let shown = rows.into_iter().map(|row| {
                    let work = claimed(queue, row)?;
                    Ok(WorkInHand { attempts: work.attempts + 1, ..work })
                });
                Ok::<_, Fault>(DueWork { work: shown.collect::<Result<_, Fault>>()?, next })
            })
        });
        Ok(Some(shown.await?))
    }

    async fn claim_shown(
        &self,
        shown: Vec<WorkInHand>,
        lease_until: Timestamp,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        let (node, until) = (self.inner.hub.node().to_owned(), lease_until.millis());
        let claimed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let places = match conn {
                    Connection::Sqlite(conn) => claim_one_by_one(conn, &shown, until, &node)?,
                    Connection::Postgres(conn) => {
                        let claim = ClaimShown {
                            until,
                            node: &node,
                            queues: shown.iter().map(|work| work.queue.0).collect(),
                            merchants: shown.iter().map(|work| work.tenant.merchant().0).collect(),
                            environments: shown
                                .iter()
                                .map(|work| work.tenant.environment().as_str())
                                .collect(),
                            subjects: shown.iter().map(|work| work.subject.as_str()).collect(),
                            turns: shown.iter().map(|work| work.turn).collect(),
                            attempts: shown.iter().map(|work| work.attempts).collect(),
                        };
                        diesel_async::RunQueryDsl::load::<i64>(claim, &mut ***conn).await?
                    }
                };
                let is_claimed: HashSet<i64> = places.into_iter().collect();
                let claimed = (1..).zip(shown).filter(|(place, _)| is_claimed.contains(place));
                Ok::<_, Fault>(claimed.map(|(_, work)| WorkInHand { turn: work.turn + 1, ..work }).collect())
            })
        });
        claimed.await.map_err(|fault: Fault| fault.into())
    }

    async fn next_due(&self, queue: Queue) -> Result<Option<Timestamp>, StoreError> {
        let due = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = work::table.filter(work::queue.eq(queue.0)).select(min(work::due_at));
                let due = first!(conn, Option<i64>, query)?.flatten();
                Ok::<_, Fault>(due.map(Timestamp::from_millis))
            })
        });
        Ok(due.await?)
    }

    async fn queues(&self, now: Timestamp) -> Result<Vec<QueueState>, StoreError> {
        let states = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                // The index by time begins with the queue.
                let is_held_up = work::lease_node.is_null().and(work::due_since.le(now.millis()));
                let query = work::table
                    .filter(work::queue.eq_any(Queue::ALL.iter().map(|queue| queue.0)))
                    .filter(work::due_at.le(now.plus(LONGEST_HOLD_UP).millis()))
                    .filter(work::due_at.le(now.millis()).or(is_held_up))
                    .group_by((work::queue, work::action))
                    .select((work::queue, work::action, count_star(), min(work::due_since)));
                let rows = load!(conn, (String, String, i64, Option<i64>), query)?;
                let states = rows.into_iter().filter_map(|(queue, action, count, oldest)| {
                    let (queue, oldest) = (Queue::named(&queue)?, oldest.map(Timestamp::from_millis));
                    Some(natural(count).map(|overdue| QueueState { queue, action, overdue, oldest }))
                });
                states.collect::<Result<_, Fault>>()
            })
        });
        Ok(states.await?)
    }

    async fn woken(&self, queue: Queue, before: Timestamp) {
        self.inner.hub.woken(queue, before).await;
    }

    async fn beat(&self) -> Result<Option<Duration>, StoreError> {
        let (pause, others) = self.say_alive().await?;
        self.inner.hub.count_others(others);
        Ok(pause)
    }

    async fn release_dead(&self) -> Result<(), StoreError> {
        if self.release_silent().await? {
            // The work is due at once, but workers may sleep for longer than it should wait.
            self.inner.hub.wake_workers();
        }
        Ok(())
    }

    async fn release_all(&self) -> Result<(), StoreError> {
        let released = self.inner.engine.write(|conn: &mut Connection| {
            Box::pin(async move {
                let leased = work::table.filter(work::lease_node.is_not_null());
                let release = diesel::update(leased).set((
                    work::due_at.eq(work::due_since),
                    work::turn.eq(work::turn + 1),
                    work::lease_node.eq(None::<String>),
                ));
                execute!(conn, release)?;
                let in_hand = deliveries::table.filter(deliveries::node.is_not_null());
                execute!(conn, diesel::update(in_hand).set(deliveries::node.eq(None::<String>)))?;
                Ok::<_, Fault>(())
            })
        });
        Ok(released.await?)
    }
}

fn claim_in_file(
    conn: &mut diesel::SqliteConnection,
    due: ShowDue<'_>,
    until: i64,
    node: &str,
) -> Result<Vec<ClaimRow>, Fault> {
    let queue = due.queue;
    let mut rows: Vec<ClaimRow> = diesel::RunQueryDsl::load(due, conn)?;
    // No other transaction writes meanwhile. An update that returns rows would cost SQLite a separate
    // journal.
    for row in &mut rows {
        row.attempts += 1;
        let claim = ClaimOne {
            until,
            node,
            attempts: row.attempts,
            queue,
            merchant: row.merchant,
            environment: &row.environment,
            subject: &row.subject,
            turn: row.turn,
        };
        diesel::RunQueryDsl::execute(claim, conn)?;
        row.turn += 1;
    }
    Ok(rows)
}

/// Claims the shown work that has not changed since; returns the places, from 1, of the claimed work.
fn claim_one_by_one(
    conn: &mut diesel::SqliteConnection,
    shown: &[WorkInHand],
    until: i64,
    node: &str,
) -> Result<Vec<i64>, Fault> {
    let mut places = Vec::with_capacity(shown.len());
    for (place, work) in (1..).zip(shown) {
        let claim = ClaimOne {
            until,
            node,
            attempts: work.attempts,
            queue: work.queue.0,
            merchant: work.tenant.merchant().0,
            environment: work.tenant.environment().as_str(),
            subject: &work.subject,
            turn: work.turn,
        };
        if diesel::RunQueryDsl::execute(claim, conn)? == 1 {
            places.push(place);
        }
    }
    Ok(places)
}

fn claimed(queue: Queue, row: ClaimRow) -> Result<WorkInHand, Fault> {
    let ClaimRow { merchant, environment, subject, action, due_since, attempts, turn } = row;
    let (tenant, due) = (tenant_of(merchant, &environment)?, Timestamp::from_millis(due_since));
    Ok(WorkInHand { queue, tenant, subject, action, due, attempts, turn })
}
