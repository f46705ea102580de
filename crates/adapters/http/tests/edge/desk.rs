//! A desk for tickets on which there is nothing yet.

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::{Page, PaymentId, Period, StoreError, Tenant, Timestamp};
use quipu_tickets::{
    Arrival, AttachmentId, Comment, CommentId, ContentType, Entry, FileRefused, FileStore, Incoming,
    Outgoing, QueueFilter, QueueItem, StoredAttachment, SupportReads, ThumbnailFailed, Thumbnails, Ticket,
    TicketFilter, TicketId, TicketReads, TicketSort, TicketSummary, Upload,
};

pub(crate) struct EmptyDesk;

#[async_trait]
impl TicketReads for EmptyDesk {
    async fn ticket(&self, _: Tenant, _: &TicketId) -> Result<Option<Ticket>, StoreError> {
        Ok(None)
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

    async fn comments(&self, _: Tenant, _: &TicketId, _: Page) -> Result<(Vec<Comment>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn has_comment(&self, _: Tenant, _: &TicketId, _: CommentId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn attachment(&self, _: Tenant, _: &AttachmentId) -> Result<Option<StoredAttachment>, StoreError> {
        Ok(None)
    }

    async fn has_payment(&self, _: Tenant, _: &PaymentId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn upload(&self, _: Tenant, _: &AttachmentId) -> Result<Option<Upload>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl SupportReads for EmptyDesk {
    async fn queue(&self, _: &QueueFilter, _: Page) -> Result<(Vec<QueueItem>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn any_ticket(&self, _: &TicketId) -> Result<Option<Ticket>, StoreError> {
        Ok(None)
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

#[async_trait]
impl FileStore for EmptyDesk {
    async fn upload_url(&self, _: &Upload, _: Timestamp) -> Result<Option<String>, FileRefused> {
        Ok(None)
    }

    async fn receive(&self, _: &Upload) -> Result<Box<dyn Incoming>, FileRefused> {
        Err(FileRefused::NotArrived)
    }

    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>> {
        vec![Err(FileRefused::NotArrived); uploads.len()]
    }

    async fn open(&self, _: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        Err(FileRefused::NotArrived)
    }

    async fn keep_beside(&self, _: &str, _: Vec<u8>) -> Result<String, FileRefused> {
        Err(FileRefused::NotArrived)
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
impl Thumbnails for EmptyDesk {
    async fn shrink(
        &self,
        _: Vec<u8>,
        _: ContentType,
        _: Duration,
    ) -> Result<Option<(Vec<u8>, ContentType)>, ThumbnailFailed> {
        Ok(None)
    }
}
