//! The use cases over the reference store, a store of files that a test looks into, and a clock that it sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, AtomicU8, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{Aggregate, Changes, Commit, CommitError, Committed, Memory, Queue, Refusal, WorkInHand};
use quipu_kernel::{Clock, Page, PaymentId, Period, StoreError, Tenant, Timestamp};

use super::world::{Counting, TENANT, at};
use crate::{
    Arrival, AttachmentId, Comment, CommentDraft, CommentId, CommentOn, ContentType, Entry, FileRefused,
    FileStore, Incoming, Outgoing, QueueFilter, QueueItem, StoredAttachment, SupportReads, ThumbnailFailed,
    ThumbnailMade, Thumbnails, Ticket, TicketDraft, TicketFilter, TicketId, TicketOffice, TicketPeriods,
    TicketPorts, TicketReads, TicketSort, TicketSummary, Upload, UploadDraft,
};

/// The outcome of a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// What is stored, and what a test does to it.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) memory: Memory,
    pub(crate) payments: Mutex<BTreeSet<PaymentId>>,
    /// Committed just before each of the next commits.
    pub(crate) intruders: Mutex<Vec<Changes>>,
    /// How many of the next commits find that something has changed.
    pub(crate) stale: AtomicU8,
}

#[async_trait]
impl Commit for Rows {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let intruder = locked(&self.intruders).pop();
        if let Some(intruder) = intruder {
            self.memory.commit(intruder).await.expect("it came first");
        }
        let stale = self.stale.load(Ordering::Relaxed);
        if stale > 0 {
            self.stale.store(stale - 1, Ordering::Relaxed);
            return Err(CommitError::Refused(Refusal::Stale));
        }
        self.memory.commit(changes).await
    }
}

#[async_trait]
impl TicketReads for Rows {
    async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Option<Ticket>, StoreError> {
        Ok(self.memory.contents().saved(Aggregate::TICKET, tenant, id.as_str()).cloned())
    }

    async fn tickets(
        &self,
        _: Tenant,
        _: &TicketFilter,
        _: TicketSort,
        _: Page,
    ) -> Result<(Vec<TicketSummary>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn comments(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        _: Page,
    ) -> Result<(Vec<Comment>, u64), StoreError> {
        let contents = self.memory.contents();
        let all =
            contents.rows_of::<CommentOn>().filter(|(owner, row)| *owner == tenant && row.ticket == *ticket);
        let all: Vec<_> = all.map(|(_, row)| row.comment.clone()).collect();
        let total = all.len() as u64;
        Ok((all, total))
    }

    async fn has_comment(&self, _: Tenant, _: &TicketId, _: CommentId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn attachment(
        &self,
        tenant: Tenant,
        id: &AttachmentId,
    ) -> Result<Option<StoredAttachment>, StoreError> {
        let contents = self.memory.contents();
        let mut all = contents.rows_of::<StoredAttachment>();
        let found = all.find(|(owner, row)| *owner == tenant && row.shown.id == *id);
        let made = contents.rows_of::<ThumbnailMade>().find(|(_, made)| made.attachment == *id);
        let thumbnail = made.map(|(_, made)| made.thumbnail.clone());
        Ok(found.map(|(_, row)| StoredAttachment { thumbnail, ..row.clone() }))
    }

    async fn has_payment(&self, _: Tenant, id: &PaymentId) -> Result<bool, StoreError> {
        Ok(locked(&self.payments).contains(id))
    }

    async fn upload(&self, tenant: Tenant, id: &AttachmentId) -> Result<Option<Upload>, StoreError> {
        Ok(self.memory.contents().saved(Aggregate::UPLOAD, tenant, id.as_str()).cloned())
    }
}

#[async_trait]
impl SupportReads for Rows {
    async fn queue(&self, _: &QueueFilter, _: Page) -> Result<(Vec<QueueItem>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn any_ticket(&self, id: &TicketId) -> Result<Option<Ticket>, StoreError> {
        self.ticket(TENANT, id).await
    }

    async fn conversation(
        &self,
        _: Tenant,
        _: &TicketId,
        _: Period,
        _: Page,
    ) -> Result<(Vec<Entry>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }
}

/// What the store of files holds, and what was asked of it.
#[derive(Default)]
pub(crate) struct Shelf {
    /// What is wrong with the file of an upload. Files without an entry are as they should be.
    pub(crate) troubles: BTreeMap<AttachmentId, FileRefused>,
    /// The number of objects that were made.
    made: u32,
    /// The objects that are there.
    pub(crate) objects: BTreeSet<String>,
    /// The uploads that were swept, each with the object that stayed.
    pub(crate) swept: Vec<(AttachmentId, Option<String>)>,
    /// How many seconds every opening and every deletion takes.
    pub(crate) takes: i64,
}

pub(crate) struct Files {
    shelf: Mutex<Shelf>,
    clock: Arc<Hand>,
}

impl Files {
    pub(crate) fn shelf(&self) -> MutexGuard<'_, Shelf> {
        locked(&self.shelf)
    }

    /// The shelf after the time that an answer takes.
    fn slow_shelf(&self) -> MutexGuard<'_, Shelf> {
        let held = self.shelf();
        self.clock.0.fetch_add(held.takes, Ordering::Relaxed);
        held
    }
}

struct Whole(Option<Vec<u8>>);

#[async_trait]
impl Outgoing for Whole {
    fn size(&self) -> u64 {
        self.0.as_ref().map_or(0, |bytes| bytes.len() as u64)
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, FileRefused> {
        Ok(self.0.take())
    }
}

struct Nowhere;

#[async_trait]
impl Incoming for Nowhere {
    async fn write(&mut self, _: &[u8]) -> Result<(), FileRefused> {
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<Arrival, FileRefused> {
        Err(FileRefused::NotArrived)
    }
}

#[async_trait]
impl FileStore for Files {
    async fn upload_url(&self, _: &Upload, _: Timestamp) -> Result<Option<String>, FileRefused> {
        Ok(None)
    }

    async fn receive(&self, upload: &Upload) -> Result<Box<dyn Incoming>, FileRefused> {
        match self.shelf().troubles.get(&upload.id) {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(Box::new(Nowhere)),
        }
    }

    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>> {
        let mut held = self.shelf();
        let complete = |upload: &Upload| {
            if let Some(trouble) = held.troubles.get(&upload.id) {
                return Err(trouble.clone());
            }
            if let Some(arrival) = &upload.arrival {
                return Ok(arrival.clone());
            }
            held.made += 1;
            let object = format!("{}/{}", upload.id, held.made);
            held.objects.insert(object.clone());
            Ok(Arrival { object, size: 5 })
        };
        uploads.iter().map(complete).collect()
    }

    async fn open(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        let held = self.slow_shelf();
        let trouble = held.troubles.iter().find(|(id, _)| object.starts_with(id.as_str()));
        match trouble {
            Some((_, trouble)) => Err(trouble.clone()),
            None if held.objects.contains(object) => Ok(Box::new(Whole(Some(b"a picture".to_vec())))),
            None => Err(FileRefused::NotArrived),
        }
    }

    async fn keep_beside(&self, object: &str, _: Vec<u8>) -> Result<String, FileRefused> {
        let beside = format!("{object}.small");
        self.shelf().objects.insert(beside.clone());
        Ok(beside)
    }

    async fn delete(&self, object: &str) -> Result<(), FileRefused> {
        self.slow_shelf().objects.remove(object);
        Ok(())
    }

    async fn sweep(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused> {
        let mut held = self.slow_shelf();
        let begin = format!("{}/", upload.id);
        held.objects.retain(|object| !object.starts_with(&begin) || kept == Some(object.as_str()));
        held.swept.push((upload.id.clone(), kept.map(str::to_owned)));
        Ok(())
    }

    async fn ready(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Makes a thumbnail of everything, unless it is told to fail.
#[derive(Default)]
pub(crate) struct Smaller {
    pub(crate) fails: Mutex<bool>,
    /// How long it might have taken for the latest one.
    pub(crate) patience: Mutex<Duration>,
}

#[async_trait]
impl Thumbnails for Smaller {
    async fn shrink(
        &self,
        _: Vec<u8>,
        _: ContentType,
        patience: Duration,
    ) -> Result<Option<(Vec<u8>, ContentType)>, ThumbnailFailed> {
        *locked(&self.patience) = patience;
        if *locked(&self.fails) {
            return Err(ThumbnailFailed("the process was stopped".to_owned()));
        }
        Ok(Some((vec![1], ContentType::Webp)))
    }
}

pub(crate) struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        at(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) struct Bed {
    pub(crate) rows: Arc<Rows>,
    pub(crate) files: Arc<Files>,
    pub(crate) thumbnails: Arc<Smaller>,
    pub(crate) office: TicketOffice,
    clock: Arc<Hand>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let rows = Arc::new(Rows::default());
        let clock = Arc::new(Hand(AtomicI64::new(0)));
        let files = Arc::new(Files { shelf: Mutex::default(), clock: clock.clone() });
        let thumbnails = Arc::new(Smaller::default());
        let ports = TicketPorts {
            commit: rows.clone(),
            reads: rows.clone(),
            support: rows.clone(),
            files: files.clone(),
            thumbnails: thumbnails.clone(),
            clock: clock.clone(),
            entropy: Arc::new(Counting::from(1)),
        };
        Self { rows, files, thumbnails, office: TicketOffice::new(ports, TicketPeriods::default()), clock }
    }

    /// Sets the clock to so many seconds after the start.
    pub(crate) fn at(&self, seconds: i64) {
        self.clock.0.store(seconds, Ordering::Relaxed);
    }

    pub(crate) fn opened(&self) -> Ticket {
        let body = serde_json::json!({"title": "Where is it?", "category": "payment_issue"});
        now(self.office.open(TENANT, TicketDraft::parse(&body).expect("valid"))).expect("opened")
    }

    pub(crate) fn announced(&self, ticket: &Ticket, content_type: &str) -> Upload {
        let body = serde_json::json!({"filename": "a", "content_type": content_type});
        let draft = UploadDraft::parse(&body).expect("valid");
        now(self.office.announce(TENANT, ticket.id(), draft)).expect("announced").upload
    }

    /// The present state of a ticket.
    pub(crate) fn ticket(&self, id: &TicketId) -> Ticket {
        now(self.rows.ticket(TENANT, id)).expect("read").expect("a ticket")
    }

    pub(crate) fn upload(&self, id: &AttachmentId) -> Upload {
        now(self.rows.upload(TENANT, id)).expect("read").expect("an upload")
    }

    /// All work of a queue that is due, claimed.
    pub(crate) fn claimed(&self, queue: Queue) -> Vec<WorkInHand> {
        self.rows.memory.contents().claim(queue, self.clock.now(), Duration::from_mins(1), 100)
    }

    /// When the work about something is due, if there is any.
    pub(crate) fn due(&self, queue: Queue, subject: &str) -> Option<Timestamp> {
        self.rows.memory.contents().work_of(queue, TENANT, subject).map(|(_, due)| due)
    }

    /// A counter of tickets.
    pub(crate) fn count(&self, status: &str) -> i64 {
        let contents = self.rows.memory.contents();
        let mine =
            contents.counters.iter().filter(|((_, name, keys), _)| name == "tickets" && keys[0] == status);
        mine.map(|(_, count)| count).sum()
    }
}

/// A comment that names these uploads.
pub(crate) fn naming(uploads: &[&Upload]) -> CommentDraft {
    let named = |upload: &&Upload| {
        serde_json::json!({
            "attachment_id": upload.id, "key": upload.key(), "filename": "b", "content_type": upload.content_type,
        })
    };
    let attachments: Vec<_> = uploads.iter().map(named).collect();
    CommentDraft::parse(&serde_json::json!({"body": "see there", "attachments": attachments})).expect("valid")
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics with the lock")
}
