//! The queue of what is owed.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::min,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use futures_util::future::try_join_all;
use quipu_commit::{Changes, Commit as _, CommitError};
use quipu_kernel::{EventId, MerchantId, Tenant, Timestamp};
use quipu_merchants::StoreUnavailable;
use quipu_webhooks::{Attempt, DeliveryQueue, Endpoint, EndpointId, Outcome, Owed, RetryPolicy, Wanted};

use super::{
    endpoints::{lock, save},
    prune::prune,
    row::EndpointRow,
    settle::{Whose, fail_pending},
};
use crate::{
    connection::{Connection, execute, first, load},
    error::Fault,
    schema::{deliveries, events, webhook_endpoints as endpoints},
    statement::statement,
    store::Store,
    stored::{from_json, parsed},
    tables::deliveries::Told,
};

/// Endpoints in one answer about who waits.
const ENDPOINTS: i64 = 1_000;
/// Deliveries that are settled together with a claim because their endpoint is disabled or gone.
const SETTLED_AT_ONCE: i64 = 2_000;

/// From endpoint to endpoint through the index of what waits, however much waits for each.
macro_rules! waiting {
    ($backend:ty, $name:ident) => {
        statement! { $name on $backend => (BigInt, Text, Text) {
            "WITH RECURSIVE found (id) AS (SELECT MIN(endpoint_id) FROM deliveries
                WHERE status = 0 AND node IS NULL AND endpoint_id > " => after: &'a str as Text,
            " UNION ALL SELECT (SELECT MIN(endpoint_id) FROM deliveries
                WHERE status = 0 AND node IS NULL AND endpoint_id > found.id) FROM found WHERE found.id IS NOT NULL)
             SELECT merchant_id, environment, webhook_endpoints.id FROM found
             JOIN webhook_endpoints ON webhook_endpoints.id = found.id
             WHERE EXISTS (SELECT 1 FROM deliveries WHERE deliveries.endpoint_id = found.id
                AND status = 0 AND node IS NULL AND due_at <= " => now: i64 as BigInt,
            ") ORDER BY webhook_endpoints.id LIMIT " => limit: &'a i64 as BigInt ; ""
        } }
    };
}

waiting!(Sqlite, WaitingInFile);
waiting!(Pg, WaitingOnServer);

type DueRow = (String, i64, i32, Option<String>);

statement! { TakeOne on Sqlite {
    "UPDATE deliveries SET node = " => node: &'a str as Text, " WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND event_id = " => event: &'a str as Text ; ""
} }

statement! { TakeMany on Pg => (Text, BigInt, Integer, Nullable<Text>) {
    "WITH due AS (SELECT merchant_id, environment, endpoint_id, event_id FROM deliveries WHERE endpoint_id = "
    => endpoint: &'a str as Text, " AND status = 0 AND node IS NULL AND due_at <= " => now: i64 as BigInt,
    " ORDER BY due_at LIMIT " => limit: i64 as BigInt,
    " FOR UPDATE SKIP LOCKED) UPDATE deliveries SET node = " => node: &'a str as Text ;
    " FROM due WHERE deliveries.merchant_id = due.merchant_id AND deliveries.environment = due.environment
        AND deliveries.endpoint_id = due.endpoint_id AND deliveries.event_id = due.event_id
     RETURNING deliveries.event_id, deliveries.due_at, deliveries.step, deliveries.attempts"
} }

statement! { GiveBackOne on Sqlite {
    "UPDATE deliveries SET node = NULL WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND event_id = " => event: &'a str as Text, " AND node = " => node: &'a str as Text ; ""
} }

statement! { GiveBackMany on Pg {
    "UPDATE deliveries AS old SET node = NULL FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => endpoints: Vec<&'a str> as Array<Text>,
    ", " => events: Vec<&'a str> as Array<Text>,
    ") AS back (merchant_id, environment, endpoint_id, event_id) WHERE old.merchant_id = back.merchant_id
        AND old.environment = back.environment AND old.endpoint_id = back.endpoint_id
        AND old.event_id = back.event_id AND old.node = " => node: &'a str as Text ; ""
} }

/// What is in the hands of nodes that are known no more.
macro_rules! abandoned {
    ($node:expr) => {
        deliveries::table
            .filter(deliveries::node.is_not_null())
            .filter(deliveries::node.ne($node))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("node NOT IN (SELECT node FROM nodes)"))
    };
}

#[async_trait]
impl DeliveryQueue for Store {
    async fn waiting(
        &self,
        now: Timestamp,
        after: Option<&EndpointId>,
    ) -> Result<Vec<(Tenant, EndpointId)>, StoreUnavailable> {
        let (now, after) = (now.millis(), after.map_or_else(String::new, |id| id.as_str().to_owned()));
        let waiting = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let (after, limit) = (after.as_str(), &ENDPOINTS);
                let rows: Vec<(i64, String, String)> = match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::load(WaitingInFile { after, now, limit }, conn)?
                    }
                    Connection::Postgres(conn) => {
                        let waiting = WaitingOnServer { after, now, limit };
                        diesel_async::RunQueryDsl::load(waiting, &mut ***conn).await?
                    }
                };
                let endpoint = |(merchant, environment, id): (i64, String, String)| {
                    let tenant = Tenant::new(MerchantId(merchant), parsed("an environment", &environment)?);
                    Ok::<_, Fault>((tenant, EndpointId::restore(id)))
                };
                rows.into_iter().map(endpoint).collect()
            })
        });
        waiting.await.map_err(|fault: Fault| fault.into())
    }

    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreUnavailable> {
        let node = self.inner.hub.node().to_owned();
        let claimed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let mut claimed = Vec::new();
                for one in &wanted {
                    claimed.append(&mut take(conn, one, now, &node).await?);
                }
                Ok::<_, Fault>(claimed)
            })
        });
        Ok(claimed.await?)
    }

    async fn record(
        &self,
        outcomes: Vec<Outcome>,
        policy: &RetryPolicy,
    ) -> Result<Vec<Endpoint>, StoreUnavailable> {
        let mut of_endpoint: HashMap<(Tenant, EndpointId), Vec<Outcome>> = HashMap::new();
        let mut of_tenant: HashMap<Tenant, Vec<Outcome>> = HashMap::new();
        for outcome in outcomes {
            if outcome.failed_at.is_some() || outcome.was_failing {
                let key = (outcome.tenant, outcome.endpoint.clone());
                of_endpoint.entry(key).or_default().push(outcome.clone());
            }
            of_tenant.entry(outcome.tenant).or_default().push(outcome);
        }
        let told = of_tenant.into_iter().map(|(tenant, outcomes)| self.tell(tenant, outcomes));
        try_join_all(told).await?;
        let mut changed = Vec::new();
        for ((tenant, id), outcomes) in of_endpoint {
            changed.extend(self.note(tenant, id, outcomes, policy).await?);
        }
        Ok(changed)
    }

    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreUnavailable> {
        let node = self.inner.hub.node().to_owned();
        let given = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move { give_back(conn, &deliveries, &node).await })
        });
        Ok(given.await?)
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreUnavailable> {
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

    async fn free_abandoned(&self) -> Result<u64, StoreUnavailable> {
        let node = self.inner.hub.node().to_owned();
        let looking = node.clone();
        // Looked for first, since a look costs no turn in the writer's queue.
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = abandoned!(looking).select(deliveries::endpoint_id).limit(1);
                Ok::<_, Fault>(first!(conn, String, query)?.is_some())
            })
        });
        if !found.await? {
            return Ok(0);
        }
        let freed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let free = diesel::update(abandoned!(node)).set(deliveries::node.eq(None::<String>));
                Ok::<_, Fault>(execute!(conn, free)?)
            })
        });
        Ok(freed.await? as u64)
    }

    async fn disable_failing(
        &self,
        now: Timestamp,
        policy: &RetryPolicy,
    ) -> Result<Vec<Endpoint>, StoreUnavailable> {
        let before = now.minus(policy.disable_after).millis();
        let failing = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = endpoints::table
                    .filter(endpoints::failing_since.le(before))
                    .filter(endpoints::enabled.eq(true))
                    .filter(endpoints::removed_at.is_null());
                let rows = load!(conn, EndpointRow, query)?;
                rows.into_iter().map(EndpointRow::into_endpoint).collect::<Result<Vec<_>, Fault>>()
            })
        });
        let mut disabled = Vec::new();
        for endpoint in failing.await? {
            let policy = policy.clone();
            let decide = move |endpoint: &mut Endpoint| endpoint.disable_if_failing(now, &policy);
            disabled.extend(self.revise(endpoint.tenant, endpoint.id, decide).await?);
        }
        Ok(disabled)
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, StoreUnavailable> {
        let pruned = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move { prune(conn, before, limit.into()).await })
        });
        Ok(pruned.await?)
    }

    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreUnavailable> {
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
                Ok::<_, Fault>((u64::try_from(waiting.0 + in_hand.0).unwrap_or(0), oldest))
            })
        });
        Ok(backlog.await?)
    }
}

impl Store {
    /// Outcomes of one tenant travel with its other changes, so that they share a flush to disk.
    async fn tell(&self, tenant: Tenant, outcomes: Vec<Outcome>) -> Result<(), StoreUnavailable> {
        let at = outcomes.first().map_or(Timestamp::from_millis(0), |outcome| outcome.ended_at);
        let mut changes = Changes::new(tenant, at);
        changes.add(Told { node: self.inner.hub.node().to_owned(), outcomes });
        match self.commit(changes).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(error)) => Err(error),
            Err(CommitError::Refused(refusal)) => Err(StoreUnavailable::Failed(refusal.to_string())),
        }
    }

    /// What outcomes mean for their endpoint, in a commit after theirs: if it is lost, the next outcome says the same.
    async fn note(
        &self,
        tenant: Tenant,
        id: EndpointId,
        outcomes: Vec<Outcome>,
        policy: &RetryPolicy,
    ) -> Result<Option<Endpoint>, StoreUnavailable> {
        let policy = policy.clone();
        let decide = move |endpoint: &mut Endpoint| {
            outcomes.iter().fold(false, |changed, outcome| endpoint.note(outcome, &policy) || changed)
        };
        self.revise(tenant, id, decide).await
    }

    /// Changes an endpoint if `decide` changes it; what was owed to it fails if it is disabled by that.
    async fn revise(
        &self,
        tenant: Tenant,
        id: EndpointId,
        decide: impl FnOnce(&mut Endpoint) -> bool + Send + 'static,
    ) -> Result<Option<Endpoint>, StoreUnavailable> {
        let revised = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let Some(mut endpoint) = lock(conn, tenant, &id).await? else { return Ok(None) };
                let was_enabled = endpoint.is_enabled();
                if !decide(&mut endpoint) {
                    return Ok(None);
                }
                save(conn, &endpoint).await?;
                Ok::<_, Fault>(Some((was_enabled, endpoint)))
            })
        });
        let Some((was_enabled, endpoint)) = revised.await? else { return Ok(None) };
        if was_enabled && !endpoint.is_enabled() {
            self.fail_what_is_owed(&endpoint).await?;
        }
        Ok(Some(endpoint))
    }
}

/// Takes what is due to one endpoint.
async fn take(
    conn: &mut Connection,
    wanted: &Wanted,
    now: Timestamp,
    node: &str,
) -> Result<Vec<Owed>, Fault> {
    let found = endpoints::table.filter(endpoints::id.eq(wanted.endpoint.as_str()));
    let row = first!(conn, EndpointRow, found)?;
    let removed = row.as_ref().is_none_or(|row| row.removed_at.is_some());
    let whose = Whose { tenant: wanted.tenant, endpoint: wanted.endpoint.clone() };
    let endpoint = row.map(EndpointRow::into_endpoint).transpose()?;
    let Some(endpoint) = endpoint.filter(|_| !removed) else {
        drop_pending(conn, &whose).await?;
        return Ok(Vec::new());
    };
    if !endpoint.is_enabled() {
        fail_pending(conn, &whose, SETTLED_AT_ONCE).await?;
        return Ok(Vec::new());
    }
    let due = take_due(conn, wanted, now, node).await?;
    let ids: Vec<&str> = due.iter().map(|row| row.0.as_str()).collect();
    let payloads = events::table
        .filter(events::merchant_id.eq(wanted.tenant.merchant().0))
        .filter(events::environment.eq(wanted.tenant.environment().as_str()))
        .filter(events::id.eq_any(ids))
        .select((events::id, events::payload));
    let mut payloads: HashMap<String, String> =
        load!(conn, (String, String), payloads)?.into_iter().collect();
    let endpoint = Arc::new(endpoint);
    let mut taken = Vec::with_capacity(due.len());
    for (id, due_at, step, attempts) in due {
        let payload = payloads.remove(&id).ok_or_else(|| Fault::Corrupt(format!("the event {id}")))?;
        let attempts: Vec<Attempt> = attempts.map_or(Ok(Vec::new()), |text| from_json("attempts", &text))?;
        taken.push(Owed {
            endpoint: Arc::clone(&endpoint),
            event_id: EventId::restore(id),
            payload: payload.into(),
            attempts,
            step: u32::try_from(step).unwrap_or(0),
            due_at: Timestamp::from_millis(due_at),
        });
    }
    taken.sort_by_key(|owed| owed.due_at);
    Ok(taken)
}

async fn take_due(
    conn: &mut Connection,
    wanted: &Wanted,
    now: Timestamp,
    node: &str,
) -> Result<Vec<DueRow>, Fault> {
    let (endpoint, limit) = (wanted.endpoint.as_str(), i64::from(wanted.most));
    match conn {
        Connection::Sqlite(conn) => {
            use diesel::RunQueryDsl as _;
            let due = deliveries::table
                .filter(deliveries::endpoint_id.eq(endpoint))
                .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"))
                .filter(deliveries::due_at.le(now.millis()))
                .order(deliveries::due_at.asc())
                .limit(limit)
                .select((
                    deliveries::event_id,
                    diesel::NullableExpressionMethods::assume_not_null(deliveries::due_at),
                    deliveries::step,
                    deliveries::attempts,
                ));
            let due: Vec<DueRow> = due.load(conn)?;
            let (merchant, environment) = (wanted.tenant.merchant().0, wanted.tenant.environment().as_str());
            for (event, ..) in &due {
                TakeOne { node, merchant, environment, endpoint, event }.execute(conn)?;
            }
            Ok(due)
        }
        Connection::Postgres(conn) => {
            let take = TakeMany { endpoint, now: now.millis(), limit, node };
            Ok(diesel_async::RunQueryDsl::load(take, &mut ***conn).await?)
        }
    }
}

async fn give_back(conn: &mut Connection, deliveries: &[Owed], node: &str) -> Result<(), Fault> {
    match conn {
        Connection::Sqlite(conn) => {
            for owed in deliveries {
                let tenant = owed.tenant();
                let back = GiveBackOne {
                    merchant: tenant.merchant().0,
                    environment: tenant.environment().as_str(),
                    endpoint: owed.endpoint.id.as_str(),
                    event: owed.event_id.as_str(),
                    node,
                };
                diesel::RunQueryDsl::execute(back, conn)?;
            }
        }
        Connection::Postgres(conn) => {
            let back = GiveBackMany {
                merchants: deliveries.iter().map(|owed| owed.tenant().merchant().0).collect(),
                environments: deliveries.iter().map(|owed| owed.tenant().environment().as_str()).collect(),
                endpoints: deliveries.iter().map(|owed| owed.endpoint.id.as_str()).collect(),
                events: deliveries.iter().map(|owed| owed.event_id.as_str()).collect(),
                node,
            };
            diesel_async::RunQueryDsl::execute(back, &mut ***conn).await?;
        }
    }
    Ok(())
}

/// Drops what waits for an endpoint that is gone; the pruner takes the rest.
async fn drop_pending(conn: &mut Connection, whose: &Whose) -> Result<(), Fault> {
    let waiting = deliveries::table
        .filter(deliveries::endpoint_id.eq(whose.endpoint.as_str()))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"));
    execute!(conn, diesel::delete(waiting))?;
    Ok(())
}
