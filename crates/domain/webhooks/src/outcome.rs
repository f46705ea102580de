//! The outcome of an attempt to deliver an event.

use quipu_kernel::{EventId, Tenant, Timestamp};

use crate::{
    attempt::Attempt, delivery_key::DeliveryKey, endpoint::EndpointId, status::DeliveryStatus,
    target::TargetUrl,
};

/// An attempt and its consequences for the delivery, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The tenant that owns the delivery.
    pub tenant: Tenant,
    /// The endpoint of the delivery.
    pub endpoint: EndpointId,
    /// The URL that the attempt went to.
    pub address: TargetUrl,
    /// The event of the delivery.
    pub event_id: EventId,
    /// When the attempt was due. A retry that is asked for is due at another time, which tells an outcome of
    /// the round before from one of its own round.
    pub due_at: Timestamp,
    /// All stored attempts, this one last.
    pub attempts: Vec<Attempt>,
    /// The number of attempts in this round.
    pub step: u32,
    /// How the receiver took it.
    pub reception: Reception,
    /// When the attempt ended (UTC).
    pub ended_at: Timestamp,
}

/// How a receiver took an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// It has accepted the delivery.
    Accepted,
    /// It has not.
    Failed {
        /// When the attempt began (UTC).
        began_at: Timestamp,
        /// Whether the receiver wants no more deliveries. The delivery stays pending until its endpoint is
        /// disabled; if the endpoint has another URL by now, the delivery is attempted there.
        gone: bool,
        /// Whether another attempt to the endpoint has succeeded since this one began.
        overtaken: bool,
        /// The time of the next attempt (UTC); `None` if the retry schedule is used up.
        next_at: Option<Timestamp>,
    },
}

impl Reception {
    /// The time of the next attempt, if there is one.
    pub const fn next_at(&self) -> Option<Timestamp> {
        match self {
            Self::Accepted => None,
            Self::Failed { next_at, .. } => *next_at,
        }
    }
}

impl Outcome {
    /// Which delivery it is the outcome of.
    pub fn key(&self) -> DeliveryKey {
        DeliveryKey { tenant: self.tenant, endpoint: self.endpoint.clone(), event: self.event_id.clone() }
    }

    /// The bytes of memory that its attempts take, about.
    pub fn bytes(&self) -> usize {
        self.attempts.iter().map(Attempt::bytes).sum()
    }

    /// The status of the delivery after the attempt.
    pub const fn status(&self) -> DeliveryStatus {
        match self.reception {
            Reception::Accepted => DeliveryStatus::Delivered,
            Reception::Failed { next_at: Some(_), .. } => DeliveryStatus::Pending,
            Reception::Failed { next_at: None, .. } => DeliveryStatus::Failed,
        }
    }
}
