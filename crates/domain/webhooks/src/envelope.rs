//! The envelope of every event.

use quipu_kernel::{Environment, EventId, MerchantId, Tenant, Timestamp, json_text};
use serde::Serialize;

use crate::name::EventName;

/// What is delivered of an event: what all events have, around the data of this one.
#[derive(Debug, Serialize)]
pub struct Envelope<'a, Data> {
    id: &'a EventId,
    #[serde(rename = "type")]
    name: EventName,
    created_at: Timestamp,
    merchant_id: MerchantId,
    environment: Environment,
    data: Data,
}

impl<'a, Data: Serialize> Envelope<'a, Data> {
    /// The envelope of an event that happened to this tenant at `created_at`.
    pub const fn new(
        id: &'a EventId,
        name: EventName,
        created_at: Timestamp,
        tenant: Tenant,
        data: Data,
    ) -> Self {
        let (merchant_id, environment) = (tenant.merchant(), tenant.environment());
        Self { id, name, created_at, merchant_id, environment, data }
    }

    /// The JSON that is delivered, byte for byte.
    pub fn payload(&self) -> String {
        json_text(self)
    }
}
