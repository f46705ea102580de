//! The names of events.

use quipu_kernel::wire_names;

wire_names! {
    /// The name of an event (docs/WEBHOOKS.md).
    ///
    /// A name that begins with `payment.` is that of a step of a payment, its creation included, and every step has exactly
    /// one event of such a name: the timeline shows these events as the history of the payment, and `quipu check` and the
    /// simulation count them. An event whose name begins with `payout.` tells of such a step once more. An event about a
    /// payment that is not a step has a name with another beginning.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum EventName {
        /// A payment is initialized.
        PaymentCreated = "payment.created",
        /// A payment is being processed.
        PaymentProcessing = "payment.processing",
        /// A payment succeeded.
        PaymentCompleted = "payment.completed",
        /// A payment failed or expired.
        PaymentFailed = "payment.failed",
        /// A payment was cancelled.
        PaymentCancelled = "payment.cancelled",
        /// A payment was refunded, or a payout came back.
        PaymentRefunded = "payment.refunded",
        /// A payout was created.
        PayoutCreated = "payout.created",
        /// A payout succeeded.
        PayoutCompleted = "payout.completed",
        /// A payout failed, was cancelled, expired or came back.
        PayoutFailed = "payout.failed",
        /// A ticket was created.
        TicketCreated = "ticket.created",
        /// A ticket's status changed.
        TicketUpdated = "ticket.updated",
        /// Support replied in public.
        TicketCommentAdded = "ticket.comment_added",
        /// Support resolved a ticket.
        TicketResolved = "ticket.resolved",
        /// A ticket was closed.
        TicketClosed = "ticket.closed",
    }
}

impl EventName {
    /// The subscription of a new endpoint that names no events.
    pub const DEFAULTS: [Self; 4] =
        [Self::PaymentCreated, Self::PaymentCompleted, Self::PaymentFailed, Self::PaymentRefunded];
}
