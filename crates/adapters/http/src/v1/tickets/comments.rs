//! What is said on a ticket, as far as its merchant may see it.

use quipu_kernel::Problems;
use quipu_tickets::{CommentDraft, CommentRecord};

use super::ticket_id;
use crate::{
    call::{Call, Outcome},
    caller::Caller,
    envelope,
    error::ApiError,
};

pub(crate) async fn add(call: Call, caller: Caller) -> Outcome {
    let draft = CommentDraft::parse(&call.json()?)?;
    let comment = call.state.services.tickets.comment(caller.tenant(), &ticket_id(&call)?, &draft).await?;
    envelope::created(CommentRecord::of(&comment))
}

pub(crate) async fn list(call: Call, caller: Caller) -> Outcome {
    let mut problems = Problems::new();
    let page = call.query()?.page(&mut problems);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let (tenant, id) = (caller.tenant(), ticket_id(&call)?);
    let reads = &call.state.services.ticket_reads;
    if reads.ticket(tenant, &id).await?.is_none() {
        return Err(ApiError::ticket_not_found());
    }
    let (comments, total) = reads.comments(tenant, &id, page).await?;
    envelope::many_counted(comments.iter().map(CommentRecord::of).collect(), total, page)
}
