//! Closing and reopening, each with an optional comment.

use quipu_tickets::{TicketRecord, parse_closing_comment};

use super::existing_ticket;
use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn close(call: Call, caller: Caller) -> Outcome {
    let id = existing_ticket(&call, &caller).await?;
    let comment = parse_closing_comment(&call.optional_json().await?)?;
    let ticket = call.state.services.tickets.close(caller.tenant(), &id, comment).await?;
    envelope::one(TicketRecord::of(&ticket))
}

pub(crate) async fn reopen(call: Call, caller: Caller) -> Outcome {
    let id = existing_ticket(&call, &caller).await?;
    let comment = parse_closing_comment(&call.optional_json().await?)?;
    let ticket = call.state.services.tickets.reopen(caller.tenant(), &id, comment).await?;
    envelope::one(TicketRecord::of(&ticket))
}
