//! The use cases of tickets over a store, with a clock that a test sets and files that are always as they should be.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use quipu_kernel::{Clock, Tenant, Timestamp};
use quipu_merchants::Actor;
use quipu_store::Store;
use quipu_tickets::{
    Arrival, CommentDraft, ContentType, FileRefused, FileStore, Incoming, MoveDraft, Outgoing, ReplyDraft,
    Status, ThumbnailFailed, Thumbnails, Ticket, TicketDraft, TicketId, TicketOffice, TicketPeriods,
    TicketPorts, Upload, UploadDraft,
};
use serde_json::{Value, json};

use crate::sample::{Random, after};

/// Merchants and support at one store.
pub(crate) struct TestDesk {
    pub(crate) office: TicketOffice,
    clock: Arc<Watch>,
}

#[derive(Default)]
struct Watch(AtomicI64);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        after(self.0.load(Ordering::Relaxed))
    }
}

/// A store of files in which everything has arrived, and of which nothing is read.
struct Shelf;

#[async_trait]
impl FileStore for Shelf {
    async fn upload_url(&self, _: &Upload, _: Timestamp) -> Result<Option<String>, FileRefused> {
        Ok(None)
    }

    async fn receive(&self, _: &Upload) -> Result<Box<dyn Incoming>, FileRefused> {
        Err(FileRefused::NotArrived)
    }

    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>> {
        let arrival = |upload: &Upload| Ok(Arrival { object: format!("object of {}", upload.id), size: 7 });
        uploads.iter().map(arrival).collect()
    }

    async fn open(&self, _: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        Err(FileRefused::NotArrived)
    }

    async fn keep_beside(&self, object: &str, _: Vec<u8>) -> Result<String, FileRefused> {
        Ok(format!("{object} beside"))
    }

    async fn delete(&self, _: &str) -> Result<(), FileRefused> {
        Ok(())
    }

    async fn sweep(&self, _: &Upload, _: Option<&str>) -> Result<(), FileRefused> {
        Ok(())
    }

    async fn ready(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

#[async_trait]
impl Thumbnails for Shelf {
    async fn shrink(
        &self,
        _: Vec<u8>,
        _: ContentType,
        _: std::time::Duration,
    ) -> Result<Option<(Vec<u8>, ContentType)>, ThumbnailFailed> {
        Ok(None)
    }
}

pub(crate) fn staff(name: &str) -> Actor {
    Actor { id: format!("op_{name}"), name: name.to_owned() }
}

impl TestDesk {
    pub(crate) fn at(store: &Arc<Store>) -> Self {
        let clock = Arc::new(Watch::default());
        let ports = TicketPorts {
            commit: Arc::clone(store) as _,
            reads: Arc::clone(store) as _,
            support: Arc::clone(store) as _,
            files: Arc::new(Shelf),
            thumbnails: Arc::new(Shelf),
            clock: Arc::clone(&clock) as _,
            entropy: Arc::new(Random),
        };
        Self { office: TicketOffice::new(ports, TicketPeriods::default()), clock }
    }

    /// Sets the clock to this many milliseconds after the start.
    pub(crate) fn wait_until(&self, millis: i64) {
        self.clock.0.store(millis, Ordering::Relaxed);
    }

    pub(crate) async fn open(&self, tenant: Tenant, body: &Value) -> Ticket {
        let draft = TicketDraft::parse(body).expect("a draft");
        self.office.open(tenant, draft).await.expect("opened")
    }

    /// Support moves a ticket through these statuses.
    pub(crate) async fn moved(&self, id: &TicketId, through: &[Status]) -> Option<Ticket> {
        let mut last = None;
        for status in through {
            let draft = MoveDraft::parse(&json!({ "status": status })).expect("a draft");
            last = Some(self.office.set_status(id, &draft, &staff("Ana")).await.expect("moved"));
        }
        last
    }

    /// Support writes a comment, or a note if it is internal.
    pub(crate) async fn say(&self, id: &TicketId, text: &str, internal: bool) -> quipu_tickets::Entry {
        let draft = ReplyDraft::parse(&json!({ "body": text, "internal": internal })).expect("a draft");
        self.office.say(id, draft, &staff("Ana")).await.expect("said")
    }

    /// A merchant writes a comment with these files, which it has announced.
    pub(crate) async fn comment(
        &self,
        tenant: Tenant,
        id: &TicketId,
        text: &str,
        files: &[Upload],
    ) -> quipu_tickets::Comment {
        let named = |upload: &Upload| {
            let (id, key) = (upload.id.as_str(), upload.key());
            json!({
                "attachment_id": id, "key": key, "filename": upload.filename, "content_type": upload.content_type
            })
        };
        let named: Vec<_> = files.iter().map(named).collect();
        let draft = CommentDraft::parse(&json!({ "body": text, "attachments": named })).expect("a draft");
        self.office.comment(tenant, id, &draft).await.expect("commented")
    }

    /// A merchant announces a picture.
    pub(crate) async fn announce(&self, tenant: Tenant, id: &TicketId, filename: &str) -> Upload {
        let draft = json!({ "filename": filename, "content_type": "image/png", "file_size": 7 });
        let draft = UploadDraft::parse(&draft).expect("a draft");
        self.office.announce(tenant, id, draft).await.expect("announced").upload
    }
}
