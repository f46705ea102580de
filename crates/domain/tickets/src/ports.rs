//! What this crate needs of a store and of a place for files.

use async_trait::async_trait;
use quipu_kernel::{Page, PaymentId, Tenant, Timestamp};
use quipu_merchants::StoreUnavailable;

use crate::{
    attachment::{Arrival, StoredAttachment, Upload},
    comment::Comment,
    content_type::ContentType,
    ids::{AttachmentId, CommentId, TicketId},
    listing::{QueueFilter, QueueItem, TicketFilter, TicketSort, TicketSummary},
    support_view::Entry,
    ticket::Ticket,
};

/// Reading tickets for their merchants. Nothing here answers a note. Reads see every commit that was acknowledged before
/// they began.
#[async_trait]
pub trait TicketReads: Send + Sync {
    /// One ticket of the tenant.
    async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Option<Ticket>, StoreUnavailable>;

    /// A page of the tenant's tickets, and the exact number of all that match.
    async fn tickets(
        &self,
        tenant: Tenant,
        filter: &TicketFilter,
        sort: TicketSort,
        page: Page,
    ) -> Result<(Vec<TicketSummary>, u64), StoreUnavailable>;

    /// A page of a ticket's comments, the oldest first, and the exact number of all.
    async fn comments(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        page: Page,
    ) -> Result<(Vec<Comment>, u64), StoreUnavailable>;

    /// Whether a ticket has this comment.
    async fn has_comment(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        comment: CommentId,
    ) -> Result<bool, StoreUnavailable>;

    /// One attachment of the tenant's tickets.
    async fn attachment(
        &self,
        tenant: Tenant,
        id: &AttachmentId,
    ) -> Result<Option<StoredAttachment>, StoreUnavailable>;

    /// Whether the tenant has this payment.
    async fn has_payment(&self, tenant: Tenant, id: &PaymentId) -> Result<bool, StoreUnavailable>;

    /// One upload of the tenant.
    async fn upload(&self, tenant: Tenant, id: &AttachmentId) -> Result<Option<Upload>, StoreUnavailable>;
}

/// Reading tickets for support, over all tenants, notes included.
#[async_trait]
pub trait SupportReads: Send + Sync {
    /// A page of the queue, and the exact number of all that match.
    async fn queue(
        &self,
        filter: &QueueFilter,
        page: Page,
    ) -> Result<(Vec<QueueItem>, u64), StoreUnavailable>;

    /// One ticket, whosever it is.
    async fn any_ticket(&self, id: &TicketId) -> Result<Option<Ticket>, StoreUnavailable>;

    /// A page of a ticket's comments and notes together, the oldest first, and the exact number of all.
    async fn conversation(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        page: Page,
    ) -> Result<(Vec<Entry>, u64), StoreUnavailable>;
}

/// Why a file was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefused {
    /// It has more bytes than [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES).
    #[error("the file is larger than 10485760 bytes")]
    TooLarge,
    /// It has no bytes, or its first ones are not those of its declared type.
    #[error("the file is not of its declared type")]
    WrongType,
    /// There is none.
    #[error("the file has not arrived")]
    NotArrived,
    /// The place for files failed; the text is for the log.
    #[error("the store of files failed: {0}")]
    Failed(String),
}

/// A place for files. Objects in it have names of its own making, which hold nothing that a client chose.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Where the merchant sends the bytes of an upload by `PUT`, if that is not to this gateway.
    async fn upload_url(&self, upload: &Upload, now: Timestamp) -> Result<Option<String>, FileRefused>;

    /// Begins to take the bytes of an upload that are sent to this gateway.
    async fn receive(&self, upload: &Upload) -> Result<Box<dyn Incoming>, FileRefused>;

    /// The file of an upload as it will stay from now on, whole, within its bounds and of its type. What breaks a rule is
    /// deleted. Every call may make another object; [`FileStore::sweep`] deletes those that are not used.
    async fn settle(&self, upload: &Upload) -> Result<Arrival, FileRefused>;

    /// Opens an object to read it.
    async fn open(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused>;

    /// Keeps bytes of the gateway's own making, beside an object.
    async fn keep_beside(&self, object: &str, bytes: Vec<u8>) -> Result<String, FileRefused>;

    /// Deletes an object; one that is gone already is no failure.
    async fn delete(&self, object: &str) -> Result<(), FileRefused>;

    /// Deletes all that is stored for an upload but `kept` and what stands beside it.
    async fn sweep(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused>;

    /// Whether files can be written and read now; else why not, in words that anybody may read.
    async fn ready(&self) -> Result<(), &'static str>;
}

/// A file on its way in. Dropped before [`Incoming::finish`] it leaves nothing.
#[async_trait]
pub trait Incoming: Send {
    /// Takes the next bytes. Refuses as soon as the first ones are of another type, or there are too many.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), FileRefused>;

    /// The bytes are complete: makes them durable. Whoever does not use the arrival deletes its object.
    async fn finish(self: Box<Self>) -> Result<Arrival, FileRefused>;
}

/// A file on its way out.
#[async_trait]
pub trait Outgoing: Send {
    /// How many bytes it has.
    fn size(&self) -> u64;

    /// The next bytes, at most 64 KiB; none at the end.
    async fn read(&mut self) -> Result<Option<Vec<u8>>, FileRefused>;
}

/// Makes small pictures.
#[async_trait]
pub trait Thumbnails: Send + Sync {
    /// A picture of at most 256 by 256 pixels, as JPEG or WebP. None if the file is no picture, or would take too many
    /// pixels, too much memory or too much time.
    async fn shrink(&self, picture: Vec<u8>, kind: ContentType) -> Option<(Vec<u8>, ContentType)>;
}
