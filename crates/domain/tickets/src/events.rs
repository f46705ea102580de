//! The events of a ticket as bytes, in the form in which merchants receive them.

use quipu_kernel::{Entropy, EventId};
use quipu_webhooks::{Envelope, Event, EventName};
use serde::Serialize;

use crate::{
    comment::Comment,
    status::Status,
    ticket::Ticket,
    view::{CommentRecord, TicketRecord},
};

#[derive(Serialize)]
struct Data<'a> {
    ticket: TicketRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<CommentRecord<'a>>,
}

/// The event of a move to `status`: resolving and closing have events of their own, any other move is an
/// update.
pub(crate) const fn of_move_to(status: Status) -> EventName {
    match status {
        Status::Resolved => EventName::TicketResolved,
        Status::Closed => EventName::TicketClosed,
        Status::Open | Status::InProgress | Status::WaitingCustomer | Status::OnHold | Status::Canceled => {
            EventName::TicketUpdated
        }
    }
}

/// The event `name` of a ticket as it is now, with the comment that it tells of.
pub(crate) fn event(
    ticket: &Ticket,
    name: EventName,
    comment: Option<&Comment>,
    entropy: &dyn Entropy,
) -> Event {
    let (tenant, at) = (ticket.terms().tenant, ticket.state().last_activity_at);
    let id = EventId::new(at, entropy);
    let data = Data { ticket: TicketRecord::of(ticket), comment: comment.map(CommentRecord::of) };
    let payload = Envelope::new(&id, name, at, tenant, data).payload();
    Event { id, name, at, payment_id: None, status: None, named: None, payload }
}
