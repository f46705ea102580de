//! Tickets as support reads them.

use quipu_kernel::{Environment, MerchantId, Timestamp};
use serde::Serialize;

use crate::{
    attachment::Attachment,
    category::Priority,
    comment::{Author, Comment, Note},
    ids::CommentId,
    listing::QueueItem,
    ticket::Ticket,
    view::{SummaryRecord, TicketRecord},
};

/// A whole ticket: the part that its merchant sees, and the part that only support sees.
#[derive(Debug, Serialize)]
pub struct SupportTicket<'a> {
    merchant_id: MerchantId,
    environment: Environment,
    priority: Priority,
    assignee: Option<&'a str>,
    #[serde(flatten)]
    ticket: TicketRecord<'a>,
}

impl<'a> SupportTicket<'a> {
    /// The record of this ticket.
    pub fn of(ticket: &'a Ticket) -> Self {
        let tenant = ticket.terms().tenant;
        Self {
            merchant_id: tenant.merchant(),
            environment: tenant.environment(),
            priority: ticket.priority(),
            assignee: ticket.state().assignee.as_deref(),
            ticket: TicketRecord::of(ticket),
        }
    }
}

/// A ticket in the queue.
#[derive(Debug, Serialize)]
pub struct QueueRecord<'a> {
    merchant_id: MerchantId,
    environment: Environment,
    priority: Priority,
    assignee: Option<&'a str>,
    #[serde(flatten)]
    summary: SummaryRecord<'a>,
}

impl<'a> QueueRecord<'a> {
    /// The record of this ticket.
    pub fn of(item: &'a QueueItem) -> Self {
        Self {
            merchant_id: item.tenant.merchant(),
            environment: item.tenant.environment(),
            priority: item.summary.category.priority(),
            assignee: item.assignee.as_deref(),
            summary: SummaryRecord::of(&item.summary),
        }
    }
}

/// A comment or a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A comment, which everybody sees.
    Comment(Comment),
    /// A note, which only support sees.
    Note(Note),
}

impl Entry {
    /// Its number, by which entries are sorted.
    pub const fn id(&self) -> CommentId {
        match self {
            Self::Comment(comment) => comment.id,
            Self::Note(note) => note.id,
        }
    }
}

/// A comment or a note as support reads it.
#[derive(Debug, Serialize)]
pub struct EntryRecord<'a> {
    id: CommentId,
    author_type: &'static str,
    author: Option<&'a str>,
    internal: bool,
    body: &'a str,
    attachments: &'a [Attachment],
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> EntryRecord<'a> {
    /// The record of this entry.
    pub fn of(entry: &'a Entry) -> Self {
        match entry {
            Entry::Comment(comment) => Self {
                id: comment.id,
                author_type: comment.author.kind(),
                author: match &comment.author {
                    Author::Merchant => None,
                    Author::Support(actor) => Some(&actor.name),
                },
                internal: false,
                body: &comment.body,
                attachments: &comment.attachments,
                created_at: comment.created_at,
                updated_at: comment.created_at,
            },
            Entry::Note(note) => Self {
                id: note.id,
                author_type: "admin",
                author: Some(&note.author.name),
                internal: true,
                body: &note.body,
                attachments: &[],
                created_at: note.created_at,
                updated_at: note.created_at,
            },
        }
    }
}
