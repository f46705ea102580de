//! The fan-out: makes the deliveries of a batch's events, in the same commit.
//!
//! [`Endpoint::is_owed`] decides who gets an event, over the endpoints as this transaction sees them. So a
//! disabled endpoint gets no delivery, and a new endpoint misses none. This node takes the new deliveries in
//! hand at once if it runs a dispatcher.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use diesel::{
    ExpressionMethods as _, QueryDsl as _, RunQueryDsl as _, SqliteConnection,
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use diesel_async::AsyncPgConnection;
use quipu_commit::Writes;
use quipu_kernel::Tenant;
use quipu_webhooks::{Endpoint, EndpointId, Event, NamedTarget, Owed, Source, TargetUrl};

use super::{
    job::{Job, id_of},
    sending::{Writing, executed},
};
use crate::{
    error::Fault,
    rows::endpoint::{EndpointRow, endpoint_columns},
    schema::webhook_endpoints as endpoints,
    statement::statement,
    tables::{
        deliveries::{self, COUNTER, DeliveryLine},
        endpoints as new_endpoints,
    },
    transaction::Unfinished,
};

/// The tenants and URLs whose endpoints a batch must read.
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

/// The endpoints that may get deliveries.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    subscribed: HashMap<Tenant, Vec<Arc<Endpoint>>>,
    named: HashMap<(Tenant, TargetUrl), Arc<Endpoint>>,
}

impl Subscribers {
    /// Reads the endpoints in the transaction that the connection of an embedded database has begun.
    pub(crate) fn of_file(conn: &mut SqliteConnection, hearers: &Hearers) -> Result<Self, Fault> {
        Self::of_rows(of_file(conn, hearers)?)
    }

    /// Reads the endpoints from a server; the query is sent at once, together with others of the batch's
    /// transaction.
    pub(crate) async fn of_server(conn: &AsyncPgConnection, hearers: &Hearers) -> Result<Self, Fault> {
        Self::of_rows(of_server(conn, hearers).await?)
    }

    fn of_rows(rows: Vec<EndpointRow>) -> Result<Self, Fault> {
        let mut subscribers = Self::default();
        for row in rows {
            let endpoint = Arc::new(row.into_endpoint()?);
            match endpoint.source {
                Source::Admin => subscribers.subscribed.entry(endpoint.tenant).or_default().push(endpoint),
                Source::InRequest => {
                    subscribers.named.insert((endpoint.tenant, endpoint.url.clone()), endpoint);
                }
            }
        }
        Ok(subscribers)
    }
}

diesel::postfix_operator!(OfAdmin, " = 'admin'");
diesel::postfix_operator!(InRequest, " = 'in_request'");

/// The enabled endpoints that were made for a tenant, and not by its payments. The order is that of the index:
/// otherwise SQLite takes the table's key for as good, and walks through everything that payments named.
macro_rules! subscribed_in_file {
    ($tenant:expr) => {
        endpoints::table
            .filter(endpoints::merchant_id.eq($tenant.merchant().0))
            .filter(endpoints::environment.eq($tenant.environment().as_str()))
            .filter(OfAdmin::new(endpoints::source))
            .filter(endpoints::removed_at.is_null())
            .filter(endpoints::enabled)
            .order((endpoints::created_at, endpoints::id))
    };
}

/// No statement here binds a list or a source, so that each is prepared once. SQLite would look at the value
/// of a bound source, because an index exists for one source only, and prepare the statement again each time.
fn of_file(conn: &mut SqliteConnection, hearers: &Hearers) -> Result<Vec<EndpointRow>, Fault> {
    let mut rows = Vec::new();
    for tenant in &hearers.tenants {
        rows.extend(subscribed_in_file!(tenant).load::<EndpointRow>(conn)?);
    }
    for (tenant, url) in &hearers.named {
        let query = endpoints::table
            .filter(endpoints::merchant_id.eq(tenant.merchant().0))
            .filter(endpoints::environment.eq(tenant.environment().as_str()))
            .filter(endpoints::url.eq(url.as_str()))
            .filter(InRequest::new(endpoints::source))
            .filter(endpoints::removed_at.is_null());
        rows.extend(query.load::<EndpointRow>(conn)?);
    }
    Ok(rows)
}

// A condition on each column of the index: without one on the environment PostgreSQL walks through everything
// that the merchants ever named.
statement! { Named on Pg => endpoints::SqlType {
    concat!("SELECT ", endpoint_columns!(), " FROM UNNEST (") => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => urls: Vec<&'a str> as Array<Text> ;
    ") AS wanted (merchant_id, environment, url) JOIN webhook_endpoints
        ON webhook_endpoints.merchant_id = wanted.merchant_id AND webhook_endpoints.environment = wanted.environment
        AND webhook_endpoints.url = wanted.url AND webhook_endpoints.source = 'in_request'
        AND webhook_endpoints.removed_at IS NULL"
} }

async fn of_server(conn: &AsyncPgConnection, hearers: &Hearers) -> Result<Vec<EndpointRow>, Fault> {
    if hearers.tenants.is_empty() {
        return Ok(Vec::new());
    }
    let merchants: Vec<_> = hearers.tenants.iter().map(|tenant| tenant.merchant().0).collect();
    let environments: Vec<_> = hearers.tenants.iter().map(|tenant| tenant.environment().as_str()).collect();
    let subscribed = endpoints::table
        .filter(endpoints::merchant_id.eq_any(merchants))
        .filter(endpoints::environment.eq_any(environments))
        .filter(OfAdmin::new(endpoints::source))
        .filter(endpoints::removed_at.is_null())
        .filter(endpoints::enabled);
    let named = async {
        if hearers.named.is_empty() {
            return Ok(Vec::new());
        }
        let named = Named {
            merchants: hearers.named.iter().map(|(tenant, _)| tenant.merchant().0).collect(),
            environments: hearers.named.iter().map(|(tenant, _)| tenant.environment().as_str()).collect(),
            urls: hearers.named.iter().map(|(_, url)| url.as_str()).collect(),
        };
        diesel_async::RunQueryDsl::load::<EndpointRow>(named, &mut &*conn).await
    };
    let subscribed = diesel_async::RunQueryDsl::load::<EndpointRow>(subscribed, &mut &*conn);
    let (subscribed, named) = tokio::join!(biased; subscribed, named);
    let mut rows = subscribed?;
    rows.extend(named?);
    Ok(rows)
}

/// The deliveries that a batch makes.
#[derive(Debug, Default)]
pub(crate) struct FanOut {
    made: Vec<Arc<Endpoint>>,
    enabled: Vec<Arc<Endpoint>>,
    pub(crate) owed: Vec<Owed>,
}

impl FanOut {
    /// Makes the deliveries of the accepted changes, and counts them.
    pub(crate) fn of(jobs: &[Job], writes: &mut Writes, mut subscribers: Subscribers) -> Self {
        let mut fan_out = Self::default();
        let mut counts: BTreeMap<(Tenant, EndpointId), i64> = BTreeMap::new();
        for index in &writes.accepted {
            let changes = &jobs[*index].changes;
            for event in changes.rows_of::<Event>() {
                let tenant = changes.tenant;
                let named = event
                    .named
                    .as_ref()
                    .and_then(|named| fan_out.find(&mut subscribers, tenant, event, named));
                let subscribed =
                    subscribers.subscribed.get(&tenant).into_iter().flatten().map(|it| (it, None));
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
            *writes.tallies.entry((tenant, COUNTER.into(), keys)).or_default() += by;
        }
        fan_out
    }

    /// Finds the endpoint that a payment named. For the change that names it, the endpoint is made or enabled
    /// again.
    fn find(
        &mut self,
        subscribers: &mut Subscribers,
        tenant: Tenant,
        event: &Event,
        named: &NamedTarget,
    ) -> Option<Arc<Endpoint>> {
        let key = (tenant, named.url.clone());
        let known = subscribers.named.get(&key);
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
            let id = EndpointId::restore(id_of(event.at).to_string());
            let (url, events) = (named.url.clone(), named.events.clone());
            let endpoint = Arc::new(Endpoint::named(id, tenant, url, events, event.at));
            self.made.push(Arc::clone(&endpoint));
            endpoint
        };
        subscribers.named.insert(key, Arc::clone(&endpoint));
        Some(endpoint)
    }

    /// The rows to be written. `node` is this node if it runs a dispatcher.
    pub(crate) fn lines<'a>(&'a self, node: Option<&'a str>) -> DeliveryRows<'a> {
        DeliveryRows {
            enabled: &self.enabled,
            made: &self.made,
            lines: self.owed.iter().map(|owed| DeliveryLine::of(owed, node)).collect(),
        }
    }
}

/// The rows of the deliveries and endpoints of a batch.
pub(crate) struct DeliveryRows<'a> {
    enabled: &'a [Arc<Endpoint>],
    made: &'a [Arc<Endpoint>],
    lines: Vec<DeliveryLine<'a>>,
}

/// Enables an endpoint again.
macro_rules! enabling {
    ($endpoint:expr) => {
        diesel::update(endpoints::table.filter(endpoints::id.eq($endpoint.id.as_str()))).set((
            endpoints::enabled.eq(true),
            endpoints::disabled_reason.eq(None::<String>),
            endpoints::failing_since.eq(None::<i64>),
            endpoints::updated_at.eq($endpoint.updated_at.millis()),
        ))
    };
}

impl DeliveryRows<'_> {
    /// Writes the rows in the transaction that the connection of an embedded database has begun.
    pub(crate) fn to_file(&self, conn: &mut SqliteConnection) -> Result<(), Fault> {
        for endpoint in self.enabled {
            enabling!(endpoint).execute(conn)?;
        }
        for endpoint in self.made {
            new_endpoints::rows::One::of(endpoint).execute(conn)?;
        }
        for line in &self.lines {
            deliveries::rows::One::of(line).execute(conn)?;
        }
        Ok(())
    }

    /// The statements for a server, in this order.
    pub(crate) fn to_server<'c>(&'c self, conn: &'c AsyncPgConnection) -> Vec<Writing<'c>> {
        let mut sent: Vec<Writing<'c>> = Vec::new();
        for endpoint in self.enabled {
            let enabling = enabling!(endpoint);
            sent.push(Box::pin(async move {
                let enabled = diesel_async::RunQueryDsl::execute(enabling, &mut &*conn).await;
                enabled.map(drop).map_err(|error| Unfinished::at_statement(error.into()))
            }));
        }
        if !self.made.is_empty() {
            let made = new_endpoints::rows::Many::of(self.made.iter().map(|endpoint| &**endpoint));
            sent.push(executed(conn, made));
        }
        if !self.lines.is_empty() {
            sent.push(executed(conn, deliveries::rows::Many::of(self.lines.iter())));
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId};

    use super::*;
    use crate::plans::Plans;

    #[test]
    fn what_payments_named_is_not_searched_for_those_who_hear_of_every_payment() {
        let tenant = Tenant::new(MerchantId(1), Environment::Live);
        let plan = Plans::new().of(&subscribed_in_file!(tenant));
        assert_eq!(plan.len(), 1, "{plan:?}");
        assert!(
            plan[0].contains("webhook_endpoints_by_creation (merchant_id=? AND environment=? AND source=?)"),
            "{plan:?}"
        );
    }
}
