//! Rows of tickets, comments and files, and their conversion.

use diesel::{Queryable, Selectable, sqlite::Sqlite};
use quipu_kernel::{Tenant, Timestamp};
use quipu_merchants::Actor;
use quipu_tickets::{
    Arrival, Attachment, Author, Comment, CommentId, Note, State, StoredAttachment, Terms, Thumbnail, Ticket,
    TicketSummary, Upload,
};

use crate::{
    error::Fault,
    rows::stored::{parsed, tenant_of},
    schema::{ticket_attachments, ticket_comments, ticket_notes, ticket_uploads, tickets},
};

/// The columns of a row, for either database.
pub(super) fn selection<Row: Selectable<Sqlite>>() -> Row::SelectExpression {
    Row::construct_selection()
}

fn bytes(size: i64) -> Result<u64, Fault> {
    u64::try_from(size).map_err(|_| Fault::Corrupt("a file of a negative size".to_owned()))
}

#[derive(Debug, Queryable)]
pub(super) struct TicketRow {
    pub(super) merchant_id: i64,
    pub(super) environment: String,
    id: String,
    title: String,
    description: Option<String>,
    category: String,
    sub_category: Option<String>,
    payment_id: Option<String>,
    transaction_id: Option<String>,
    reference: Option<String>,
    requires_refund: bool,
    created_at: i64,
    status: String,
    _status_rank: i32,
    _queue_rank: i32,
    assignee: Option<String>,
    resolution_summary: Option<String>,
    updated_at: i64,
    resolved_at: Option<i64>,
    last_activity_at: i64,
    revision: i64,
}

impl TicketRow {
    pub(super) fn into_ticket(self, attachments: Vec<Attachment>) -> Result<Ticket, Fault> {
        let payment_id = self.payment_id.as_deref().map(|id| parsed("a payment", id)).transpose()?;
        let terms = Terms {
            id: parsed("a ticket", &self.id)?,
            tenant: tenant_of(self.merchant_id, &self.environment)?,
            title: self.title,
            description: self.description,
            category: parsed("a category", &self.category)?,
            sub_category: self.sub_category,
            payment_id,
            transaction_id: self.transaction_id,
            reference: self.reference,
            requires_refund: self.requires_refund,
            created_at: Timestamp::from_millis(self.created_at),
        };
        let state = State {
            status: parsed("a status", &self.status)?,
            assignee: self.assignee,
            resolution_summary: self.resolution_summary,
            updated_at: Timestamp::from_millis(self.updated_at),
            resolved_at: self.resolved_at.map(Timestamp::from_millis),
            last_activity_at: Timestamp::from_millis(self.last_activity_at),
            version: self.revision,
            attachments,
        };
        Ok(Ticket::restore(terms, state))
    }
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = tickets)]
pub(super) struct SummaryRow {
    pub(super) merchant_id: i64,
    pub(super) environment: String,
    pub(super) id: String,
    title: String,
    status: String,
    category: String,
    payment_id: Option<String>,
    requires_refund: bool,
    created_at: i64,
    updated_at: i64,
    last_activity_at: i64,
    pub(super) assignee: Option<String>,
}

impl SummaryRow {
    pub(super) fn into_summary(self) -> Result<TicketSummary, Fault> {
        Ok(TicketSummary {
            id: parsed("a ticket", &self.id)?,
            title: self.title,
            status: parsed("a status", &self.status)?,
            category: parsed("a category", &self.category)?,
            payment_id: self.payment_id.as_deref().map(|id| parsed("a payment", id)).transpose()?,
            requires_refund: self.requires_refund,
            created_at: Timestamp::from_millis(self.created_at),
            updated_at: Timestamp::from_millis(self.updated_at),
            last_activity_at: Timestamp::from_millis(self.last_activity_at),
        })
    }
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = ticket_comments)]
pub(super) struct CommentRow {
    id: i64,
    author_id: Option<String>,
    author_name: Option<String>,
    body: String,
    created_at: i64,
}

impl CommentRow {
    /// The comment, with its own files among those of several comments.
    pub(super) fn into_comment(self, files: &[AttachmentRow]) -> Result<Comment, Fault> {
        let mine = files.iter().filter(|file| file.comment_id == self.id);
        let author = match (self.author_id, self.author_name) {
            (Some(id), Some(name)) => Author::Support(Actor { id, name }),
            _ => Author::Merchant,
        };
        Ok(Comment {
            id: CommentId(self.id),
            author,
            body: self.body,
            attachments: mine.map(AttachmentRow::shown).collect::<Result<_, _>>()?,
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = ticket_notes)]
pub(super) struct NoteRow {
    id: i64,
    author_id: String,
    author_name: String,
    body: String,
    created_at: i64,
}

impl NoteRow {
    pub(super) fn into_note(self) -> Note {
        Note {
            id: CommentId(self.id),
            author: Actor { id: self.author_id, name: self.author_name },
            body: self.body,
            created_at: Timestamp::from_millis(self.created_at),
        }
    }
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = ticket_attachments)]
pub(super) struct AttachmentRow {
    id: String,
    ticket_id: String,
    comment_id: i64,
    place: i32,
    name: String,
    content_type: String,
    size: i64,
    object: String,
}

impl AttachmentRow {
    pub(super) fn shown(&self) -> Result<Attachment, Fault> {
        Ok(Attachment {
            id: parsed("an attachment", &self.id)?,
            name: self.name.clone(),
            content_type: parsed("a type", &self.content_type)?,
            size: bytes(self.size)?,
        })
    }

    /// The attachment, with the object and type of its thumbnail if there is one.
    pub(super) fn into_stored(
        self,
        tenant: Tenant,
        thumbnail: Option<(String, String)>,
    ) -> Result<StoredAttachment, Fault> {
        let thumbnail = thumbnail.map(|(object, kind)| {
            Ok::<_, Fault>(Thumbnail { object, content_type: parsed("a type", &kind)? })
        });
        Ok(StoredAttachment {
            tenant,
            ticket: parsed("a ticket", &self.ticket_id)?,
            comment: CommentId(self.comment_id),
            place: self.place,
            shown: self.shown()?,
            object: self.object,
            thumbnail: thumbnail.transpose()?,
        })
    }
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = ticket_uploads)]
pub(super) struct UploadRow {
    id: String,
    ticket_id: String,
    filename: String,
    content_type: String,
    issued_at: i64,
    expires_at: i64,
    object: Option<String>,
    size: Option<i64>,
    spent: bool,
    revision: i64,
}

impl UploadRow {
    pub(super) fn into_upload(self, tenant: Tenant) -> Result<Upload, Fault> {
        let arrival = self.object.zip(self.size);
        let arrival = arrival.map(|(object, size)| Ok::<_, Fault>(Arrival { object, size: bytes(size)? }));
        Ok(Upload {
            tenant,
            ticket: parsed("a ticket", &self.ticket_id)?,
            id: parsed("an upload", &self.id)?,
            filename: self.filename,
            content_type: parsed("a type", &self.content_type)?,
            issued_at: Timestamp::from_millis(self.issued_at),
            expires_at: Timestamp::from_millis(self.expires_at),
            arrival: arrival.transpose()?,
            spent: self.spent,
            revision: self.revision,
        })
    }
}
