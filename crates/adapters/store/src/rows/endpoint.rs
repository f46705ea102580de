//! An endpoint's row, and the endpoint it stands for.

use diesel::Queryable;
use quipu_kernel::Timestamp;
use quipu_webhooks::{Enablement, Endpoint, EndpointId, EventName, TargetUrl};

use crate::{
    error::Fault,
    rows::stored::{parsed, tenant_of},
};

/// The row, column by column, in the order of the table.
#[derive(Debug, Queryable)]
pub(crate) struct EndpointRow {
    merchant_id: i64,
    environment: String,
    id: String,
    source: String,
    url: String,
    events: String,
    description: Option<String>,
    sealed_secret: Option<String>,
    enabled: bool,
    disabled_reason: Option<String>,
    failing_since: Option<i64>,
    created_at: i64,
    updated_at: i64,
    pub(crate) removed_at: Option<i64>,
}

/// The columns of an [`EndpointRow`], in its order, for statements written by hand.
macro_rules! endpoint_columns {
    () => {
        "webhook_endpoints.merchant_id, webhook_endpoints.environment, webhook_endpoints.id, webhook_endpoints.source, \
         webhook_endpoints.url, webhook_endpoints.events, webhook_endpoints.description, \
         webhook_endpoints.sealed_secret, webhook_endpoints.enabled, webhook_endpoints.disabled_reason, \
         webhook_endpoints.failing_since, webhook_endpoints.created_at, webhook_endpoints.updated_at, \
         webhook_endpoints.removed_at"
    };
}

pub(crate) use endpoint_columns;

impl EndpointRow {
    /// The endpoint, or the column that is not valid.
    pub(crate) fn into_endpoint(self) -> Result<Endpoint, Fault> {
        let names = self.events.split(',').filter(|name| !name.is_empty());
        let events: Result<Vec<EventName>, Fault> = names.map(|name| parsed("an event", name)).collect();
        Ok(Endpoint {
            id: EndpointId::restore(self.id),
            tenant: tenant_of(self.merchant_id, &self.environment)?,
            source: parsed("a source", &self.source)?,
            url: TargetUrl::restore(self.url),
            events: events?,
            description: self.description,
            sealed_secret: self.sealed_secret,
            enablement: if self.enabled {
                Enablement::Enabled
            } else {
                Enablement::Disabled(self.disabled_reason)
            },
            failing_since: self.failing_since.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(self.created_at),
            updated_at: Timestamp::from_millis(self.updated_at),
        })
    }
}

/// The events of a subscription as one text.
pub(crate) fn events_text(events: &[EventName]) -> String {
    let names: Vec<_> = events.iter().map(|name| name.as_str()).collect();
    names.join(",")
}

/// Why an endpoint is disabled, if a reason was given.
pub(crate) fn disabled_reason(endpoint: &Endpoint) -> Option<&str> {
    match &endpoint.enablement {
        Enablement::Enabled => None,
        Enablement::Disabled(reason) => reason.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use diesel::{QueryDsl as _, Table as _};

    use crate::schema::webhook_endpoints;

    #[test]
    fn statements_by_hand_name_the_columns_in_the_order_of_the_table() {
        let query = webhook_endpoints::table.select(webhook_endpoints::table::all_columns());
        let said = diesel::debug_query::<diesel::sqlite::Sqlite, _>(&query).to_string().replace('`', "");
        assert!(said.contains(&format!("SELECT {} FROM", endpoint_columns!())), "{said}");
    }
}
