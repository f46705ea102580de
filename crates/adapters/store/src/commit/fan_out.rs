//! The fan-out: from the events of a batch to the deliveries they owe, written in the same commit.
//!
//! Who hears an event is decided by [`Endpoint::is_owed`] over the endpoints as this very transaction sees them, so that nothing is
//! owed to an endpoint that was disabled before, and nothing is forgotten for one that was made before. What is owed is in
//! the hands of this node from the beginning, if somebody here delivers.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use diesel::{ExpressionMethods as _, QueryDsl as _, RunQueryDsl as _, SqliteConnection};
use diesel_async::AsyncPgConnection;
use quipu_commit::Writes;
use quipu_kernel::Tenant;
use quipu_webhooks::{Endpoint, EndpointId, Event, NamedTarget, Owed, Source, TargetUrl};
use uuid::Uuid;

use super::job::Job;
use crate::{
    connection::{Connection, execute},
    error::Fault,
    schema::webhook_endpoints as endpoints,
    tables::{
        deliveries::{self, COUNTER, DeliveryLine},
        endpoints as new_endpoints,
    },
    webhooks::row::EndpointRow,
};

/// Whose endpoints a batch has to know.
#[derive(Debug, Default)]
pub(crate) struct Hearers {
    tenants: BTreeSet<Tenant>,
    named: BTreeSet<(Tenant, TargetUrl)>,
}

impl Hearers {
    pub(crate) fn of(jobs: &[Job]) -> Self {
        let mut hearers = Self::default();
        for changes in jobs.iter().map(|job| &job.changes) {
            for event in changes.rows_of::<Event>() {
                hearers.tenants.insert(changes.tenant);
                hearers.named.extend(event.named.iter().map(|named| (changes.tenant, named.url.clone())));
            }
        }
        hearers
    }
}

/// The endpoints that may hear something.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    subscribed: HashMap<Tenant, Vec<Arc<Endpoint>>>,
    named: HashMap<(Tenant, TargetUrl), Arc<Endpoint>>,
}

impl Audience {
    /// Reads them in the batch's own transaction.
    pub(crate) async fn load(conn: &mut Connection, hearers: &Hearers) -> Result<Self, Fault> {
        let rows = match conn {
            Connection::Sqlite(conn) => of_file(conn, hearers)?,
            Connection::Postgres(conn) => of_server(conn, hearers).await?,
        };
        let mut audience = Self::default();
        for row in rows {
            let endpoint = Arc::new(row.into_endpoint()?);
            match endpoint.source {
                Source::Admin => audience.subscribed.entry(endpoint.tenant).or_default().push(endpoint),
                Source::InRequest => {
                    audience.named.insert((endpoint.tenant, endpoint.url.clone()), endpoint);
                }
            }
        }
        Ok(audience)
    }
}

/// Nothing here binds a list, so that each statement is prepared once.
fn of_file(conn: &mut SqliteConnection, hearers: &Hearers) -> Result<Vec<EndpointRow>, Fault> {
    let mut rows = Vec::new();
    for tenant in &hearers.tenants {
        let query = endpoints::table
            .filter(endpoints::merchant_id.eq(tenant.merchant().0))
            .filter(endpoints::environment.eq(tenant.environment().as_str()))
            .filter(endpoints::source.eq("admin"))
            .filter(endpoints::removed_at.is_null())
            .filter(endpoints::enabled.eq(true));
        rows.extend(query.load::<EndpointRow>(conn)?);
    }
    for (tenant, url) in &hearers.named {
        let query = endpoints::table
            .filter(endpoints::merchant_id.eq(tenant.merchant().0))
            .filter(endpoints::environment.eq(tenant.environment().as_str()))
            .filter(endpoints::url.eq(url.as_str()))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
                "source = 'in_request' AND removed_at IS NULL",
            ));
        rows.extend(query.load::<EndpointRow>(conn)?);
    }
    Ok(rows)
}

async fn of_server(conn: &mut AsyncPgConnection, hearers: &Hearers) -> Result<Vec<EndpointRow>, Fault> {
    if hearers.tenants.is_empty() {
        return Ok(Vec::new());
    }
    let merchants: Vec<_> = hearers.tenants.iter().map(|tenant| tenant.merchant().0).collect();
    let subscribed = endpoints::table
        .filter(endpoints::merchant_id.eq_any(merchants))
        .filter(endpoints::source.eq("admin"))
        .filter(endpoints::removed_at.is_null())
        .filter(endpoints::enabled.eq(true));
    let mut rows: Vec<EndpointRow> = diesel_async::RunQueryDsl::load(subscribed, &mut *conn).await?;
    if !hearers.named.is_empty() {
        let merchants: Vec<_> = hearers.named.iter().map(|(tenant, _)| tenant.merchant().0).collect();
        let urls: Vec<_> = hearers.named.iter().map(|(_, url)| url.as_str()).collect();
        let named = endpoints::table
            .filter(endpoints::merchant_id.eq_any(merchants))
            .filter(endpoints::url.eq_any(urls))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
                "source = 'in_request' AND removed_at IS NULL",
            ));
        rows.extend(diesel_async::RunQueryDsl::load::<EndpointRow>(named, &mut *conn).await?);
    }
    Ok(rows)
}

/// What a batch owes.
#[derive(Debug, Default)]
pub(crate) struct FanOut {
    made: Vec<Arc<Endpoint>>,
    enabled: Vec<Arc<Endpoint>>,
    pub(crate) owed: Vec<Owed>,
}

impl FanOut {
    /// Decides it for the accepted changes, and counts it.
    pub(crate) fn of(jobs: &[Job], writes: &mut Writes, mut audience: Audience) -> Self {
        let mut fan_out = Self::default();
        let mut counts: BTreeMap<(Tenant, EndpointId), i64> = BTreeMap::new();
        for index in &writes.accepted {
            let changes = &jobs[*index].changes;
            for event in changes.rows_of::<Event>() {
                let tenant = changes.tenant;
                let named =
                    event.named.as_ref().and_then(|named| fan_out.find(&mut audience, tenant, event, named));
                let subscribed = audience.subscribed.get(&tenant).into_iter().flatten().map(|it| (it, None));
                let named_events = event.named.as_ref().map(|named| named.events.as_slice());
                let hearers = subscribed.chain(named.iter().map(|it| (it, named_events)));
                let payload: Arc<str> = event.payload.as_str().into();
                for (endpoint, _) in hearers.filter(|(it, named)| it.is_owed(event.name, *named)) {
                    *counts.entry((tenant, endpoint.id.clone())).or_default() += 1;
                    fan_out.owed.push(Owed {
                        endpoint: Arc::clone(endpoint),
                        event_id: event.id.clone(),
                        payload: Arc::clone(&payload),
                        attempts: Vec::new(),
                        step: 0,
                        due_at: event.at,
                    });
                }
            }
        }
        for ((tenant, endpoint), by) in counts {
            let keys = [Cow::Owned(endpoint.as_str().to_owned()), "all".into(), "".into(), "".into()];
            *writes.tallies.entry((tenant, COUNTER, keys)).or_default() += by;
        }
        fan_out
    }

    /// The endpoint that a payment named: the first time it is made, or enabled again.
    fn find(
        &mut self,
        audience: &mut Audience,
        tenant: Tenant,
        event: &Event,
        named: &NamedTarget,
    ) -> Option<Arc<Endpoint>> {
        let key = (tenant, named.url.clone());
        let known = audience.named.get(&key);
        if !named.first || known.is_some_and(|endpoint| endpoint.is_enabled()) {
            return known.cloned();
        }
        let endpoint = if let Some(disabled) = known {
            let mut endpoint = Endpoint::clone(disabled);
            endpoint.enable(event.at);
            let endpoint = Arc::new(endpoint);
            self.enabled.push(Arc::clone(&endpoint));
            endpoint
        } else {
            let id = EndpointId::restore(Uuid::new_v4().to_string());
            let (url, events) = (named.url.clone(), named.events.clone());
            let endpoint = Arc::new(Endpoint::named(id, tenant, url, events, event.at));
            self.made.push(Arc::clone(&endpoint));
            endpoint
        };
        audience.named.insert(key, Arc::clone(&endpoint));
        Some(endpoint)
    }

    /// Writes it. `node` is this node if somebody here delivers.
    pub(crate) async fn write(&self, conn: &mut Connection, node: Option<&str>) -> Result<(), Fault> {
        for endpoint in &self.enabled {
            let row = endpoints::table.filter(endpoints::id.eq(endpoint.id.as_str()));
            execute!(
                conn,
                diesel::update(row).set((
                    endpoints::enabled.eq(true),
                    endpoints::disabled_reason.eq(None::<String>),
                    endpoints::failing_since.eq(None::<i64>),
                    endpoints::updated_at.eq(endpoint.updated_at.millis()),
                ))
            )?;
        }
        let line = |owed| DeliveryLine::of(owed, node);
        let lines: Vec<_> = self.owed.iter().map(line).collect();
        match conn {
            Connection::Sqlite(conn) => {
                for endpoint in &self.made {
                    new_endpoints::rows::One::of(endpoint).execute(conn)?;
                }
                for line in &lines {
                    deliveries::rows::One::of(line).execute(conn)?;
                }
            }
            Connection::Postgres(conn) => {
                if !self.made.is_empty() {
                    let made = new_endpoints::rows::Many::of(self.made.iter().map(|endpoint| &**endpoint));
                    diesel_async::RunQueryDsl::execute(made, &mut ***conn).await?;
                }
                if !lines.is_empty() {
                    let lines = deliveries::rows::Many::of(lines.iter());
                    diesel_async::RunQueryDsl::execute(lines, &mut ***conn).await?;
                }
            }
        }
        Ok(())
    }
}
