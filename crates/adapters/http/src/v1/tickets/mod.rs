//! Tickets, for merchants.

pub(crate) mod attachments;
pub(crate) mod comments;
pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod moves;
pub(crate) mod upload_url;

use quipu_tickets::TicketId;

use crate::{answer::ApiError, caller::Caller, request::Call};

/// The ticket that the path names; a malformed identifier counts as one that does not exist.
fn ticket_id(call: &Call) -> Result<TicketId, ApiError> {
    call.segment("id").parse().map_err(|_| ApiError::ticket_not_found())
}

/// The ticket that the path names, which must be the caller's before a body about it is read.
async fn existing_ticket(call: &Call, caller: &Caller) -> Result<TicketId, ApiError> {
    let id = ticket_id(call)?;
    let found = call.state.services.ticket_reads.ticket(caller.tenant(), &id).await?;
    found.map(|_| id).ok_or_else(ApiError::ticket_not_found)
}
