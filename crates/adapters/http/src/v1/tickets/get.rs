//! Reading one ticket.

use quipu_tickets::TicketRecord;

use super::ticket_id;
use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let ticket = call.state.services.ticket_reads.ticket(caller.tenant(), &ticket_id(&call)?).await?;
    envelope::one(TicketRecord::of(&ticket.ok_or_else(ApiError::ticket_not_found)?))
}
