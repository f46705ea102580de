//! An event while it is processed, and its effect.

use crate::{
    consequence::Consequence,
    history::receipt::ParkReason,
    payment::{Due, Payment, status::Trigger},
    rail::event::{RailEvent, RailEventKind},
};

/// How an event came to the gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The rail sent it by itself, and may send it again.
    Callback,
    /// An entry of a bank's statement: each is a separate amount of money.
    Statement,
    /// A worker asked the rail for the events that it would otherwise send.
    Poll,
    /// The rail's answer to a call or a question about the payment.
    Answer,
    /// A payer's choice on the page that plays a scheme. It counts only while the payment waits for it.
    Choice,
}

impl Source {
    /// Whether it came from outside, and not because the gateway asked for it.
    pub(super) const fn is_from_outside(self) -> bool {
        matches!(self, Self::Callback | Self::Statement)
    }

    /// Whether an event that the ledger cannot post is parked for a person, since it may never come again. Others
    /// are refused: the gateway asks again, or the payer chooses again.
    pub(super) const fn is_parked_if_unbookable(self) -> bool {
        self.is_from_outside()
    }
}

/// An event while it is processed.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub(super) rail: &'a str,
    pub(super) event: &'a RailEvent,
    pub(super) source: Source,
    /// The next thing to do with the payment.
    pub(super) due: Option<Due>,
    /// Whether the ledger has refused to post it.
    pub(super) is_unbookable: bool,
}

impl<'a> Incoming<'a> {
    /// An event that leaves nothing to do.
    pub(super) fn new(rail: &'a str, event: &'a RailEvent, source: Source) -> Self {
        Self { rail, event, source, due: None, is_unbookable: false }
    }

    /// Whether a callback names another payment of the provider's than the one that is known.
    fn names_another(&self, payment: &Payment) -> bool {
        let (known, named) = (&payment.state().provider_reference, &self.event.provider_reference);
        self.source == Source::Callback && known.is_some() && named.is_some() && known != named
    }

    /// Whether a callback that moves the payment tells of another order of the provider's, beside the payment's own:
    /// its failure or return frees no money, since the payment's own may still be paid. A completion counts, whichever
    /// order it is of.
    fn ends_another(&self, payment: &Payment) -> bool {
        self.event.kind != RailEventKind::Completed && self.names_another(payment)
    }

    /// Whether a callback that fits a settled payment may tell of money beside the payment's own: a person has
    /// accepted another amount, and as much once more may be the rest; or the provider names another payment of its own.
    fn is_other_money(&self, payment: &Payment) -> bool {
        match self.event.kind {
            RailEventKind::Failed => false,
            RailEventKind::Returned => self.names_another(payment),
            RailEventKind::Completed => {
                let is_callback = self.source == Source::Callback;
                self.names_another(payment) || (is_callback && payment.state().received_amount.is_some())
            }
        }
    }
}

/// The payment that an event names, and related facts.
pub(super) struct Found {
    pub(super) payment: Option<Payment>,
    /// Whether the rail has reported this kind of event for the payment before. Read for entries of a statement
    /// only.
    pub(super) was_reported: bool,
    /// Whether the payer chose on the page that plays a scheme, which no answer of the simulator contradicts.
    pub(super) is_chosen: bool,
}

/// The consequence of an event, with the payment that the event names.
pub(super) enum Effect {
    /// The payment makes these moves.
    Move(Payment, &'static [Trigger]),
    /// The payment stays as it is.
    Known(Payment),
    /// Without a payment if the event names none.
    Park(Option<Payment>, ParkReason),
}

impl Effect {
    pub(super) fn of(incoming: Incoming<'_>, found: Found) -> Self {
        let Found { payment, was_reported, is_chosen } = found;
        let Some(payment) = payment else { return Self::Park(None, ParkReason::UnknownPayment) };
        if incoming.is_unbookable {
            return Self::Park(Some(payment), ParkReason::Unbookable);
        }
        match Consequence::of(&payment, incoming.event) {
            Consequence::Move(_) if incoming.ends_another(&payment) => {
                Self::Park(Some(payment), ParkReason::Contradiction)
            }
            Consequence::Move(triggers) => Self::Move(payment, triggers),
            Consequence::Known if was_reported || incoming.is_other_money(&payment) => {
                Self::Park(Some(payment), ParkReason::Contradiction)
            }
            Consequence::Known => Self::Known(payment),
            Consequence::Park(_) if is_chosen => Self::Known(payment),
            Consequence::Park(reason) => Self::Park(Some(payment), reason),
        }
    }

    pub(super) const fn payment(&self) -> Option<&Payment> {
        match self {
            Self::Move(payment, _) | Self::Known(payment) => Some(payment),
            Self::Park(payment, _) => payment.as_ref(),
        }
    }
}
