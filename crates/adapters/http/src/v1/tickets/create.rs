//! Opening a ticket.

use quipu_tickets::{TicketDraft, TicketRecord};

use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let draft = TicketDraft::parse(&call.json().await?)?;
    let ticket = call.state.services.tickets.open(caller.tenant(), draft).await?;
    envelope::created(TicketRecord::of(&ticket))
}
