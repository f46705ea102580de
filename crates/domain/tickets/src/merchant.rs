//! What merchants do with their tickets.

use std::{borrow::Cow, time::Duration};

use quipu_commit::{Decided, act};
use quipu_kernel::{Problems, Tenant};

use crate::{
    attachment::Upload,
    changes,
    comment::Comment,
    content_type::MAX_FILE_BYTES,
    decide::CompleteUpload,
    draft::{CommentDraft, NO_SUCH_PAYMENT, TicketDraft},
    error::TicketError,
    ids::TicketId,
    office::{TicketOffice, unaudited},
    ports::FileRefused,
    status::Step,
    ticket::{NoSuchStep, Ticket},
};

/// The most files of one ticket.
const MAX_FILES: usize = 200;
/// How long a call begins to delete files that nobody needs. The last deletion may take some five seconds more.
const CLEANING: Duration = Duration::from_secs(5);
/// The problem of a file that a comment names and cannot use.
const UNUSABLE: &str = "must name an upload of this ticket that no comment has used";

impl TicketOffice {
    /// Opens a ticket. A payment that it names must be the tenant's, and no other ticket may be about it.
    pub async fn open(&self, tenant: Tenant, draft: TicketDraft) -> Result<Ticket, TicketError> {
        if let Some(payment) = draft.payment_id()
            && !self.ports.reads.has_payment(tenant, payment).await?
        {
            return Err(TicketError::Invalid(Problems::of("payment_id", NO_SUCH_PAYMENT)));
        }
        let desk = self.desk();
        let change = desk.open(tenant, draft);
        let ticket = change.ticket.clone();
        let changes = changes::of_ticket(change, desk.at, self.periods.close_after);
        self.ports.commit.commit(changes).await?;
        Ok(ticket)
    }

    /// Adds a comment, with files that have arrived. A file that breaks a rule is deleted, and the problem
    /// names its position.
    pub async fn comment(
        &self,
        tenant: Tenant,
        id: &TicketId,
        draft: &CommentDraft,
    ) -> Result<Comment, TicketError> {
        // Before any file is looked at: a ticket that is closed has no use for it.
        let ticket = self.ticket(tenant, id).await?;
        let (status, step) = (ticket.status(), Step::Comment);
        status.after(step).ok_or(NoSuchStep { status, step })?;
        let files = self.complete_uploads(tenant, id, draft).await?;
        let committed = self.commit_comment(tenant, id, draft, &files).await;
        // After a failure of the store the comment may be there all the same, and need its files.
        if committed.as_ref().is_err_and(|error| !matches!(error, TicketError::Store(_))) {
            self.clean(&[], &files).await;
        }
        committed
    }

    async fn commit_comment(
        &self,
        tenant: Tenant,
        id: &TicketId,
        draft: &CommentDraft,
        files: &[CompleteUpload],
    ) -> Result<Comment, TicketError> {
        let read = || async {
            let ticket = self.ticket(tenant, id).await?;
            if ticket.state().attachments.len() + files.len() > MAX_FILES {
                return Err(TicketError::TooManyFiles(MAX_FILES));
            }
            self.require_unspent(tenant, files).await?;
            Ok(ticket)
        };
        let decide = |ticket: Ticket| {
            let desk = self.desk();
            let change = desk.comment(&ticket, draft, files.to_vec())?;
            let comment = change.comment.clone();
            let changes = changes::of_ticket(change, desk.at, self.periods.close_after);
            Ok(Decided::change(changes, comment))
        };
        act(&*self.ports.commit, read, decide).await?.ok_or(TicketError::Overtaken)
    }

    /// Closes the ticket, and adds a comment if there is one.
    pub async fn close(
        &self,
        tenant: Tenant,
        id: &TicketId,
        comment: Option<String>,
    ) -> Result<Ticket, TicketError> {
        let change = self.change(tenant, id, |desk, ticket| desk.close(ticket, comment.clone()), unaudited);
        change.await.map(|change| change.ticket)
    }

    /// Reopens the ticket, and adds a comment if there is one.
    pub async fn reopen(
        &self,
        tenant: Tenant,
        id: &TicketId,
        comment: Option<String>,
    ) -> Result<Ticket, TicketError> {
        let change = self.change(tenant, id, |desk, ticket| desk.reopen(ticket, comment.clone()), unaudited);
        change.await.map(|change| change.ticket)
    }

    /// Makes the files that a comment names ready to be attached.
    async fn complete_uploads(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        draft: &CommentDraft,
    ) -> Result<Vec<CompleteUpload>, TicketError> {
        let (mut uploads, mut places) = (Vec::new(), Vec::new());
        let (mut spent, mut problems) = (Vec::new(), Problems::new());
        for (place, named) in draft.uploads().iter().enumerate() {
            let upload = self.ports.reads.upload(tenant, &named.id).await?;
            match upload.filter(|upload| upload.answers_to(ticket, named)) {
                Some(upload) if !upload.spent => {
                    uploads.push(upload);
                    places.push((place, named));
                }
                unusable => {
                    spent.extend(unusable);
                    problems.add(&format!("attachments.{place}"), UNUSABLE);
                }
            }
        }
        let completed = self.ports.files.complete(&uploads).await;
        let (mut files, mut failure) = (Vec::new(), None);
        for ((upload, (place, named)), arrival) in uploads.into_iter().zip(places).zip(completed) {
            let what: Cow<'_, str> = match arrival {
                Ok(arrival) => {
                    files.push(CompleteUpload { upload, arrival, filename: named.filename.clone() });
                    continue;
                }
                Err(FileRefused::NotArrived) => "has not been uploaded".into(),
                Err(FileRefused::TooLarge) => {
                    format!("is larger than {MAX_FILE_BYTES} bytes, and was deleted").into()
                }
                Err(FileRefused::WrongType) => "is not of its declared type, and was deleted".into(),
                Err(FileRefused::Failed(cause)) => {
                    failure = Some(cause);
                    continue;
                }
            };
            problems.add(&format!("attachments.{place}"), what);
        }
        // What was deleted is told even if the store failed at another file: it would not be found again.
        match failure {
            None if problems.is_empty() => Ok(files),
            Some(cause) if problems.is_empty() => Err(TicketError::Files(cause)),
            _ => {
                self.clean(&spent, &files).await;
                Err(TicketError::Invalid(problems))
            }
        }
    }

    /// Refuses if another comment has used one of the uploads meanwhile.
    async fn require_unspent(&self, tenant: Tenant, files: &[CompleteUpload]) -> Result<(), TicketError> {
        for (place, one) in files.iter().enumerate() {
            let present = self.ports.reads.upload(tenant, &one.upload.id).await?;
            if present.is_none_or(|present| present.revision != one.upload.revision) {
                return Err(TicketError::Invalid(Problems::of(&format!("attachments.{place}"), UNUSABLE)));
            }
        }
        Ok(())
    }

    /// Deletes what was sent to the addresses of `spent` after comments had used these uploads, and the objects that
    /// were made of `files` for a comment that was not committed: one after the other, for a limited time. What
    /// cannot be deleted now is found by the clean-up.
    async fn clean(&self, spent: &[Upload], files: &[CompleteUpload]) {
        let came_late = spent.iter().map(|upload| {
            let used = upload.arrival.as_ref().map(|arrival| arrival.object.as_str());
            self.ports.files.sweep(upload, used)
        });
        let made_now = files.iter().filter(|one| one.upload.arrival.as_ref() != Some(&one.arrival));
        let made_now = made_now.map(|one| self.ports.files.delete(&one.arrival.object));
        let until = self.ports.clock.now().plus(CLEANING);
        for deletion in came_late.chain(made_now) {
            // If one fails, the rest would time out too.
            if self.ports.clock.now() >= until || deletion.await.is_err() {
                return;
            }
        }
    }
}
