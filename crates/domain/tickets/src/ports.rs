//! The ports that a store and a store of files implement for this crate.

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::{Page, PaymentId, Period, StoreError, Tenant, Timestamp};

use crate::{
    attachment::{Arrival, StoredAttachment, Upload},
    comment::Comment,
    content_type::{ContentType, MAX_FILE_BYTES},
    ids::{AttachmentId, CommentId, TicketId},
    listing::{QueueFilter, QueueItem, TicketFilter, TicketSort, TicketSummary},
    support_view::Entry,
    ticket::Ticket,
};

/// Reads of tickets for their merchants. No read here returns a note. A read sees every commit that was
/// acknowledged before it began.
#[async_trait]
pub trait TicketReads: Send + Sync {
    /// The ticket of the tenant with this identifier.
    async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Option<Ticket>, StoreError>;

    /// A page of the tenant's tickets, and the exact number of all that match.
    async fn tickets(
        &self,
        tenant: Tenant,
        filter: &TicketFilter,
        sort: TicketSort,
        page: Page,
    ) -> Result<(Vec<TicketSummary>, u64), StoreError>;

    /// A page of a ticket's comments, the oldest first, and the exact number of all.
    async fn comments(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        page: Page,
    ) -> Result<(Vec<Comment>, u64), StoreError>;

    /// Whether a ticket has this comment.
    async fn has_comment(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        comment: CommentId,
    ) -> Result<bool, StoreError>;

    /// The attachment with this identifier on one of the tenant's tickets.
    async fn attachment(
        &self,
        tenant: Tenant,
        id: &AttachmentId,
    ) -> Result<Option<StoredAttachment>, StoreError>;

    /// Whether the tenant has this payment.
    async fn has_payment(&self, tenant: Tenant, id: &PaymentId) -> Result<bool, StoreError>;

    /// The upload of the tenant with this identifier.
    async fn upload(&self, tenant: Tenant, id: &AttachmentId) -> Result<Option<Upload>, StoreError>;
}

/// Reads of tickets for support, over all tenants, including notes.
#[async_trait]
pub trait SupportReads: Send + Sync {
    /// A page of the queue, and the exact number of all that match.
    async fn queue(&self, filter: &QueueFilter, page: Page) -> Result<(Vec<QueueItem>, u64), StoreError>;

    /// The ticket with this identifier, of any tenant.
    async fn any_ticket(&self, id: &TicketId) -> Result<Option<Ticket>, StoreError>;

    /// A page of a ticket's comments and notes of a period together, the oldest first, and the exact number of
    /// all of them.
    async fn conversation(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        written: Period,
        page: Page,
    ) -> Result<(Vec<Entry>, u64), StoreError>;
}

/// Why a file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefused {
    /// It has more bytes than [`MAX_FILE_BYTES`].
    #[error("the file is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    /// It has no bytes, or its first bytes are not those of its declared type.
    #[error("the file is not of its declared type")]
    WrongType,
    /// The file has not arrived.
    #[error("the file has not arrived")]
    NotArrived,
    /// The store of files failed; the text is for the log.
    #[error("the store of files failed: {0}")]
    Failed(String),
}

/// A store of files. It chooses the names of its objects itself; they contain nothing that a client chose.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// The URL to which the merchant sends the bytes of an upload by `PUT`; `None` if that is this gateway.
    async fn upload_url(&self, upload: &Upload, now: Timestamp) -> Result<Option<String>, FileRefused>;

    /// Begins to receive the bytes of an upload that are sent to this gateway. [`FileRefused::NotArrived`] means that
    /// this store takes no bytes through the gateway: it is a bucket, to which they are sent.
    async fn receive(&self, upload: &Upload) -> Result<Box<dyn Incoming>, FileRefused>;

    /// Checks that the files of uploads are complete, of an allowed size and of their types, and moves them to
    /// where they stay; answers for each in this order. A file that breaks a rule is deleted. Every call may make
    /// other objects; [`FileStore::sweep`] deletes those that are not used. It ends within some 20 seconds, however
    /// many files there are; those that are not done by then have failed.
    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>>;

    /// Opens an object to read it. [`FileRefused::NotArrived`] means that there is no such object.
    async fn open(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused>;

    /// Stores bytes that the gateway made, beside an object.
    async fn keep_beside(&self, object: &str, bytes: Vec<u8>) -> Result<String, FileRefused>;

    /// Deletes an object; if it does not exist, that is no failure. It ends within some five seconds.
    async fn delete(&self, object: &str) -> Result<(), FileRefused>;

    /// Deletes everything that is stored for an upload, except `kept` and what is stored beside it. It ends within
    /// some five seconds; what is not deleted by then is left for the next call.
    async fn sweep(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused>;

    /// Whether the store is there now; otherwise the reason, in words that anybody may read. A folder is written to
    /// and read; a bucket is only listed, and may still refuse to be written to.
    async fn ready(&self) -> Result<(), &'static str>;
}

/// A file that is being received. If it is dropped before [`Incoming::finish`], nothing of it stays.
#[async_trait]
pub trait Incoming: Send {
    /// Takes the next bytes. Refuses as soon as the first bytes are of another type, or there are too many.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), FileRefused>;

    /// Ends the file and makes it durable. A caller that does not use the arrival must delete its object.
    async fn finish(self: Box<Self>) -> Result<Arrival, FileRefused>;
}

/// A file that is being sent.
#[async_trait]
pub trait Outgoing: Send {
    /// The number of its bytes.
    fn size(&self) -> u64;

    /// The next bytes, at most 1 MiB; `None` at the end.
    async fn read(&mut self) -> Result<Option<Vec<u8>>, FileRefused>;
}

/// Why a thumbnail could not be made this time. Another attempt may succeed. The text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the thumbnail could not be made: {0}")]
pub struct ThumbnailFailed(pub String);

/// Makes thumbnails.
#[async_trait]
pub trait Thumbnails: Send + Sync {
    /// A thumbnail of at most 256 by 256 pixels, as JPEG or WebP. `None` if the file is no picture or has too
    /// many pixels. An error says nothing about the picture; there is one, too, if it takes longer than
    /// `patience`.
    async fn shrink(
        &self,
        picture: Vec<u8>,
        kind: ContentType,
        patience: Duration,
    ) -> Result<Option<(Vec<u8>, ContentType)>, ThumbnailFailed>;
}
