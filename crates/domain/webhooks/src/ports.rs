//! What this crate needs of a store.

use async_trait::async_trait;
use quipu_kernel::{EventId, Page, Tenant, Timestamp};
use quipu_merchants::{AuditRecord, Period, StoreUnavailable};
use serde::Serialize;

use crate::{
    attempt::{Attempt, Attempted},
    delivery::{DeliveryStatus, Outcome, Owed},
    endpoint::{Endpoint, EndpointChange, EndpointId, Source},
    error::EndpointError,
    name::EventName,
    schedule::RetryPolicy,
};

/// The endpoints of merchants. A change is seen by every read of this node that begins after it was acknowledged.
#[async_trait]
pub trait Endpoints: Send + Sync {
    /// Adds an endpoint, with the line of the audit log if the operator made it. Refused with `LimitReached` beyond
    /// [`Endpoint::MOST`], however many are added at once.
    async fn add(&self, endpoint: Endpoint, audit: Option<AuditRecord>) -> Result<(), EndpointError>;

    /// One endpoint of the tenant.
    async fn endpoint(&self, tenant: Tenant, id: &EndpointId) -> Result<Option<Endpoint>, StoreUnavailable>;

    /// A page of the tenant's endpoints of a source, newest first, and how many there are.
    async fn endpoints(
        &self,
        tenant: Tenant,
        source: Source,
        page: Page,
    ) -> Result<(Vec<Endpoint>, u64), StoreUnavailable>;

    /// Applies a change, one after the other where several come at once, and answers the endpoint as it is then. What was
    /// owed to an endpoint that is disabled by it has failed afterwards, or fails soon where it is much. Refused with `NotFound`, and with `AddressFixed`.
    async fn change(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError>;

    /// Removes an endpoint; its deliveries are gone with it. Refused with `NotFound`.
    async fn remove(&self, tenant: Tenant, id: &EndpointId) -> Result<(), EndpointError>;
}

/// An event in the log of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedEvent {
    /// Its identifier.
    pub id: EventId,
    /// What it tells of.
    #[serde(rename = "type")]
    pub name: EventName,
    /// When it happened.
    pub created_at: Timestamp,
    /// How its delivery stands.
    pub status: DeliveryStatus,
    /// Why it failed without another attempt.
    pub error: Option<String>,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// What was tried, the oldest first.
    pub attempts: Vec<Attempt>,
}

/// Which events of an endpoint are listed; what is absent narrows nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Those whose delivery stands so.
    pub status: Option<DeliveryStatus>,
    /// Those that happened in a period.
    pub created: Period,
}

/// Which failed events are to be tried again; what is absent narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrySelection {
    /// These.
    pub events: Option<Vec<EventId>>,
    /// Those that happened in a period.
    pub created: Period,
}

/// The log of what an endpoint was told.
#[async_trait]
pub trait DeliveryLog: Send + Sync {
    /// A page of an endpoint's events, newest first, and the exact number of all that match.
    async fn logged(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        filter: LogFilter,
        page: Page,
    ) -> Result<(Vec<LoggedEvent>, u64), StoreUnavailable>;

    /// Begins a new round for failed events at `at`; answers for how many it did. An event that is not failed, or not this
    /// endpoint's, is passed over. Where something goes wrong after some have begun, the others stay failed.
    async fn retry(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        selection: RetrySelection,
        at: Timestamp,
    ) -> Result<u64, StoreUnavailable>;
}

/// Who takes over what a commit of this node owes.
pub trait Handover: Send + Sync {
    /// Takes over deliveries that are already in the hands of this node. It must be quick, and is called on a runtime.
    fn hand_over(&self, deliveries: Vec<Owed>);

    /// Learns that an endpoint was changed, so that what waits in memory follows.
    fn endpoint_changed(&self, endpoint: &Endpoint);

    /// Learns that another node has changed these endpoints, or may have changed any of them (`None`). Nothing more goes to
    /// them until they were read again.
    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>);

    /// Something may have become due that nobody has in hand, or that a node had which is known no more.
    fn look(&self);
}

/// Sends.
#[async_trait]
pub trait Courier: Send + Sync {
    /// Makes one attempt to send an event to an endpoint, signed; it ends within 16 seconds, however the receiver behaves.
    async fn attempt(&self, endpoint: &Endpoint, event: &EventId, payload: &str) -> Attempted;
}

/// An endpoint with deliveries that nobody has in hand, and how many of them are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose.
    pub tenant: Tenant,
    /// Which.
    pub endpoint: EndpointId,
    /// At most so many.
    pub most: u32,
}

/// Deliveries that are owed, over all tenants. Those of a commit of this node are handed over as they are committed; the
/// queue is for what nobody has in hand: what found no room then, what is due again, what a dead node left behind.
#[async_trait]
pub trait DeliveryQueue: Send + Sync {
    /// The endpoints to which something is due at `now` that nobody has in hand, and those that are disabled or gone and are still
    /// owed something, due or not; a thousand at most, beginning after `after` in the order of identifiers.
    async fn waiting(
        &self,
        now: Timestamp,
        after: Option<&EndpointId>,
    ) -> Result<Vec<(Tenant, EndpointId)>, StoreUnavailable>;

    /// Takes deliveries that are due at `now` and that nobody has in hand into the hands of this node, the longest due first.
    /// What is owed to an endpoint that is disabled fails instead; what is owed to one that is gone is dropped.
    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreUnavailable>;

    /// Some endpoints as they stand now; one that was removed is disabled. One that is not known any more is not among them.
    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreUnavailable>;

    /// Records outcomes, those of a tenant in one commit, and what they mean for their endpoints. An outcome counts only while this
    /// node has the delivery in hand. If it had, and the delivery has failed meanwhile because its endpoint was disabled, the
    /// attempt is kept, and a success makes the delivery a delivered one. What was not recorded tells nothing of an endpoint.
    /// Answers the endpoints that changed.
    async fn record(
        &self,
        outcomes: Vec<Outcome>,
        policy: &RetryPolicy,
    ) -> Result<Vec<Endpoint>, StoreUnavailable>;

    /// Gives deliveries back that this node will not attempt.
    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreUnavailable>;

    /// When, after `now`, the next delivery is due that nobody has in hand; `None` if nothing waits.
    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreUnavailable>;

    /// Frees what is in the hands of nodes that have died, and what a commit that nobody could learn about left in the hands
    /// of this one; answers how many deliveries there were.
    async fn free_abandoned(&self) -> Result<u64, StoreUnavailable>;

    /// Disables endpoints that at `now` have been without a success for too long, at most `limit`; answers them.
    async fn disable_failing(
        &self,
        now: Timestamp,
        policy: &RetryPolicy,
        limit: u32,
    ) -> Result<Vec<Endpoint>, StoreUnavailable>;

    /// Drops finished deliveries of events that happened before `before`, and what is left of removed endpoints, at most
    /// `limit` deliveries; answers how many went.
    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, StoreUnavailable>;

    /// How many deliveries are owed, and since when the oldest of them could have been sent.
    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreUnavailable>;
}
