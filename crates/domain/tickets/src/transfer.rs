//! The upload and download of files.

use quipu_kernel::{Tenant, Timestamp};

use crate::{
    attachment::{Arrival, StoredAttachment, Upload},
    changes,
    draft::UploadDraft,
    error::{TicketError, UploadError},
    ids::{AttachmentId, TicketId},
    office::TicketOffice,
    ports::{FileRefused, Incoming, Outgoing},
    status::Step,
    ticket::NoSuchStep,
};

/// An upload that may be sent now, and the URL to send it to if that is not this gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedUpload {
    /// The announced upload.
    pub upload: Upload,
    /// A URL of the store of files; `None` if the file is sent to this gateway.
    pub elsewhere: Option<String>,
}

impl TicketOffice {
    /// Announces a file for a ticket that takes comments.
    pub async fn announce(
        &self,
        tenant: Tenant,
        id: &TicketId,
        draft: UploadDraft,
    ) -> Result<IssuedUpload, TicketError> {
        let ticket = self.ticket(tenant, id).await?;
        let (status, step) = (ticket.status(), Step::Comment);
        status.after(step).ok_or(NoSuchStep { status, step })?;
        let desk = self.desk();
        let upload = desk.announce(&ticket, draft, self.periods.upload_expires_in);
        let elsewhere = self.ports.files.upload_url(&upload, desk.at).await;
        let elsewhere = elsewhere.map_err(|refused| TicketError::Files(refused.to_string()))?;
        let changes = changes::of_new_upload(upload.clone(), desk.at);
        self.ports.commit.commit(changes).await?;
        Ok(IssuedUpload { upload, elsewhere })
    }

    /// Begins to receive the bytes of an upload. The caller must have verified the URL.
    pub async fn receive(
        &self,
        tenant: Tenant,
        id: &AttachmentId,
    ) -> Result<(Upload, Box<dyn Incoming>), UploadError> {
        let upload = self.ports.reads.upload(tenant, id).await?.ok_or(UploadError::NotFound)?;
        if upload.arrival.is_some() || upload.spent {
            return Err(UploadError::Used);
        }
        match self.ports.files.receive(&upload).await {
            Ok(incoming) => Ok((upload, incoming)),
            // The files of this gateway are sent elsewhere.
            Err(FileRefused::NotArrived) => Err(UploadError::NotFound),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Notes that the file of an upload has arrived. If two files arrive for the same upload, the first
    /// counts.
    pub async fn arrived(&self, upload: Upload, arrival: Arrival, at: Timestamp) -> Result<(), UploadError> {
        let object = arrival.object.clone();
        let committed = self.ports.commit.commit(changes::of_upload(upload.arrived(arrival), at)).await;
        let Err(error) = committed else { return Ok(()) };
        if !error.is_stale() {
            // It may have been committed all the same; the clean-up knows later.
            return Err(error.into());
        }
        let _ = self.ports.files.delete(&object).await;
        Err(UploadError::Used)
    }

    /// An attachment of this ticket.
    pub async fn attachment(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        id: &AttachmentId,
    ) -> Result<Option<StoredAttachment>, TicketError> {
        let found = self.ports.reads.attachment(tenant, id).await?;
        Ok(found.filter(|stored| stored.ticket == *ticket))
    }

    /// Opens an object of the store of files.
    pub async fn open_file(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        self.ports.files.open(object).await
    }

    /// Whether the store of files is there now; otherwise the reason, in words that anybody may read.
    pub async fn files_ready(&self) -> Result<(), &'static str> {
        self.ports.files.ready().await
    }
}
