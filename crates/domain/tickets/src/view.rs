//! Tickets and comments as merchants read them.

use quipu_kernel::{PaymentId, Timestamp};
use serde::{Serialize, Serializer};

use crate::{
    attachment::Attachment,
    category::Category,
    comment::Comment,
    ids::{CommentId, TicketId},
    listing::TicketSummary,
    status::Status,
    ticket::Ticket,
};

/// A whole ticket, as create, get, close and reopen answer it and as its events contain it.
#[derive(Debug, Clone, Copy)]
pub struct TicketRecord<'a>(&'a Ticket);

impl<'a> TicketRecord<'a> {
    /// The record of this ticket.
    pub const fn of(ticket: &'a Ticket) -> Self {
        Self(ticket)
    }
}

#[derive(Serialize)]
struct Record<'a> {
    ticket_id: &'a TicketId,
    title: &'a str,
    description: Option<&'a str>,
    status: Status,
    category: Category,
    sub_category: Option<&'a str>,
    payment_id: Option<&'a PaymentId>,
    transaction_id: Option<&'a str>,
    reference: Option<&'a str>,
    requires_refund: bool,
    resolution_summary: Option<&'a str>,
    attachments: &'a [Attachment],
    created_at: Timestamp,
    updated_at: Timestamp,
    resolved_at: Option<Timestamp>,
    last_activity_at: Timestamp,
}

impl Serialize for TicketRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (terms, state) = (self.0.terms(), self.0.state());
        let record = Record {
            ticket_id: &terms.id,
            title: &terms.title,
            description: terms.description.as_deref(),
            status: state.status,
            category: terms.category,
            sub_category: terms.sub_category.as_deref(),
            payment_id: terms.payment_id.as_ref(),
            transaction_id: terms.transaction_id.as_deref(),
            reference: terms.reference.as_deref(),
            requires_refund: terms.requires_refund,
            resolution_summary: state.resolution_summary.as_deref(),
            attachments: &state.attachments,
            created_at: terms.created_at,
            updated_at: state.updated_at,
            resolved_at: state.resolved_at,
            last_activity_at: state.last_activity_at,
        };
        record.serialize(serializer)
    }
}

/// A ticket in a list.
#[derive(Debug, Clone, Copy)]
pub struct SummaryRecord<'a>(&'a TicketSummary);

impl<'a> SummaryRecord<'a> {
    /// The record of this summary.
    pub const fn of(summary: &'a TicketSummary) -> Self {
        Self(summary)
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    ticket_id: &'a TicketId,
    title: &'a str,
    status: Status,
    category: Category,
    payment_id: Option<&'a PaymentId>,
    requires_refund: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    last_activity_at: Timestamp,
}

impl Serialize for SummaryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary = Summary {
            ticket_id: &self.0.id,
            title: &self.0.title,
            status: self.0.status,
            category: self.0.category,
            payment_id: self.0.payment_id.as_ref(),
            requires_refund: self.0.requires_refund,
            created_at: self.0.created_at,
            updated_at: self.0.updated_at,
            last_activity_at: self.0.last_activity_at,
        };
        summary.serialize(serializer)
    }
}

/// A comment. A note cannot be shown by it, since a [`Note`](crate::Note) is another type.
#[derive(Debug, Clone, Copy)]
pub struct CommentRecord<'a>(&'a Comment);

impl<'a> CommentRecord<'a> {
    /// The record of this comment.
    pub const fn of(comment: &'a Comment) -> Self {
        Self(comment)
    }
}

#[derive(Serialize)]
struct Said<'a> {
    id: CommentId,
    author_type: &'static str,
    body: &'a str,
    attachments: &'a [Attachment],
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Serialize for CommentRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Comment { id, author, body, attachments, created_at } = self.0;
        let said = Said {
            id: *id,
            author_type: author.kind(),
            body,
            attachments,
            created_at: *created_at,
            updated_at: *created_at,
        };
        said.serialize(serializer)
    }
}
