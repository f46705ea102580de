//! An endpoint's row, and the endpoint it stands for.

use diesel::Queryable;
use quipu_kernel::{MerchantId, Tenant, Timestamp};
use quipu_webhooks::{Enablement, Endpoint, EndpointId, EventName, TargetUrl};

use crate::{error::Fault, rows::stored::parsed};

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

impl EndpointRow {
    /// The endpoint, or the column that is not valid.
    pub(crate) fn into_endpoint(self) -> Result<Endpoint, Fault> {
        let names = self.events.split(',').filter(|name| !name.is_empty());
        let events: Result<Vec<EventName>, Fault> = names.map(|name| parsed("an event", name)).collect();
        Ok(Endpoint {
            id: EndpointId::restore(self.id),
            tenant: Tenant::new(MerchantId(self.merchant_id), parsed("an environment", &self.environment)?),
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
