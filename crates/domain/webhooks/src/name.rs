//! The names of events.

use std::str::FromStr;

use quipu_kernel::Unrecognised;

/// What an event tells of (docs/WEBHOOKS.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventName {
    /// A payment is initialized.
    PaymentCreated,
    /// A payment is being processed.
    PaymentProcessing,
    /// A payment succeeded.
    PaymentCompleted,
    /// A payment failed or expired.
    PaymentFailed,
    /// A payment was cancelled.
    PaymentCancelled,
    /// A payment was refunded, or a payout came back.
    PaymentRefunded,
    /// A payout was created.
    PayoutCreated,
    /// A payout succeeded.
    PayoutCompleted,
    /// A payout failed, was cancelled, expired or came back.
    PayoutFailed,
    /// A ticket was created.
    TicketCreated,
    /// A ticket's status changed.
    TicketUpdated,
    /// Support replied in public.
    TicketCommentAdded,
    /// Support resolved a ticket.
    TicketResolved,
    /// A ticket was closed.
    TicketClosed,
}

impl EventName {
    /// Every event.
    pub const ALL: [Self; 14] = [
        Self::PaymentCreated,
        Self::PaymentProcessing,
        Self::PaymentCompleted,
        Self::PaymentFailed,
        Self::PaymentCancelled,
        Self::PaymentRefunded,
        Self::PayoutCreated,
        Self::PayoutCompleted,
        Self::PayoutFailed,
        Self::TicketCreated,
        Self::TicketUpdated,
        Self::TicketCommentAdded,
        Self::TicketResolved,
        Self::TicketClosed,
    ];

    /// What a new endpoint is subscribed to.
    pub const DEFAULTS: [Self; 4] =
        [Self::PaymentCreated, Self::PaymentCompleted, Self::PaymentFailed, Self::PaymentRefunded];

    /// The name in the interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PaymentCreated => "payment.created",
            Self::PaymentProcessing => "payment.processing",
            Self::PaymentCompleted => "payment.completed",
            Self::PaymentFailed => "payment.failed",
            Self::PaymentCancelled => "payment.cancelled",
            Self::PaymentRefunded => "payment.refunded",
            Self::PayoutCreated => "payout.created",
            Self::PayoutCompleted => "payout.completed",
            Self::PayoutFailed => "payout.failed",
            Self::TicketCreated => "ticket.created",
            Self::TicketUpdated => "ticket.updated",
            Self::TicketCommentAdded => "ticket.comment_added",
            Self::TicketResolved => "ticket.resolved",
            Self::TicketClosed => "ticket.closed",
        }
    }
}

impl FromStr for EventName {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.ok_or(Unrecognised { expected: "a known event name" })
    }
}

impl serde::Serialize for EventName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
