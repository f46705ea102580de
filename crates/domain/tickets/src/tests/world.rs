//! A ticket, an upload and a desk for tests.

use std::sync::atomic::{AtomicU8, Ordering};

use quipu_kernel::{Entropy, Environment, IdSource, MerchantId, Tenant, Timestamp};
use serde_json::json;

use crate::{
    Arrival, AttachmentId, CommentDraft, CompleteUpload, ContentType, Desk, NamedUpload, Status, Ticket,
    TicketChange, TicketDraft, TicketId, Upload,
};

pub(crate) const TENANT: Tenant = Tenant::new(MerchantId(7), Environment::Test);
pub(crate) const START: i64 = 1_763_683_200_000;

pub(crate) struct Counting(AtomicU8);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
    }
}

impl From<u8> for Counting {
    fn from(first: u8) -> Self {
        Self(AtomicU8::new(first))
    }
}

/// Randomness that counts, and numbers for comments.
pub(crate) struct World {
    entropy: Counting,
    comment_ids: IdSource,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { entropy: Counting(AtomicU8::new(1)), comment_ids: IdSource::default() }
    }

    /// A desk `seconds` after the start.
    pub(crate) fn desk(&self, seconds: i64) -> Desk<'_> {
        Desk { at: at(seconds), entropy: &self.entropy, comment_ids: &self.comment_ids }
    }

    pub(crate) fn opened(&self) -> TicketChange {
        let body = json!({"title": "Where is it?", "category": "payment_issue", "reference": "order 7"});
        self.desk(0).open(TENANT, TicketDraft::parse(&body).expect("valid"))
    }

    /// A ticket in a status, a minute after it was opened.
    pub(crate) fn ticket_in(&self, status: Status) -> Ticket {
        let ticket = self.opened().ticket;
        let mut state = ticket.state().clone();
        state.status = status;
        state.last_activity_at = at(60);
        state.updated_at = at(60);
        if matches!(status, Status::Resolved | Status::Closed) {
            state.resolved_at = Some(at(60));
            state.resolution_summary = Some("sent again".to_owned());
        }
        Ticket::restore(ticket.terms().clone(), state)
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(START + 1000 * seconds)
}

pub(crate) fn ticket_id(number: u8) -> TicketId {
    TicketId::new(at(0), &Counting(AtomicU8::new(number)))
}

pub(crate) fn attachment_id(number: u8) -> AttachmentId {
    AttachmentId::new(at(0), &Counting(AtomicU8::new(number)))
}

pub(crate) fn upload(filename: &str) -> Upload {
    Upload {
        tenant: TENANT,
        ticket: ticket_id(1),
        id: attachment_id(2),
        filename: filename.to_owned(),
        content_type: ContentType::Png,
        issued_at: at(0),
        expires_at: at(600),
        arrival: None,
        spent: false,
        revision: 1,
    }
}

pub(crate) fn named(upload: &Upload) -> NamedUpload {
    NamedUpload {
        id: upload.id.clone(),
        key: upload.key(),
        filename: upload.filename.clone(),
        content_type: upload.content_type,
    }
}

pub(crate) fn complete(upload: Upload) -> CompleteUpload {
    let arrival = Arrival { object: "o/1".to_owned(), size: 5 };
    CompleteUpload { filename: "renamed.png".to_owned(), upload, arrival }
}

pub(crate) fn comment(body: &str) -> CommentDraft {
    CommentDraft::parse(&json!({ "body": body })).expect("valid")
}
