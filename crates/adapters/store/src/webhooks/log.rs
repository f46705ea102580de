//! The log of an endpoint's deliveries.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _, sql_types::Bool};
use quipu_commit::CallWaits;
use quipu_kernel::{EventId, Page, StoreError, Tenant, Timestamp};
use quipu_webhooks::{DeliveryLog, DeliveryStatus, EndpointId, LogFilter, LoggedEvent, RetrySelection};

use super::{
    claim::no_such_event,
    fail_pending::{Whose, count},
    pending_log::Pending,
};
use crate::{
    call_wait::time_left,
    connection::{Connection, execute, first, load},
    error::Fault,
    keys::Keys,
    postgres::lock_turns::Waiter,
    read::slice::Slice,
    rows::stored::{bigint, natural, parsed},
    schema::{counters, deliveries, events},
    store::Store,
    tables::deliveries::{COUNTER, attempts_of, code, status_of},
};

/// How many failed deliveries begin a new round in one commit.
const RETRIED_AT_ONCE: i64 = 2_000;
/// For how long one call goes on with further commits, if its time allows.
const RETRYING: Duration = Duration::from_secs(5);

/// Narrows a boxed query over `deliveries` to an endpoint and a filter. The identifier of an event begins
/// with its time, so a period is a range of the key.
macro_rules! narrowed {
    ($query:expr, $tenant:expr, $endpoint:expr, $status:expr, $created:expr) => {{
        let mut query = $query
            .filter(deliveries::merchant_id.eq($tenant.merchant().0))
            .filter(deliveries::environment.eq($tenant.environment().as_str()))
            .filter(deliveries::endpoint_id.eq($endpoint.as_str()));
        match $status {
            // Written exactly as in the index's condition.
            Some(DeliveryStatus::Failed) => query = query.filter(diesel::dsl::sql::<Bool>("status = 2")),
            Some(status) => query = query.filter(deliveries::status.eq(code(status))),
            None => {}
        }
        if let Some(from) = $created.from {
            query = query.filter(deliveries::event_id.ge(EventId::lower_bound(from)));
        }
        if let Some(to) = $created.to {
            query = query.filter(deliveries::event_id.lt(EventId::upper_bound(to)));
        }
        query
    }};
}

type DeliveryRow = (String, i32, Option<i64>, Option<String>, Option<String>);

#[async_trait]
impl DeliveryLog for Store {
    async fn logged(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        filter: LogFilter,
        page: Page,
    ) -> Result<(Vec<LoggedEvent>, u64), StoreError> {
        let endpoint = endpoint.clone();
        let listed = self.inner.read_page(tenant.merchant(), move |conn: &mut Connection| {
            Box::pin(async move {
                conn.begin_snapshot().await?;
                let listed = list(conn, tenant, &endpoint, filter, page).await?;
                conn.commit().await?;
                Ok::<_, Fault>(listed)
            })
        });
        Ok(listed.await?)
    }

    async fn retry(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        selection: RetrySelection,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let whose = Whose { tenant, endpoint: endpoint.clone() };
        let (store, call) = (self.clone(), CallWaits::current().unwrap_or_default());
        // It goes on though its caller goes away, but not beyond the call's time.
        let retrying = async move {
            let first = store.retry_stretch(&whose, &selection, String::new(), at).await?;
            let Some(last) = first.last else { return Ok(first.retried) };
            Ok(first.retried + store.retry_rest(&whose, &selection, last, at).await)
        };
        let retried = self.inner.runtime.spawn(call.around(retrying)).await;
        Ok(retried.unwrap_or(Err(Fault::Abandoned))?)
    }
}

impl Store {
    /// Begins a new round for failed deliveries, in one commit.
    async fn retry_stretch(
        &self,
        whose: &Whose,
        selection: &RetrySelection,
        after: String,
        at: Timestamp,
    ) -> Result<Chosen, Fault> {
        let (whose, selection) = (whose.clone(), selection.clone());
        let chosen = self.inner.engine.write_for(
            Some(Waiter::Merchant(whose.tenant.merchant())),
            move |conn: &mut Connection| {
                Box::pin(async move { retry_some(conn, &whose, &selection, &after, at).await })
            },
        );
        chosen.await
    }

    /// Begins a new round for the failed deliveries after `behind`, until all have one, the time is over or a
    /// commit fails; returns how many.
    async fn retry_rest(
        &self,
        whose: &Whose,
        selection: &RetrySelection,
        mut behind: String,
        at: Timestamp,
    ) -> u64 {
        let (begun, mut retried) = (Instant::now(), 0);
        while begun.elapsed() < RETRYING && !time_left(self.inner.engine.times()).is_zero() {
            match self.retry_stretch(whose, selection, behind, at).await {
                Ok(chosen) => {
                    retried += chosen.retried;
                    let Some(last) = chosen.last else { break };
                    behind = last;
                }
                Err(error) => {
                    tracing::warn!(%error, endpoint = %whose.endpoint, "not all failed deliveries are tried again");
                    break;
                }
            }
        }
        retried
    }
}

async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    endpoint: &EndpointId,
    filter: LogFilter,
    page: Page,
) -> Result<(Vec<LoggedEvent>, u64), Fault> {
    let counted = filter.created.from.is_none() && filter.created.to.is_none();
    let is_pending = filter.status == Some(DeliveryStatus::Pending);
    let pending = Pending::of(&tenant, endpoint, filter.created);
    let total = if counted {
        counted_total(conn, tenant, endpoint, filter.status).await?
    } else if is_pending {
        pending.count(conn).await?
    } else {
        let count = first!(
            conn,
            i64,
            narrowed!(
                deliveries::table.count().into_boxed(),
                tenant,
                endpoint,
                filter.status,
                filter.created
            )
        );
        count?.unwrap_or(0)
    };
    let total = natural(total)?;
    let Some(slice) = Slice::of(page, total) else { return Ok((Vec::new(), total)) };
    macro_rules! keys {
        () => {{
            let all = deliveries::table.select(deliveries::event_id).into_boxed();
            let query = narrowed!(all, tenant, endpoint, filter.status, filter.created);
            let query = if slice.oldest_first {
                query.order(deliveries::event_id.asc())
            } else {
                query.order(deliveries::event_id.desc())
            };
            query.limit(bigint(slice.limit)).offset(bigint(slice.offset))
        }};
    }
    let keys: Vec<String> =
        if is_pending { pending.page(conn, &slice).await? } else { load!(conn, String, keys!())? };
    Ok((logged_events(conn, tenant, endpoint, &keys).await?, total))
}

/// The events with these identifiers, newest first, with their deliveries to the endpoint.
async fn logged_events(
    conn: &mut Connection,
    tenant: Tenant,
    endpoint: &EndpointId,
    keys: &[String],
) -> Result<Vec<LoggedEvent>, Fault> {
    let keys = || keys.iter().map(String::as_str);
    let of_endpoint = deliveries::table
        .filter(
            Keys::of(tenant, "deliveries").with("endpoint_id", [endpoint.as_str()]).with("event_id", keys()),
        )
        .order(deliveries::event_id.desc())
        .select((
            deliveries::event_id,
            deliveries::status,
            deliveries::due_at,
            deliveries::attempts,
            deliveries::error,
        ));
    let rows = load!(conn, DeliveryRow, of_endpoint)?;
    let told_of = events::table.filter(Keys::of(tenant, "events").with("id", keys())).select((
        events::id,
        events::kind,
        events::created_at,
    ));
    let mut told_of: HashMap<String, (String, i64)> = load!(conn, (String, String, i64), told_of)?
        .into_iter()
        .map(|(id, kind, at)| (id, (kind, at)))
        .collect();
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        // An event is never dropped while a delivery refers to it.
        let (kind, at) = told_of.remove(&row.0).ok_or_else(|| no_such_event(&row.0))?;
        listed.push(logged(row, &kind, at)?);
    }
    Ok(listed)
}

fn logged(row: DeliveryRow, kind: &str, at: i64) -> Result<LoggedEvent, Fault> {
    let (id, status, due_at, attempts, error) = row;
    Ok(LoggedEvent {
        status: status_of(&id, status)?,
        id: EventId::restore(id),
        name: parsed("an event", kind)?,
        created_at: Timestamp::from_millis(at),
        error,
        next_attempt_at: due_at.map(Timestamp::from_millis),
        attempts: attempts_of(attempts)?,
    })
}

/// The total from the counters that commits keep. They count all deliveries and those that have
/// ended; the others are pending.
async fn counted_total(
    conn: &mut Connection,
    tenant: Tenant,
    endpoint: &EndpointId,
    status: Option<DeliveryStatus>,
) -> Result<i64, Fault> {
    let query = counters::table
        .filter(counters::merchant_id.eq(tenant.merchant().0))
        .filter(counters::environment.eq(tenant.environment().as_str()))
        .filter(counters::name.eq(COUNTER))
        .filter(counters::key1.eq(endpoint.as_str()))
        .select((counters::key2, counters::count));
    let counts: HashMap<String, i64> = load!(conn, (String, i64), query)?.into_iter().collect();
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let (delivered, failed) = (DeliveryStatus::Delivered.as_str(), DeliveryStatus::Failed.as_str());
    Ok(match status {
        None => count("all"),
        Some(DeliveryStatus::Pending) => count("all") - count(delivered) - count(failed),
        Some(ended) => count(ended.as_str()),
    })
}

/// The outcome of beginning a new round for some failed deliveries.
struct Chosen {
    retried: u64,
    /// The last event that was chosen, if there may be more after it.
    last: Option<String>,
}

/// Begins a new round for some failed deliveries whose events' identifiers are greater than `after`.
/// Deliveries that another transaction changes meanwhile are left out.
async fn retry_some(
    conn: &mut Connection,
    whose: &Whose,
    selection: &RetrySelection,
    after: &str,
    at: Timestamp,
) -> Result<Chosen, Fault> {
    let ids: Option<Vec<&str>> = selection
        .events
        .as_ref()
        .map(|events| events.iter().map(EventId::as_str).filter(|id| *id > after).collect());
    let failed = Some(DeliveryStatus::Failed);
    macro_rules! chosen {
        () => {{
            let all = deliveries::table.select(deliveries::event_id).into_boxed();
            let query = narrowed!(all, whose.tenant, whose.endpoint, failed, selection.created);
            match &ids {
                Some(ids) => {
                    let keys = Keys::of(whose.tenant, "deliveries");
                    let keys = keys.with("endpoint_id", [whose.endpoint.as_str()]);
                    query.filter(keys.with("event_id", ids.iter().copied()))
                }
                None => query.filter(deliveries::event_id.gt(after)),
            }
            .order(deliveries::event_id.asc())
            .limit(RETRIED_AT_ONCE)
        }};
    }
    let mut chosen: Vec<String> = load!(conn, String, chosen!())?;
    let keys = Keys::of(whose.tenant, "deliveries").with("endpoint_id", [whose.endpoint.as_str()]);
    let rows = deliveries::table
        .filter(keys.with("event_id", chosen.iter().map(String::as_str)))
        .filter(deliveries::status.eq(code(DeliveryStatus::Failed)));
    let again = diesel::update(rows).set((
        deliveries::status.eq(code(DeliveryStatus::Pending)),
        deliveries::due_at.eq(at.millis()),
        deliveries::step.eq(0),
        deliveries::error.eq(None::<String>),
    ));
    let retried = i64::try_from(execute!(conn, again)?).unwrap_or(i64::MAX);
    count(conn, whose, DeliveryStatus::Failed, -retried).await?;
    let is_full = i64::try_from(chosen.len()).is_ok_and(|count| count == RETRIED_AT_ONCE);
    Ok(Chosen { retried: u64::try_from(retried).unwrap_or(0), last: chosen.pop().filter(|_| is_full) })
}

#[cfg(test)]
mod tests {
    use diesel::sqlite::Sqlite;
    use quipu_kernel::{Environment, MerchantId, Period};

    use super::*;
    use crate::plans::Plans;

    #[test]
    fn failed_deliveries_of_a_period_are_found_without_the_others() {
        let at = Timestamp::from_millis(1_767_225_600_000);
        let tenant = Tenant::new(MerchantId(1), Environment::Live);
        let endpoint = EndpointId::restore("an endpoint".to_owned());
        let created = Period { from: Some(at), to: Some(at) };
        let all = deliveries::table.count().into_boxed::<Sqlite>();
        let failed = Some(DeliveryStatus::Failed);
        let plan = Plans::new().of(&narrowed!(all, tenant, endpoint, failed, created));
        let within = "merchant_id=? AND environment=? AND endpoint_id=? AND event_id";
        assert!(plan[0].contains(&format!("deliveries_failed ({within}>? AND event_id<?)")), "{plan:?}");
    }
}
