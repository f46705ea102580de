//! Which delivery is meant.

use quipu_kernel::{EventId, Tenant};

use crate::endpoint::EndpointId;

/// Which delivery it is: of one event to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeliveryKey {
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// The endpoint that it goes to.
    pub endpoint: EndpointId,
    /// The event.
    pub event: EventId,
}
