//! How tickets, comments, notes and files are written in a commit.

use std::{borrow::Cow, time::Duration};

use quipu_commit::{
    Aggregate, Changes, Holder, Index, Name, NameChange, Queue, Record, Save, Tally, Work, WorkChange,
};
use quipu_kernel::{Tenant, Timestamp};

use crate::{
    attachment::{StoredAttachment, ThumbnailMade, Upload},
    comment::{Comment, Note},
    decide::TicketChange,
    ids::TicketId,
    status::Status,
    ticket::Ticket,
};

/// How long after its announcement an upload that no comment has used is deleted: less than a day.
const CLEAN_UP_AFTER: Duration = Duration::from_hours(23);

/// A comment with its ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentOn {
    /// The identifier of the ticket.
    pub ticket: TicketId,
    /// The comment.
    pub comment: Comment,
}

/// A note with its ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteOn {
    /// The identifier of the ticket.
    pub ticket: TicketId,
    /// The note.
    pub note: Note,
}

impl Record for Ticket {}
impl Record for CommentOn {}
impl Record for NoteOn {}
impl Record for StoredAttachment {}
impl Record for ThumbnailMade {}
impl Record for Upload {}

/// The changes of one decision about a ticket. `close_after` is how long a resolved ticket waits before it
/// closes.
pub(crate) fn of_ticket(change: TicketChange, at: Timestamp, close_after: Duration) -> Changes {
    let TicketChange { before, ticket, comment, attached, uploads, events } = change;
    let mut changes = Changes::new(ticket.terms().tenant, at);
    match &before {
        None => {
            changes.tallies.push(tally(&ticket, ticket.status(), 1));
            changes.names.extend(ticket.terms().payment_id.as_ref().map(|payment| {
                NameChange::Take(Name::new(Index::TICKET_PAYMENT, payment.as_str()), holder(ticket.id()))
            }));
        }
        Some(before) if before.status() != ticket.status() => {
            changes.tallies.push(tally(&ticket, before.status(), -1));
            changes.tallies.push(tally(&ticket, ticket.status(), 1));
        }
        Some(_) => {}
    }
    changes.work.extend(closing(before.as_ref(), &ticket, close_after));
    for stored in attached {
        if stored.shown.content_type.is_image() {
            changes.work.push(put(Queue::THUMBNAILS, stored.shown.id.as_str(), at));
        }
        changes.add(stored);
    }
    for upload in uploads {
        save_upload(&mut changes, upload);
    }
    if let Some(comment) = comment {
        changes.add(CommentOn { ticket: ticket.id().clone(), comment });
    }
    for event in events {
        changes.add(event);
    }
    changes.saves.push(Save {
        aggregate: Aggregate::TICKET,
        id: ticket.id().as_str().to_owned(),
        from: before.map(|before| before.state().version),
        to: ticket.state().version,
        record: Box::new(ticket),
    });
    changes
}

/// A new upload, and the work of deleting it if no comment uses it.
pub(crate) fn of_new_upload(upload: Upload, at: Timestamp) -> Changes {
    let mut changes = Changes::new(upload.tenant, at);
    changes.work.push(put(Queue::UPLOADS, upload.id.as_str(), at.plus(CLEAN_UP_AFTER)));
    changes.saves.push(Save {
        aggregate: Aggregate::UPLOAD,
        id: upload.id.as_str().to_owned(),
        from: None,
        to: upload.revision,
        record: Box::new(upload),
    });
    changes
}

/// A changed upload, with its next revision.
pub(crate) fn of_upload(upload: Upload, at: Timestamp) -> Changes {
    let mut changes = Changes::new(upload.tenant, at);
    save_upload(&mut changes, upload);
    changes
}

/// A change that only adds a row.
pub(crate) fn of_row(tenant: Tenant, at: Timestamp, row: impl Record) -> Changes {
    let mut changes = Changes::new(tenant, at);
    changes.add(row);
    changes
}

fn save_upload(changes: &mut Changes, upload: Upload) {
    changes.saves.push(Save {
        aggregate: Aggregate::UPLOAD,
        id: upload.id.as_str().to_owned(),
        from: Some(upload.revision - 1),
        to: upload.revision,
        record: Box::new(upload),
    });
}

/// Plans the closing of a resolved ticket, and removes that plan if the ticket is no longer resolved.
fn closing(before: Option<&Ticket>, ticket: &Ticket, close_after: Duration) -> Option<WorkChange> {
    match ticket.closes_at(close_after) {
        Some(due) => Some(put(Queue::TICKET_CLOSING, ticket.id().as_str(), due)),
        None if before.is_some_and(|before| before.status() == Status::Resolved) => {
            Some(WorkChange::Drop { queue: Queue::TICKET_CLOSING, subject: ticket.id().as_str().to_owned() })
        }
        None => None,
    }
}

fn put(queue: Queue, subject: &str, due: Timestamp) -> WorkChange {
    WorkChange::Put(Work::plain(queue, subject, due))
}

fn holder(ticket: &TicketId) -> Holder {
    Holder::Text(ticket.as_str().to_owned())
}

fn tally(ticket: &Ticket, status: Status, by: i64) -> Tally {
    let keys = [status.as_str(), ticket.terms().category.as_str(), "", ""].map(Cow::Borrowed);
    Tally { name: "tickets".into(), keys, by }
}
