#![doc = include_str!("../README.md")]

mod attempt;
mod delivery;
mod delivery_key;
mod draft;
mod endpoint;
mod envelope;
mod error;
mod event;
mod failing;
#[cfg(test)]
mod fixtures;
mod manage;
mod name;
mod outcome;
mod ports;
mod sample;
mod schedule;
mod signer;
mod status;
mod target;

pub use attempt::{Attempt, Attempted, Begun, Response, SendProblem};
pub use delivery::{ENDPOINT_DISABLED, Owed};
pub use delivery_key::DeliveryKey;
pub use draft::{EndpointDraft, EndpointPatch};
pub use endpoint::{Enablement, Endpoint, EndpointChange, EndpointId, EndpointView, Source};
pub use envelope::Envelope;
pub use error::EndpointError;
pub use event::{Event, EventStatus, NamedTarget};
pub use manage::{CreateEndpoint, Created};
pub use name::EventName;
pub use outcome::{Outcome, Reception};
pub use ports::{
    Courier, Deliverer, DeliveryLog, DeliveryQueue, DueEndpoints, Endpoints, LogFilter, LoggedEvent,
    RetrySelection, Waiting, Wanted,
};
pub use sample::sample_payload;
pub use schedule::{RetryPolicy, Spread};
pub use signer::{NoSecret, Signer};
pub use status::DeliveryStatus;
pub use target::TargetUrl;
