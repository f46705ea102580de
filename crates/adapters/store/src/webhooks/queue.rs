//! The queue of pending deliveries.

use std::{
    iter::once,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::min,
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{EventId, StoreError, Timestamp};
use quipu_webhooks::{
    DeliveryKey, DeliveryQueue, DueEndpoints, Endpoint, EndpointId, Outcome, Owed, RetryPolicy, Waiting,
    Wanted,
};

use super::{
    claim::{Claim, give_back},
    endpoints::IfLocked,
    fail_pending::Whose,
};
use crate::{
    connection::{Connection, first, load},
    error::{Fault, LeavesOpen as _},
    hub::doubtful_claims::Taken,
    rows::{
        endpoint::EndpointRow,
        stored::{natural, tenant_of},
    },
    schema::{deliveries, webhook_endpoints as endpoints},
    statement::statement,
    store::Store,
};

/// The most endpoints that one call of `waiting` steps over. There may be as many endpoints as payments.
const STEPS: i64 = 1_000;

/// Steps from endpoint to endpoint through the index of waiting deliveries, however many each endpoint has. The
/// last endpoint is returned in any case, so that the next call can begin after it.
macro_rules! waiting {
    ($backend:ty, $name:ident) => {
        statement! { $name on $backend => (Nullable<BigInt>, Nullable<Text>, Text, BigInt) {
            "WITH RECURSIVE found (id, due_at, step) AS (SELECT * FROM (SELECT endpoint_id, due_at, CAST(1 AS BIGINT)
                FROM deliveries WHERE status = 0 AND node IS NULL AND endpoint_id > " => after: &'a str as Text,
            " ORDER BY endpoint_id, due_at LIMIT 1) AS least UNION ALL
             SELECT (SELECT endpoint_id FROM deliveries WHERE status = 0 AND node IS NULL AND endpoint_id > found.id
                    ORDER BY endpoint_id, due_at LIMIT 1),
                (SELECT due_at FROM deliveries WHERE status = 0 AND node IS NULL AND endpoint_id > found.id
                    ORDER BY endpoint_id, due_at LIMIT 1), found.step + 1
                FROM found WHERE found.id IS NOT NULL AND found.step < " => steps: i64 as BigInt,
            ") SELECT waits.merchant_id, waits.environment, found.id, found.step FROM found
             LEFT JOIN webhook_endpoints AS waits ON waits.id = found.id AND (found.due_at <= " => now: i64 as BigInt,
            " OR NOT waits.enabled) WHERE found.id IS NOT NULL AND (waits.id IS NOT NULL OR found.step = "
            => last: i64 as BigInt ; ") ORDER BY found.id"
        } }
    };
}

waiting!(Sqlite, WaitingInFile);
waiting!(Pg, WaitingOnServer);

/// The endpoints of the deliveries that have been due longest, with the number of these deliveries.
macro_rules! due {
    ($backend:ty, $name:ident) => {
        statement! { $name on $backend => (BigInt, Text, Text, BigInt) {
            "SELECT merchant_id, environment, endpoint_id, COUNT(*) FROM (SELECT merchant_id, environment, endpoint_id
                FROM deliveries WHERE status = 0 AND node IS NULL AND due_at <= " => now: i64 as BigInt,
            " ORDER BY due_at LIMIT 0 + " => most: &'a i64 as BigInt ; ") AS due GROUP BY merchant_id, environment, endpoint_id"
        } }
    };
}

due!(Sqlite, DueInFile);
due!(Pg, DueOnServer);

fn due_from(rows: Vec<(i64, String, String, i64)>) -> Result<DueEndpoints, Fault> {
    let are_all = rows.iter().map(|row| row.3).sum::<i64>() < i64::from(DueEndpoints::MOST);
    let endpoint = |(merchant, environment, id, _): (i64, String, String, i64)| -> Result<_, Fault> {
        Ok((tenant_of(merchant, &environment)?, EndpointId::restore(id)))
    };
    Ok(DueEndpoints { endpoints: rows.into_iter().map(endpoint).collect::<Result<_, _>>()?, are_all })
}

/// How long one call goes on disabling endpoints.
const DISABLING: Duration = Duration::from_secs(2);

/// The deliveries claimed by nodes that are no longer known.
macro_rules! abandoned {
    ($node:expr) => {
        deliveries::table
            .filter(deliveries::node.is_not_null())
            .filter(deliveries::node.ne($node))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("node NOT IN (SELECT node FROM nodes)"))
    };
}

/// An endpoint, whose owner is there if it waits, and its place in this look.
type WaitingRow = (Option<i64>, Option<String>, String, i64);

fn waiting_from(rows: Vec<WaitingRow>) -> Result<Waiting, Fault> {
    let mut waiting = Waiting::default();
    for (merchant, environment, id, step) in rows {
        let id = EndpointId::restore(id);
        if step == STEPS {
            waiting.next = Some(id.clone());
        }
        if let (Some(merchant), Some(environment)) = (merchant, environment) {
            let tenant = tenant_of(merchant, &environment)?;
            waiting.endpoints.push((tenant, id));
        }
    }
    Ok(waiting)
}

// Rows that somebody has locked are released in a later round, and delay none of the others.
statement! { FreeOnServer on Pg {
    "UPDATE deliveries SET node = NULL WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE node IS NOT NULL
     AND node <> " => node: &'a str as Text ; " AND node NOT IN (SELECT node FROM nodes) FOR UPDATE SKIP LOCKED))"
} }

#[async_trait]
impl DeliveryQueue for Store {
    async fn due(&self, now: Timestamp) -> Result<DueEndpoints, StoreError> {
        let now = now.millis();
        let due = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let most = &i64::from(DueEndpoints::MOST);
                let rows = match conn {
                    Connection::Sqlite(conn) => diesel::RunQueryDsl::load(DueInFile { now, most }, conn)?,
                    Connection::Postgres(conn) => {
                        diesel_async::RunQueryDsl::load(DueOnServer { now, most }, &mut ***conn).await?
                    }
                };
                due_from(rows)
            })
        });
        due.await.map_err(|fault: Fault| fault.into())
    }

    async fn waiting(&self, now: Timestamp, after: Option<&EndpointId>) -> Result<Waiting, StoreError> {
        let (now, after) = (now.millis(), after.map_or_else(String::new, |id| id.as_str().to_owned()));
        let waiting = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let (after, steps, last) = (after.as_str(), STEPS, STEPS);
                let rows: Vec<WaitingRow> = match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::load(WaitingInFile { after, steps, now, last }, conn)?
                    }
                    Connection::Postgres(conn) => {
                        let waiting = WaitingOnServer { after, steps, now, last };
                        diesel_async::RunQueryDsl::load(waiting, &mut ***conn).await?
                    }
                };
                waiting_from(rows)
            })
        });
        waiting.await.map_err(|fault: Fault| fault.into())
    }

    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreError> {
        let node = self.inner.hub.node().to_owned();
        let _turn = self.inner.hub.doubtful_claims().turn.lock().await;
        let taken = Taken::default();
        let told = taken.clone();
        let claimed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let mut claim = Claim::of(&node, now);
                for one in &wanted {
                    claim.take(conn, one).await?;
                }
                told.set(claim.taken.iter().map(Owed::emptied).collect());
                Ok::<_, Fault>(claim.taken)
            })
        });
        let claimed = claimed.await;
        if claimed.as_ref().is_err_and(Fault::leaves_open) {
            self.inner.hub.doubtful_claims().keep(taken);
        }
        let claimed = claimed?;
        self.inner.hub.doubtful_claims().forget(&claimed);
        Ok(claimed)
    }

    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreError> {
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = endpoints::table.filter(endpoints::id.eq_any(ids.iter().map(EndpointId::as_str)));
                let rows = load!(conn, EndpointRow, query)?;
                rows.into_iter().map(EndpointRow::into_endpoint).collect::<Result<Vec<_>, Fault>>()
            })
        });
        Ok(found.await?)
    }

    async fn record(&self, outcomes: Vec<Outcome>, policy: &RetryPolicy) -> Result<(), StoreError> {
        self.record_all(outcomes, policy).await
    }

    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreError> {
        self.give_back_keys(deliveries.iter().map(Owed::key).collect()).await?;
        Ok(())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let due = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = deliveries::table
                    .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"))
                    .filter(deliveries::due_at.gt(now.millis()))
                    .select(min(deliveries::due_at));
                let due = first!(conn, Option<i64>, query)?.flatten();
                Ok::<_, Fault>(due.map(Timestamp::from_millis))
            })
        });
        Ok(due.await?)
    }

    async fn free_abandoned(&self) -> Result<u64, StoreError> {
        let doubtful = self.free_doubtful_claims().await?;
        let node = self.inner.hub.node().to_owned();
        let looking = node.clone();
        // Read first, since a read takes no turn in the writer's queue.
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = abandoned!(looking).select(deliveries::endpoint_id).limit(1);
                Ok::<_, Fault>(first!(conn, String, query)?.is_some())
            })
        });
        if !found.await? {
            return Ok(doubtful);
        }
        let freed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let freed = match conn {
                    Connection::Sqlite(conn) => {
                        let free = diesel::update(abandoned!(node)).set(deliveries::node.eq(None::<String>));
                        diesel::RunQueryDsl::execute(free, conn)?
                    }
                    Connection::Postgres(conn) => {
                        let free = FreeOnServer { node: &node };
                        diesel_async::RunQueryDsl::execute(free, &mut ***conn).await?
                    }
                };
                Ok::<_, Fault>(freed)
            })
        });
        Ok(doubtful + freed.await? as u64)
    }

    async fn long_in_hand(&self, before: Timestamp, limit: u32) -> Result<Vec<DeliveryKey>, StoreError> {
        let (node, before) = (self.inner.hub.node().to_owned(), before.millis());
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = deliveries::table
                    // As in the index of what is in hand.
                    .filter(deliveries::node.is_not_null())
                    .filter(deliveries::node.eq(&node))
                    .filter(deliveries::due_at.lt(before))
                    .select((
                        deliveries::merchant_id,
                        deliveries::environment,
                        deliveries::endpoint_id,
                        deliveries::event_id,
                    ))
                    .limit(limit.into());
                let rows = load!(conn, (i64, String, String, String), query)?;
                let keys = rows.into_iter().map(|(merchant, environment, endpoint, event)| {
                    let tenant = tenant_of(merchant, &environment)?;
                    let (endpoint, event) = (EndpointId::restore(endpoint), EventId::restore(event));
                    Ok(DeliveryKey { tenant, endpoint, event })
                });
                keys.collect::<Result<Vec<_>, Fault>>()
            })
        });
        Ok(found.await?)
    }

    async fn release_lost(&self, deliveries: Vec<DeliveryKey>) -> Result<(), StoreError> {
        let _turn = self.inner.hub.doubtful_claims().turn.lock().await;
        self.give_back_keys(deliveries).await?;
        Ok(())
    }

    async fn disable_failing(
        &self,
        now: Timestamp,
        policy: &RetryPolicy,
        limit: u32,
    ) -> Result<Vec<Endpoint>, StoreError> {
        let before = now.minus(policy.disable_after).millis();
        let failing = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                // Without parameters, as in the index's condition.
                let query = endpoints::table
                    .filter(endpoints::failing_since.le(before))
                    .filter(endpoints::enabled)
                    .filter(endpoints::removed_at.is_null())
                    .order(endpoints::failing_since.asc())
                    .limit(limit.into());
                let rows = load!(conn, EndpointRow, query)?;
                rows.into_iter().map(EndpointRow::into_endpoint).collect::<Result<Vec<_>, Fault>>()
            })
        });
        let (mut disabled, mut trouble) = (Vec::new(), None);
        let begun = Instant::now();
        for endpoint in failing.await? {
            if begun.elapsed() >= DISABLING {
                break;
            }
            let policy = policy.clone();
            let decide =
                move |endpoint: &mut Endpoint, _: Vec<Outcome>| endpoint.disable_if_failing(now, &policy);
            let whose = Whose { tenant: endpoint.tenant, endpoint: endpoint.id };
            // A later call finds those that somebody has locked.
            match self.revise(whose, Vec::new(), IfLocked::Skip, decide).await {
                Ok(changed) => disabled.extend(changed),
                Err(error) => {
                    tracing::warn!(%error, "an endpoint that fails could not be disabled; the next round tries again");
                    trouble = Some(error);
                }
            }
        }
        match trouble {
            Some(error) if disabled.is_empty() => Err(error),
            _ => Ok(disabled),
        }
    }

    async fn prune(&self, now: Timestamp, keep_for: Duration, limit: u32) -> Result<u64, StoreError> {
        let dropped = self.prune_deliveries(now, keep_for, limit.into()).await?;
        Ok(u64::try_from(dropped).unwrap_or(0))
    }

    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        let backlog = self.inner.engine.read(|conn: &mut Connection| {
            Box::pin(async move {
                let waiting = deliveries::table
                    .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"))
                    .select((diesel::dsl::count_star(), min(deliveries::due_at)));
                let in_hand = deliveries::table
                    .filter(deliveries::node.is_not_null())
                    .select((diesel::dsl::count_star(), min(deliveries::due_at)));
                let waiting = first!(conn, (i64, Option<i64>), waiting)?.unwrap_or_default();
                let in_hand = first!(conn, (i64, Option<i64>), in_hand)?.unwrap_or_default();
                let oldest = [waiting.1, in_hand.1].into_iter().flatten().min().map(Timestamp::from_millis);
                Ok::<_, Fault>((natural(waiting.0 + in_hand.0)?, oldest))
            })
        });
        Ok(backlog.await?)
    }
}

impl Store {
    /// Releases deliveries that this node has in hand; answers how many it had.
    async fn give_back_keys(&self, deliveries: Vec<DeliveryKey>) -> Result<usize, Fault> {
        let node = self.inner.hub.node().to_owned();
        let given = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move { give_back(conn, &deliveries, &node).await })
        });
        given.await
    }

    /// Releases deliveries that this node has claimed in commits whose outcome it did not learn.
    async fn free_doubtful_claims(&self) -> Result<u64, StoreError> {
        // Otherwise a claim is under way. The next round comes soon.
        let Ok(_turn) = self.inner.hub.doubtful_claims().turn.try_lock() else { return Ok(0) };
        let now = Instant::now();
        let mut freed = 0;
        let mut due = self.inner.hub.doubtful_claims().take_due(now).into_iter();
        while let Some(kept) = due.next() {
            match self.give_back_keys(kept.taken.get().iter().map(Owed::key).collect()).await {
                Ok(given) if given > 0 => freed += given as u64,
                Ok(_) => self.inner.hub.doubtful_claims().not_found(kept, now),
                Err(fault) => {
                    once(kept).chain(due).for_each(|kept| self.inner.hub.doubtful_claims().keep(kept.taken));
                    return Err(fault.into());
                }
            }
        }
        Ok(freed)
    }
}
