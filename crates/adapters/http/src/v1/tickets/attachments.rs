//! The URLs of the files of comments.

use quipu_tickets::{CommentId, StoredAttachment};

use super::{existing_ticket, ticket_id};
use crate::{
    answer::{ApiError, ErrorCode, envelope},
    caller::Caller,
    files,
    request::{Call, Outcome},
};

/// `GET …/tickets/{id}/attachments/{attachment_id}`
pub(crate) async fn of_ticket(call: Call, caller: Caller) -> Outcome {
    let stored = find(&call, &caller).await?;
    envelope::one(files::Links::of(&call, &stored))
}

/// `GET …/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}`
pub(crate) async fn of_comment(call: Call, caller: Caller) -> Outcome {
    let ticket = existing_ticket(&call, &caller).await?;
    let reads = &call.state.services.ticket_reads;
    let comment: Option<CommentId> = call.segment("comment_id").parse().ok();
    let exists = match comment {
        Some(comment) => reads.has_comment(caller.tenant(), &ticket, comment).await?,
        None => false,
    };
    if !exists {
        return Err(ApiError::refused(ErrorCode::CommentNotFound, "there is no such comment"));
    }
    let stored = find(&call, &caller).await?;
    if Some(stored.comment) != comment {
        return Err(ApiError::attachment_not_found());
    }
    envelope::one(files::Links::of(&call, &stored))
}

async fn find(call: &Call, caller: &Caller) -> Result<StoredAttachment, ApiError> {
    let ticket = ticket_id(call)?;
    let id = call.segment("attachment_id").parse().ok();
    let stored = match id {
        Some(id) => call.state.services.tickets.attachment(caller.tenant(), &ticket, &id).await?,
        None => None,
    };
    if let Some(stored) = stored {
        return Ok(stored);
    }
    existing_ticket(call, caller).await?;
    Err(ApiError::attachment_not_found())
}
