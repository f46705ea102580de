//! Tickets, for support staff.

use quipu_kernel::{Page, Period, Problems};
use quipu_tickets::{
    Entry, EntryRecord, MoveDraft, QueueFilter, QueueRecord, ReplyDraft, SupportTicket, Ticket, TicketId,
    parse_assignment,
};
use serde::Serialize;
use serde_json::Value;

use super::payments;
use crate::{
    answer::{ApiError, envelope},
    caller::AuthenticatedOperator,
    files,
    request::{Call, Outcome, Query},
};

/// The most characters of a name.
const LONGEST_NAME: usize = 255;
/// How often the end of a conversation is looked for while others write.
const MOST_READS: u32 = 4;

fn assignee(query: &Query, problems: &mut Problems) -> Option<String> {
    let name = query.text("assignee", problems)?;
    if name.chars().count() > LONGEST_NAME {
        problems.add("assignee", format_args!("must be at most {LONGEST_NAME} characters"));
        return None;
    }
    Some(name.to_owned())
}

/// `GET /operator/v1/tickets`: the queue.
pub(crate) async fn queue(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let p = &mut problems;
    let page = query.page(p);
    let filter = QueueFilter {
        merchant: query.merchant(p),
        environment: query.parsed("environment", p),
        statuses: query.parsed_all("status", p),
        categories: query.parsed_all("category", p),
        priority: query.parsed("priority", p),
        assignee: assignee(&query, p),
        payment_id: query.parsed("payment_id", p),
        created: query.created(p),
    };
    problems.into_result()?;
    let (items, total) = call.state.services.support_reads.queue(&filter, page).await?;
    envelope::many_counted(items.iter().map(QueueRecord::of).collect(), total, page)
}

/// `GET /operator/v1/tickets/{id}`: the ticket, the end of its conversation, and its payment with the
/// timeline.
pub(crate) async fn get(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let ticket = call.state.services.tickets.any_ticket(&ticket_id(&call)?).await?;
    let tenant = ticket.terms().tenant;
    let (entries, total) = latest(&call, &ticket).await?;
    let payment = match &ticket.terms().payment_id {
        Some(id) => match call.state.services.payments.payment(tenant, id).await? {
            Some(payment) => Some(payments::whole(&call, &payment).await?),
            None => None,
        },
        None => None,
    };
    envelope::one(Whole {
        ticket: SupportTicket::of(&ticket),
        comments: entries.iter().map(EntryRecord::of).collect(),
        total_comments: total,
        payment,
    })
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    ticket: SupportTicket<'a>,
    comments: Vec<EntryRecord<'a>>,
    total_comments: u64,
    payment: Option<Value>,
}

/// The last page of the conversation, which is all of it unless it is very long, and the number of its entries.
async fn latest(call: &Call, ticket: &Ticket) -> Result<(Vec<Entry>, u64), ApiError> {
    let (tenant, ever) = (ticket.terms().tenant, Period::default());
    let mut page = Page::new(Page::MAX_LIMIT, 0).unwrap_or_default();
    let mut reads = 0;
    loop {
        let read = call.state.services.support_reads.conversation(tenant, ticket.id(), ever, page).await?;
        let behind = read.1.saturating_sub(Page::MAX_LIMIT.into());
        reads += 1;
        // Somebody may write meanwhile, but not each time.
        if behind == page.offset() || reads == MOST_READS {
            return Ok(read);
        }
        page = Page::new(Page::MAX_LIMIT, behind).unwrap_or_default();
    }
}

/// `GET /operator/v1/tickets/{id}/comments`: the whole conversation, page by page.
pub(crate) async fn comments(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, written) = (query.page(&mut problems), query.created(&mut problems));
    problems.into_result()?;
    let ticket = call.state.services.tickets.any_ticket(&ticket_id(&call)?).await?;
    let tenant = ticket.terms().tenant;
    let (entries, total) =
        call.state.services.support_reads.conversation(tenant, ticket.id(), written, page).await?;
    envelope::many_counted(entries.iter().map(EntryRecord::of).collect(), total, page)
}

/// `GET /operator/v1/tickets/{id}/attachments/{attachment_id}`: the URL of a file of the merchant.
pub(crate) async fn attachment(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let ticket = call.state.services.tickets.any_ticket(&ticket_id(&call)?).await?;
    let id = call.segment("attachment_id").parse().map_err(|_| ApiError::attachment_not_found())?;
    let stored = call.state.services.tickets.attachment(ticket.terms().tenant, ticket.id(), &id).await?;
    let stored = stored.ok_or_else(ApiError::attachment_not_found)?;
    envelope::one(files::Links::of(&call, &stored))
}

/// `POST /operator/v1/tickets/{id}/assign`
pub(crate) async fn assign(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let id = existing_ticket(&call).await?;
    let assignee = parse_assignment(&call.json().await?)?;
    let ticket = call.state.services.tickets.assign(&id, assignee, &staff.actor()).await?;
    envelope::one(SupportTicket::of(&ticket))
}

/// `POST /operator/v1/tickets/{id}/status`
pub(crate) async fn set_status(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let id = existing_ticket(&call).await?;
    let draft = MoveDraft::parse(&call.json().await?)?;
    let ticket = call.state.services.tickets.set_status(&id, &draft, &staff.actor()).await?;
    envelope::one(SupportTicket::of(&ticket))
}

/// `POST /operator/v1/tickets/{id}/comments`
pub(crate) async fn say(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let id = existing_ticket(&call).await?;
    let draft = ReplyDraft::parse(&call.json().await?)?;
    let entry = call.state.services.tickets.say(&id, draft, &staff.actor()).await?;
    envelope::one(EntryRecord::of(&entry))
}

/// The ticket that the path names, which must exist before a body about it is read.
async fn existing_ticket(call: &Call) -> Result<TicketId, ApiError> {
    let id = ticket_id(call)?;
    call.state.services.tickets.any_ticket(&id).await?;
    Ok(id)
}

/// The ticket that the path names; a malformed identifier counts as one that does not exist.
fn ticket_id(call: &Call) -> Result<TicketId, ApiError> {
    call.segment("id").parse().map_err(|_| ApiError::ticket_not_found())
}
