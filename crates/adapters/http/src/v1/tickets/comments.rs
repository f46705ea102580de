//! The comments on a ticket that its merchant may see.

use quipu_kernel::Problems;
use quipu_tickets::{CommentDraft, CommentRecord};

use super::existing_ticket;
use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn add(call: Call, caller: Caller) -> Outcome {
    let id = existing_ticket(&call, &caller).await?;
    let draft = CommentDraft::parse(&call.json().await?)?;
    let comment = call.state.services.tickets.comment(caller.tenant(), &id, &draft).await?;
    envelope::created(CommentRecord::of(&comment))
}

pub(crate) async fn list(call: Call, caller: Caller) -> Outcome {
    let mut problems = Problems::new();
    let page = call.query()?.page(&mut problems);
    problems.into_result()?;
    let id = existing_ticket(&call, &caller).await?;
    let (comments, total) = call.state.services.ticket_reads.comments(caller.tenant(), &id, page).await?;
    envelope::many_counted(comments.iter().map(CommentRecord::of).collect(), total, page)
}
