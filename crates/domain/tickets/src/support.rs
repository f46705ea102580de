//! What support does with tickets. Each change writes a line to the audit log.

use quipu_merchants::{Actor, AuditRecord};
use serde_json::{Value, json};

use crate::{
    changes::{self, NoteOn},
    decide::{Desk, TicketChange},
    error::TicketError,
    ids::TicketId,
    office::TicketOffice,
    support_draft::{MoveDraft, ReplyDraft},
    support_view::Entry,
    ticket::Ticket,
};

impl TicketOffice {
    /// The ticket with this identifier, of any tenant.
    pub async fn any_ticket(&self, id: &TicketId) -> Result<Ticket, TicketError> {
        self.ports.support.any_ticket(id).await?.ok_or(TicketError::NotFound)
    }

    /// Assigns a ticket to a member of support, or to nobody.
    pub async fn assign(
        &self,
        id: &TicketId,
        assignee: Option<String>,
        actor: &Actor,
    ) -> Result<Ticket, TicketError> {
        let tenant = self.any_ticket(id).await?.terms().tenant;
        let decide = |desk: Desk<'_>, ticket: &Ticket| Ok(desk.assign(ticket, assignee.clone()));
        let shown = |ticket: &Ticket| json!({ "assignee": ticket.state().assignee });
        let audit =
            |desk: Desk<'_>, change: &TicketChange| Some(line(desk, change, actor, "ticket.assign", shown));
        self.change(tenant, id, decide, audit).await.map(|change| change.ticket)
    }

    /// Sets the status of a ticket, with a summary if there is one.
    pub async fn set_status(
        &self,
        id: &TicketId,
        draft: &MoveDraft,
        actor: &Actor,
    ) -> Result<Ticket, TicketError> {
        let tenant = self.any_ticket(id).await?.terms().tenant;
        let decide = |desk: Desk<'_>, ticket: &Ticket| desk.set_status(ticket, draft.clone());
        let shown = |ticket: &Ticket| {
            let state = ticket.state();
            json!({ "status": state.status, "resolution_summary": state.resolution_summary })
        };
        let audit =
            |desk: Desk<'_>, change: &TicketChange| Some(line(desk, change, actor, "ticket.move", shown));
        self.change(tenant, id, decide, audit).await.map(|change| change.ticket)
    }

    /// Adds a public comment or a note. The audit log records that, but not the text.
    pub async fn say(&self, id: &TicketId, draft: ReplyDraft, actor: &Actor) -> Result<Entry, TicketError> {
        let ticket = self.any_ticket(id).await?;
        if draft.internal {
            return self.note(&ticket, draft.body, actor).await;
        }
        let decide = |desk: Desk<'_>, ticket: &Ticket| desk.reply(ticket, actor.clone(), draft.body.clone());
        let audit = |desk: Desk<'_>, change: &TicketChange| {
            let id = change.comment.as_ref().map(|comment| comment.id);
            let line = line(desk, change, actor, "ticket.comment", |_| Value::Null);
            Some(line.changing(Value::Null, json!({ "comment_id": id, "internal": false })))
        };
        let change = self.change(ticket.terms().tenant, id, decide, audit).await?;
        change.comment.map(Entry::Comment).ok_or(TicketError::Overtaken)
    }

    async fn note(&self, ticket: &Ticket, body: String, actor: &Actor) -> Result<Entry, TicketError> {
        let desk = self.desk();
        let (tenant, note) = (ticket.terms().tenant, desk.note(ticket, actor.clone(), body));
        let row = NoteOn { ticket: ticket.id().clone(), note: note.clone() };
        let mut changes = changes::of_row(tenant, desk.at, row);
        let shown = json!({ "comment_id": note.id, "internal": true });
        changes.add(about(desk, ticket, actor, "ticket.comment").changing(Value::Null, shown));
        self.ports.commit.commit(changes).await?;
        Ok(Entry::Note(note))
    }
}

fn about(desk: Desk<'_>, ticket: &Ticket, actor: &Actor, action: &str) -> AuditRecord {
    let merchant = ticket.terms().tenant.merchant();
    let line = AuditRecord::new(desk.entropy, desk.at, actor.clone(), action, Some(merchant));
    line.about(format!("ticket/{}", ticket.id()))
}

fn line(
    desk: Desk<'_>,
    change: &TicketChange,
    actor: &Actor,
    action: &str,
    shown: impl Fn(&Ticket) -> Value,
) -> AuditRecord {
    let before = change.before.as_ref().map_or(Value::Null, &shown);
    about(desk, &change.ticket, actor, action).changing(before, shown(&change.ticket))
}
