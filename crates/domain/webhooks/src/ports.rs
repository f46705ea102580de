//! The ports that a store and a sender implement for this crate.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use quipu_kernel::{EventId, Page, Period, StoreError, Tenant, Timestamp};
use quipu_merchants::AuditRecord;
use serde::Serialize;

use crate::{
    attempt::{Attempt, Attempted},
    delivery::Owed,
    delivery_key::DeliveryKey,
    endpoint::{Endpoint, EndpointChange, EndpointId, Source},
    error::EndpointError,
    name::EventName,
    outcome::Outcome,
    schedule::RetryPolicy,
    status::DeliveryStatus,
};

/// The endpoints of merchants. A change is seen by every read of this node that begins after the change was
/// acknowledged.
#[async_trait]
pub trait Endpoints: Send + Sync {
    /// Adds an endpoint, with the line of the audit log if the operator made it. Refused with `LimitReached` beyond
    /// [`Endpoint::MOST`], however many are added at once.
    async fn add(&self, endpoint: Endpoint, audit: Option<AuditRecord>) -> Result<(), EndpointError>;

    /// The endpoint of the tenant with this identifier.
    async fn endpoint(&self, tenant: Tenant, id: &EndpointId) -> Result<Option<Endpoint>, StoreError>;

    /// A page of the tenant's endpoints from a source that were made in a period, newest first, and the number
    /// of all of them.
    async fn endpoints(
        &self,
        tenant: Tenant,
        source: Source,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Endpoint>, u64), StoreError>;

    /// Applies a change and answers the changed endpoint. Simultaneous changes are applied one after the
    /// other. If the change disables the endpoint, its pending deliveries fail at once, or soon after if
    /// there are many. Refused with `NotFound`, and with `AddressFixed`.
    async fn change(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError>;

    /// Removes an endpoint with its deliveries at `at`. Refused with `NotFound`.
    async fn remove(&self, tenant: Tenant, id: &EndpointId, at: Timestamp) -> Result<(), EndpointError>;
}

/// An event in the log of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedEvent {
    /// The identifier of the event.
    pub id: EventId,
    /// The name of the event.
    #[serde(rename = "type")]
    pub name: EventName,
    /// When it happened (UTC).
    pub created_at: Timestamp,
    /// The status of its delivery.
    pub status: DeliveryStatus,
    /// Why it failed without another attempt, if it did.
    pub error: Option<String>,
    /// When the next attempt is due (UTC).
    pub next_attempt_at: Option<Timestamp>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

/// A filter of an endpoint's events; absent members narrow nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only events whose delivery has this status.
    pub status: Option<DeliveryStatus>,
    /// Only events that happened in this period.
    pub created: Period,
}

/// A selection of failed events to be retried; absent members narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrySelection {
    /// Only these events.
    pub events: Option<Vec<EventId>>,
    /// Only events that happened in this period.
    pub created: Period,
}

/// The log of an endpoint's deliveries.
#[async_trait]
pub trait DeliveryLog: Send + Sync {
    /// A page of an endpoint's events, newest first, and the exact number of all that match.
    async fn logged(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        filter: LogFilter,
        page: Page,
    ) -> Result<(Vec<LoggedEvent>, u64), StoreError>;

    /// Begins a new round for failed events at `at`; answers the number of them. An event that has not
    /// failed, or is not this endpoint's, is skipped. If something goes wrong in between, the remaining
    /// events stay failed.
    async fn retry(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        selection: RetrySelection,
        at: Timestamp,
    ) -> Result<u64, StoreError>;
}

/// The deliverer of a node. It receives the deliveries that commits of this node make.
pub trait Deliverer: Send + Sync {
    /// Takes over deliveries that this node has in hand already. It must be quick, and is called on a
    /// runtime.
    fn hand_over(&self, deliveries: Vec<Owed>);

    /// Tells that this node has changed an endpoint, so that deliveries in memory follow the change. A store
    /// says so as soon as the change is committed, before anything that follows from it. A removed endpoint
    /// comes as a disabled one.
    fn endpoint_changed(&self, endpoint: &Endpoint);

    /// Tells that another node has changed these endpoints, or may have changed any endpoint (`None`), or
    /// that it is not known whether this node has changed them.
    /// Nothing more is sent to them until they have been read again.
    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>);

    /// Tells that deliveries may be due that no node has in hand, or that a dead node had in hand.
    fn look(&self);
}

/// Makes the attempts, over HTTP.
#[async_trait]
pub trait Courier: Send + Sync {
    /// Makes one attempt to send an event to an endpoint, signed; it ends within 17 seconds, however the
    /// receiver and the database behave. The payload is not copied.
    async fn attempt(&self, endpoint: &Endpoint, event: &EventId, payload: &Arc<str>) -> Attempted;
}

/// A request for deliveries of an endpoint that no node has in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The tenant that owns the endpoint.
    pub tenant: Tenant,
    /// The endpoint whose deliveries are wanted.
    pub endpoint: EndpointId,
    /// The greatest number of deliveries.
    pub most: u32,
    /// About how many [bytes](Owed::bytes) of deliveries: none is taken beyond them, and the first is taken however
    /// long it is.
    pub bytes: usize,
}

impl Wanted {
    /// The same bound for all deliveries of one claim together.
    pub const BYTES_AT_ONCE: usize = 16 * 1024 * 1024;
}

/// A part of the endpoints with deliveries that wait to be claimed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The endpoints and their owners, in the order of identifiers.
    pub endpoints: Vec<(Tenant, EndpointId)>,
    /// The endpoint after which the next part begins; `None` if this is the last part.
    pub next: Option<EndpointId>,
}

/// The endpoints of the deliveries that have been due longest.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct DueEndpoints {
    /// The endpoints and their owners, each once.
    pub endpoints: Vec<(Tenant, EndpointId)>,
    /// Whether no other endpoint has a delivery that is due.
    pub are_all: bool,
}

impl DueEndpoints {
    /// The most deliveries that are looked at.
    pub const MOST: u16 = 1_000;
}

/// The pending deliveries of all tenants. Deliveries made by a commit of this node are handed over when it
/// commits. The queue is for deliveries that no node has in hand: those for which there was no room, those
/// due again, and those that a dead node left behind.
#[async_trait]
pub trait DeliveryQueue: Send + Sync {
    /// The endpoints of those deliveries that are due at `now` and that no node has in hand: of the
    /// [`DueEndpoints::MOST`] that have been due longest. Endpoints whose deliveries are due later cost nothing here,
    /// however many there are.
    async fn due(&self, now: Timestamp) -> Result<DueEndpoints, StoreError>;

    /// The endpoints with deliveries that are due at `now` and that no node has in hand, and the endpoints
    /// that are disabled or removed and still have pending deliveries, due or not. It looks at no more than a
    /// thousand endpoints, beginning after `after` in the order of identifiers.
    async fn waiting(&self, now: Timestamp, after: Option<&EndpointId>) -> Result<Waiting, StoreError>;

    /// Takes in hand deliveries that are due at `now` and that no node has in hand, beginning with those that
    /// have been due longest. Deliveries to a disabled endpoint fail instead; those to a removed one are
    /// deleted. The endpoints are served in this order until [`Wanted::BYTES_AT_ONCE`] are reached; the others
    /// are then to be asked for again. Deliveries of one event share its payload.
    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreError>;

    /// These endpoints as they are now; one that was removed is returned as disabled. An unknown one is left
    /// out.
    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreError>;

    /// Records outcomes and their consequences for endpoints, those of a tenant in one commit. An outcome
    /// counts only while this node has the delivery in hand. If the delivery has failed meanwhile because its
    /// endpoint was disabled, the attempt is stored all the same, and a success makes the delivery a
    /// delivered one. An outcome that is not recorded has no consequence for the endpoint. If an outcome
    /// disables its endpoint, the other deliveries fail soon afterwards.
    async fn record(&self, outcomes: Vec<Outcome>, policy: &RetryPolicy) -> Result<(), StoreError>;

    /// Releases deliveries that this node will not attempt; they may come [emptied](Owed::emptied).
    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreError>;

    /// When, after `now`, the next delivery is due that no node has in hand; `None` if there is none.
    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError>;

    /// Releases deliveries that dead nodes have in hand, and those that this node has in hand because of a
    /// commit whose outcome is not known; answers the number of them.
    async fn free_abandoned(&self) -> Result<u64, StoreError>;

    /// The deliveries that this node has had in hand since before `before`, at most `limit`. The caller knows those that it
    /// really has. Others may come from a failover: what this node recorded last is not known to the new server.
    async fn long_in_hand(&self, before: Timestamp, limit: u32) -> Result<Vec<DeliveryKey>, StoreError>;

    /// Releases deliveries that this node is said to have in hand, and does not have.
    async fn release_lost(&self, deliveries: Vec<DeliveryKey>) -> Result<(), StoreError>;

    /// Disables endpoints that at `now` have been without a success for too long, at most `limit`; answers
    /// them. Their pending deliveries fail soon afterwards. Endpoints that somebody has locked, or for which
    /// there is no time, are left to a later call.
    async fn disable_failing(
        &self,
        now: Timestamp,
        policy: &RetryPolicy,
        limit: u32,
    ) -> Result<Vec<Endpoint>, StoreError>;

    /// Deletes finished deliveries of events that happened more than `keep_for` before `now`, and what is left
    /// of endpoints that were removed more than [`Endpoint::REMAINS_FOR`] before, at most `limit` deliveries;
    /// answers how many it deleted.
    async fn prune(&self, now: Timestamp, keep_for: Duration, limit: u32) -> Result<u64, StoreError>;

    /// The number of pending deliveries, and since when the oldest of them could have been sent.
    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreError>;
}
