//! The decisions of merchants and support: each function here makes one decision, without any input or
//! output.

use quipu_kernel::{Entropy, IdSource, Tenant, Timestamp};
use quipu_merchants::Actor;
use quipu_webhooks::{Event, EventName};

use crate::{
    attachment::{Arrival, Attachment, StoredAttachment, Upload},
    comment::{Author, Comment, Note},
    draft::{CommentDraft, TicketDraft, UploadDraft},
    events,
    ids::{AttachmentId, CommentId, TicketId},
    status::Step,
    support_draft::MoveDraft,
    ticket::{NoSuchStep, Ticket},
};

/// The changes of one decision about a ticket, which happen together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketChange {
    /// The ticket before the decision; `None` for a new one.
    pub before: Option<Ticket>,
    /// The ticket afterwards.
    pub ticket: Ticket,
    /// The comment that was made.
    pub comment: Option<Comment>,
    /// The files of the comment.
    pub attached: Vec<StoredAttachment>,
    /// The uploads of these files, now used up.
    pub uploads: Vec<Upload>,
    /// The events for the merchant.
    pub events: Vec<Event>,
}

/// An upload whose file was found complete, and the name that a comment gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompleteUpload {
    /// The upload that is used.
    pub upload: Upload,
    /// Its complete file.
    pub arrival: Arrival,
    /// The name of the attachment.
    pub filename: String,
}

/// The circumstances of a decision: the time, and the source of identifiers and numbers for new things.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// The current time (UTC).
    pub at: Timestamp,
    /// Randomness for identifiers.
    pub entropy: &'a dyn Entropy,
    /// Numbers for comments and notes.
    pub comment_ids: &'a IdSource,
}

impl Desk<'_> {
    /// Opens a ticket.
    pub fn open(&self, tenant: Tenant, draft: TicketDraft) -> TicketChange {
        let ticket = Ticket::open(tenant, TicketId::new(self.at, self.entropy), draft, self.at);
        let event = events::event(&ticket, EventName::TicketCreated, None, self.entropy);
        TicketChange { events: vec![event], ..TicketChange::of(None, ticket) }
    }

    /// The merchant comments, with the files of these uploads. If support waited for the merchant, the ticket
    /// is in progress again.
    pub fn comment(
        &self,
        ticket: &Ticket,
        draft: &CommentDraft,
        uploads: Vec<CompleteUpload>,
    ) -> Result<TicketChange, NoSuchStep> {
        let mut comment = self.said(ticket, Author::Merchant, draft.body.clone());
        let tenant = ticket.terms().tenant;
        let attached = (0..).zip(&uploads);
        let attached = attached.map(|(place, it)| it.attached(tenant, ticket.id(), comment.id, place));
        let attached: Vec<_> = attached.collect();
        comment.attachments = attached.iter().map(|stored| stored.shown.clone()).collect();
        let mut change = self.step(ticket, Step::Comment, Some(comment), None)?;
        change.attached = attached;
        change.uploads = uploads.into_iter().map(|it| it.upload.used_up(Some(it.arrival))).collect();
        Ok(change)
    }

    /// The merchant closes the ticket, and may say why.
    pub fn close(&self, ticket: &Ticket, comment: Option<String>) -> Result<TicketChange, NoSuchStep> {
        let comment = comment.map(|body| self.said(ticket, Author::Merchant, body));
        self.step(ticket, Step::Close, comment, None)
    }

    /// The merchant reopens the ticket, and may say why.
    pub fn reopen(&self, ticket: &Ticket, comment: Option<String>) -> Result<TicketChange, NoSuchStep> {
        let comment = comment.map(|body| self.said(ticket, Author::Merchant, body));
        self.step(ticket, Step::Reopen, comment, None)
    }

    /// Support comments in public. No other comment has an event.
    pub fn reply(&self, ticket: &Ticket, actor: Actor, body: String) -> Result<TicketChange, NoSuchStep> {
        let comment = self.said(ticket, Author::Support(actor), body);
        let mut change = self.step(ticket, Step::Reply, Some(comment), None)?;
        let comment = change.comment.as_ref();
        change.events =
            vec![events::event(&change.ticket, EventName::TicketCommentAdded, comment, self.entropy)];
        Ok(change)
    }

    /// Support sets the status of a ticket, and may add a summary.
    pub fn set_status(&self, ticket: &Ticket, draft: MoveDraft) -> Result<TicketChange, NoSuchStep> {
        self.step(ticket, Step::Support(draft.status), None, draft.resolution_summary)
    }

    /// Closes a resolved ticket that had no activity for long enough.
    pub fn close_by_itself(&self, ticket: &Ticket) -> Result<TicketChange, NoSuchStep> {
        self.step(ticket, Step::CloseByItself, None, None)
    }

    /// Support assigns a ticket to a member of staff, or unassigns it. Merchants get no event.
    pub fn assign(&self, ticket: &Ticket, assignee: Option<String>) -> TicketChange {
        TicketChange::of(Some(ticket), ticket.assigned_to(assignee))
    }

    /// Support writes a note. The ticket does not change.
    pub fn note(&self, ticket: &Ticket, actor: Actor, body: String) -> Note {
        let at = ticket.next_at(self.at);
        Note { id: self.comment_id(at), author: actor, body, created_at: at }
    }

    /// A merchant announces a file.
    pub fn announce(&self, ticket: &Ticket, draft: UploadDraft, expires_in: std::time::Duration) -> Upload {
        Upload {
            tenant: ticket.terms().tenant,
            ticket: ticket.id().clone(),
            id: AttachmentId::new(self.at, self.entropy),
            filename: draft.filename,
            content_type: draft.content_type,
            issued_at: self.at,
            expires_at: self.at.plus(expires_in),
            arrival: None,
            spent: false,
            revision: 1,
        }
    }

    fn step(
        &self,
        ticket: &Ticket,
        step: Step,
        comment: Option<Comment>,
        summary: Option<String>,
    ) -> Result<TicketChange, NoSuchStep> {
        let after = ticket.after(step, ticket.next_at(self.at))?.with_summary(summary);
        let files = comment.as_ref().map_or(&[][..], |comment| &comment.attachments);
        let after = after.with_attachments(files);
        let moved = after.status() != ticket.status();
        let name = moved.then(|| events::of_move_to(after.status()));
        let events = name.map(|name| events::event(&after, name, None, self.entropy)).into_iter().collect();
        Ok(TicketChange { comment, events, ..TicketChange::of(Some(ticket), after) })
    }

    fn said(&self, ticket: &Ticket, author: Author, body: String) -> Comment {
        let at = ticket.next_at(self.at);
        Comment { id: self.comment_id(at), author, body, attachments: Vec::new(), created_at: at }
    }

    fn comment_id(&self, at: Timestamp) -> CommentId {
        CommentId(self.comment_ids.next(at, self.entropy))
    }
}

impl TicketChange {
    fn of(before: Option<&Ticket>, ticket: Ticket) -> Self {
        let before = before.cloned();
        Self { before, ticket, comment: None, attached: Vec::new(), uploads: Vec::new(), events: Vec::new() }
    }
}

impl CompleteUpload {
    fn attached(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        comment: CommentId,
        place: i32,
    ) -> StoredAttachment {
        let shown = Attachment {
            id: self.upload.id.clone(),
            name: self.filename.clone(),
            content_type: self.upload.content_type,
            size: self.arrival.size,
        };
        let object = self.arrival.object.clone();
        StoredAttachment { tenant, ticket: ticket.clone(), comment, place, shown, object, thumbnail: None }
    }
}
