//! Closing and opening again, each with or without a word.

use quipu_tickets::{TicketRecord, parse_closing_comment};

use super::ticket_id;
use crate::{
    call::{Call, Outcome},
    caller::Caller,
    envelope,
};

pub(crate) async fn close(call: Call, caller: Caller) -> Outcome {
    let comment = parse_closing_comment(&call.optional_json()?)?;
    let ticket = call.state.services.tickets.close(caller.tenant(), &ticket_id(&call)?, comment).await?;
    envelope::one(TicketRecord::of(&ticket))
}

pub(crate) async fn reopen(call: Call, caller: Caller) -> Outcome {
    let comment = parse_closing_comment(&call.optional_json()?)?;
    let ticket = call.state.services.tickets.reopen(caller.tenant(), &ticket_id(&call)?, comment).await?;
    envelope::one(TicketRecord::of(&ticket))
}
