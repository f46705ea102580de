//! The endpoints of merchants.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_commit::CallWaits;
use quipu_kernel::{Page, Period, StoreError, Tenant, Timestamp};
use quipu_merchants::AuditRecord;
use quipu_webhooks::{Endpoint, EndpointChange, EndpointError, EndpointId, Endpoints, Source};
use tracing::Instrument as _;

use crate::{
    connection::{Connection, execute, first, load},
    directory,
    error::{Fault, LeavesOpen, Refused},
    postgres::lock_turns::Waiter,
    rows::{
        endpoint::{EndpointRow, disabled_reason, events_text},
        period::in_period,
        stored::{bigint, natural},
    },
    schema::{counters, webhook_endpoints as endpoints},
    store::Store,
    tables::{deliveries::COUNTER, endpoints as new_endpoints},
};

/// The endpoints of a tenant that have not been removed.
macro_rules! of_tenant {
    ($tenant:expr) => {
        endpoints::table
            .filter(endpoints::merchant_id.eq($tenant.merchant().0))
            .filter(endpoints::environment.eq($tenant.environment().as_str()))
            .filter(endpoints::removed_at.is_null())
    };
}

/// The endpoints of a tenant and a source that were made at `$from` or later. The condition on the time stands
/// here even if every endpoint meets it. Without it SQLite uses the primary key, which covers both sources,
/// instead of the index over source and time.
macro_rules! of_source {
    ($tenant:expr, $source:expr, $from:expr) => {
        of_tenant!($tenant)
            .filter(endpoints::source.eq($source.as_str()))
            .filter(endpoints::created_at.ge($from))
    };
}

/// An endpoint may or may not have been changed. After these pauses it is read again.
const PAUSES_IN_DOUBT: [Duration; 3] =
    [Duration::from_secs(10), Duration::from_mins(1), Duration::from_mins(10)];

#[async_trait]
impl Endpoints for Store {
    async fn add(&self, endpoint: Endpoint, audit: Option<AuditRecord>) -> Result<(), EndpointError> {
        let added =
            self.inner.engine.write_for(
                Some(Waiter::Merchant(endpoint.tenant.merchant())),
                move |conn: &mut Connection| Box::pin(async move { add(conn, &endpoint, audit).await }),
            );
        added.await.map_err(Refused::into_error)
    }

    async fn endpoint(&self, tenant: Tenant, id: &EndpointId) -> Result<Option<Endpoint>, StoreError> {
        let id = id.clone();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = of_tenant!(tenant).filter(endpoints::id.eq(id.as_str()));
                first!(conn, EndpointRow, query)?.map(EndpointRow::into_endpoint).transpose()
            })
        });
        found.await.map_err(|fault: Fault| fault.into())
    }

    async fn endpoints(
        &self,
        tenant: Tenant,
        source: Source,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Endpoint>, u64), StoreError> {
        let listed = self.inner.read_page(tenant.merchant(), move |conn: &mut Connection| {
            Box::pin(async move { listed(conn, tenant, source, created, page).await })
        });
        Ok(listed.await?)
    }

    async fn change(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError> {
        let (store, id) = (self.clone(), id.clone());
        self.to_the_end(async move { store.change_endpoint(tenant, id, change, at).await }).await
    }

    async fn remove(&self, tenant: Tenant, id: &EndpointId, at: Timestamp) -> Result<(), EndpointError> {
        let (store, id) = (self.clone(), id.clone());
        self.to_the_end(async move { store.remove_endpoint(tenant, id, at).await }).await
    }
}

/// A page of the endpoints of a tenant that have not been removed, newest first, and the number of all of them.
async fn listed(
    conn: &mut Connection,
    tenant: Tenant,
    source: Source,
    created: Period,
    page: Page,
) -> Result<(Vec<Endpoint>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {
            in_period!($query, endpoints::created_at, created)
        };
    }
    let of_source = of_source!(tenant, source, created.from.map_or(i64::MIN, Timestamp::millis));
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(of_source.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        EndpointRow,
        narrowed!(of_source.into_boxed())
            .order((endpoints::created_at.desc(), endpoints::id.desc()))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let listed = rows.into_iter().map(EndpointRow::into_endpoint).collect::<Result<_, _>>()?;
    Ok((listed, natural(total)?))
}

impl Store {
    /// Completes a change even if the caller goes away meanwhile, since the deliverers must learn of the
    /// commit.
    async fn to_the_end<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T, EndpointError>> + Send + 'static,
    ) -> Result<T, EndpointError> {
        let call = CallWaits::current().unwrap_or_default();
        let done = self.inner.runtime.spawn(call.around(change).in_current_span()).await;
        // The task died, so it is not known what was committed.
        done.unwrap_or_else(|error| Err(StoreError::from(Fault::OutcomeUnknown(error.to_string())).into()))
    }

    async fn change_endpoint(
        &self,
        tenant: Tenant,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError> {
        let changing = id.clone();
        let changed = self.inner.engine.write_for(
            Some(Waiter::Merchant(tenant.merchant())),
            move |conn: &mut Connection| {
                Box::pin(async move {
                    let mut endpoint = lock(conn, tenant, &changing, IfLocked::Wait)
                        .await?
                        .ok_or(Refused::Rule(EndpointError::NotFound))?;
                    let was_enabled = endpoint.is_enabled();
                    endpoint.apply(change, at).map_err(Refused::Rule)?;
                    save(conn, &endpoint).await?;
                    Ok::<_, Refused<EndpointError>>((was_enabled, endpoint))
                })
            },
        );
        let changed = self.unless_in_doubt(tenant, &id, changed.await);
        let (was_enabled, endpoint) = changed.map_err(Refused::into_error)?;
        self.inner.hub.endpoint_changed(&endpoint);
        if was_enabled && !endpoint.is_enabled() {
            self.fail_what_is_owed(&endpoint).await;
        }
        Ok(endpoint)
    }

    async fn remove_endpoint(
        &self,
        tenant: Tenant,
        id: EndpointId,
        at: Timestamp,
    ) -> Result<(), EndpointError> {
        let removing = id.clone();
        let removed = self.inner.engine.write_for(
            Some(Waiter::Merchant(tenant.merchant())),
            move |conn: &mut Connection| {
                Box::pin(async move {
                    let endpoint = lock(conn, tenant, &removing, IfLocked::Wait)
                        .await?
                        .ok_or(Refused::Rule(EndpointError::NotFound))?;
                    let row = endpoints::table.filter(endpoints::id.eq(endpoint.id.as_str()));
                    let removal = (endpoints::removed_at.eq(at.millis()), endpoints::enabled.eq(false));
                    execute!(conn, diesel::update(row).set(removal))?;
                    let counted = counters::table
                        .filter(counters::merchant_id.eq(tenant.merchant().0))
                        .filter(counters::environment.eq(tenant.environment().as_str()))
                        .filter(counters::name.eq(COUNTER))
                        .filter(counters::key1.eq(endpoint.id.as_str()));
                    execute!(conn, diesel::delete(counted))?;
                    Ok::<_, Refused<EndpointError>>(endpoint)
                })
            },
        );
        let removed = self.unless_in_doubt(tenant, &id, removed.await);
        let mut endpoint = removed.map_err(Refused::into_error)?;
        endpoint.disable(None, endpoint.updated_at);
        self.inner.hub.endpoint_changed(&endpoint);
        Ok(())
    }

    /// Passes the outcome of a change on. If it is not known, the deliverers here and on the other nodes are
    /// told to read the endpoint again, since it may have changed; and once more after each of some pauses, since
    /// its `COMMIT` may still be in progress.
    pub(super) fn unless_in_doubt<T, E: LeavesOpen>(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        if outcome.as_ref().is_err_and(LeavesOpen::leaves_open) {
            self.inner.hub.endpoint_may_have_changed(tenant, id);
            let (hub, id) = (Arc::downgrade(&self.inner.hub), id.clone());
            self.inner.runtime.spawn(async move {
                for pause in PAUSES_IN_DOUBT {
                    tokio::time::sleep(pause).await;
                    let Some(hub) = hub.upgrade() else { return };
                    hub.endpoint_may_have_changed(tenant, &id);
                }
            });
        }
        outcome
    }
}

async fn add(
    conn: &mut Connection,
    endpoint: &Endpoint,
    audit: Option<AuditRecord>,
) -> Result<(), Refused<EndpointError>> {
    // Additions to the same merchant wait for each other here, so that the count stays right.
    directory::merchants::lock(conn, endpoint.tenant.merchant()).await.map_err(|refused| match refused {
        Refused::Rule(_) => Refused::Rule(EndpointError::NotFound),
        Refused::Fault(fault) => Refused::Fault(fault),
    })?;
    let count = of_source!(endpoint.tenant, Source::Admin, i64::MIN).count();
    if first!(conn, i64, count)?.unwrap_or(0) >= Endpoint::MOST.into() {
        return Err(Refused::Rule(EndpointError::LimitReached));
    }
    match conn {
        Connection::Sqlite(conn) => {
            diesel::RunQueryDsl::execute(new_endpoints::rows::One::of(endpoint), conn)?;
        }
        Connection::Postgres(conn) => {
            let row = new_endpoints::rows::Many::of(std::iter::once(endpoint));
            diesel_async::RunQueryDsl::execute(row, &mut ***conn).await?;
        }
    }
    if let Some(audit) = audit {
        directory::audit::write(conn, &audit).await?;
    }
    Ok(())
}

/// What is done about a row that somebody else has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfLocked {
    Wait,
    /// It counts as not being there.
    Skip,
}

/// The endpoint, locked against other changes until the transaction ends.
pub(super) async fn lock(
    conn: &mut Connection,
    tenant: Tenant,
    id: &EndpointId,
    if_locked: IfLocked,
) -> Result<Option<Endpoint>, Fault> {
    let query = of_tenant!(tenant).filter(endpoints::id.eq(id.as_str()));
    let rows: Vec<EndpointRow> = match conn {
        Connection::Sqlite(conn) => diesel::RunQueryDsl::load(query, conn)?,
        Connection::Postgres(conn) => match if_locked {
            IfLocked::Wait => diesel_async::RunQueryDsl::load(query.for_update(), &mut ***conn).await?,
            IfLocked::Skip => {
                diesel_async::RunQueryDsl::load(query.for_update().skip_locked(), &mut ***conn).await?
            }
        },
    };
    rows.into_iter().next().map(EndpointRow::into_endpoint).transpose()
}

/// Writes the columns of an endpoint that may change.
pub(super) async fn save(conn: &mut Connection, endpoint: &Endpoint) -> Result<(), Fault> {
    let row = endpoints::table.filter(endpoints::id.eq(endpoint.id.as_str()));
    let update = diesel::update(row).set((
        endpoints::url.eq(endpoint.url.as_str()),
        endpoints::events.eq(events_text(&endpoint.events)),
        endpoints::description.eq(endpoint.description.as_deref()),
        endpoints::enabled.eq(endpoint.is_enabled()),
        endpoints::disabled_reason.eq(disabled_reason(endpoint)),
        endpoints::failing_since.eq(endpoint.failing_since.map(Timestamp::millis)),
        endpoints::updated_at.eq(endpoint.updated_at.millis()),
    ));
    execute!(conn, update)?;
    Ok(())
}
