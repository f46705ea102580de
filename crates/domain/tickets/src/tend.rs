//! Work that happens without a request: resolved tickets close, thumbnails are made, unused files are
//! deleted. Every piece of work may be repeated; a repeat succeeds and changes nothing.

use std::time::Duration;

use quipu_commit::{Changes, Queue, WorkChange, WorkInHand};

use crate::{
    attachment::{StoredAttachment, Thumbnail, ThumbnailMade, Upload},
    changes,
    error::TicketError,
    office::TicketOffice,
    ports::{FileRefused, ThumbnailFailed},
};

/// How often a thumbnail is attempted. A picture that takes too much memory or processor time ends its attempt
/// like one that the system stopped, so attempts have to end.
const THUMBNAIL_ATTEMPTS: i32 = 5;
/// How often it is attempted where something else fails, such as the store of files.
const MOST_ATTEMPTS: i32 = 100;
/// How long reading a picture and making its thumbnail may take together. A caller that gives up earlier never
/// learns how the attempt ended.
pub const THUMBNAIL_TIME: Duration = Duration::from_secs(20);

/// The queues of this crate.
pub const TICKET_QUEUES: [Queue; 3] = [Queue::TICKET_CLOSING, Queue::THUMBNAILS, Queue::UPLOADS];

impl TicketOffice {
    /// Does a claimed piece of work of one of [`TICKET_QUEUES`].
    pub async fn attend(&self, claimed: &WorkInHand) -> Result<(), TicketError> {
        match claimed.queue {
            Queue::TICKET_CLOSING => self.close_in_time(claimed).await,
            Queue::THUMBNAILS => self.make_thumbnail(claimed).await,
            Queue::UPLOADS => self.clean_up(claimed).await,
            _ => self.finish(claimed, Changes::new(claimed.tenant, self.ports.clock.now())).await,
        }
    }

    async fn close_in_time(&self, claimed: &WorkInHand) -> Result<(), TicketError> {
        let desk = self.desk();
        let nothing = Changes::new(claimed.tenant, desk.at);
        let Ok(id) = claimed.subject.parse() else { return self.finish(claimed, nothing).await };
        let Some(ticket) = self.ports.reads.ticket(claimed.tenant, &id).await? else {
            return self.finish(claimed, nothing).await;
        };
        match ticket.closes_at(self.periods.close_after) {
            Some(due) if due > desk.at => {
                let mut changes = nothing;
                let claim = claimed.clone();
                changes.work.push(WorkChange::PutOff { claim, due, action: "" });
                self.commit(changes).await
            }
            Some(_) => {
                let change = desk.close_by_itself(&ticket)?;
                // It drops the work by itself, because the ticket is no longer resolved.
                self.commit(changes::of_ticket(change, desk.at, self.periods.close_after)).await
            }
            None => self.finish(claimed, nothing).await,
        }
    }

    async fn make_thumbnail(&self, claimed: &WorkInHand) -> Result<(), TicketError> {
        let mut changes = Changes::new(claimed.tenant, self.ports.clock.now());
        if claimed.attempts <= MOST_ATTEMPTS
            && let Ok(id) = claimed.subject.parse()
            && let Some(stored) = self.ports.reads.attachment(claimed.tenant, &id).await?
            && stored.thumbnail.is_none()
            && let Some(thumbnail) = self.thumbnail_of(&stored, claimed.attempts).await?
        {
            changes.add(ThumbnailMade { attachment: id, thumbnail });
        }
        self.finish(claimed, changes).await
    }

    async fn thumbnail_of(
        &self,
        stored: &StoredAttachment,
        attempts: i32,
    ) -> Result<Option<Thumbnail>, TicketError> {
        let begun = self.ports.clock.now();
        let failed = |refused: FileRefused| TicketError::Files(refused.to_string());
        let mut outgoing = match self.ports.files.open(&stored.object).await {
            // A bucket may not have a copy everywhere at once.
            Err(FileRefused::NotArrived) if attempts >= THUMBNAIL_ATTEMPTS => return Ok(None),
            other => other.map_err(failed)?,
        };
        let mut picture = Vec::new();
        while let Some(piece) = outgoing.read().await.map_err(failed)? {
            picture.extend_from_slice(&piece);
        }
        let left = THUMBNAIL_TIME.saturating_sub(self.ports.clock.now().since(begun));
        if left.is_zero() {
            return Err(TicketError::Files("it took too long to read the picture".to_owned()));
        }
        let made = self.ports.thumbnails.shrink(picture, stored.shown.content_type, left).await;
        let Some((small, content_type)) = made_or_given_up(made, attempts)? else { return Ok(None) };
        let object = self.ports.files.keep_beside(&stored.object, small).await.map_err(failed)?;
        Ok(Some(Thumbnail { object, content_type }))
    }

    /// Deletes everything that is stored for an upload, except what a comment uses. An upload that no comment
    /// has used is marked as used first, so that no comment can use it while its file is deleted.
    async fn clean_up(&self, claimed: &WorkInHand) -> Result<(), TicketError> {
        let at = self.ports.clock.now();
        let nothing = Changes::new(claimed.tenant, at);
        let Ok(id) = claimed.subject.parse() else { return self.finish(claimed, nothing).await };
        let Some(upload) = self.ports.reads.upload(claimed.tenant, &id).await? else {
            return self.finish(claimed, nothing).await;
        };
        if upload.expires_at > at {
            let mut changes = nothing;
            let (claim, due) = (claimed.clone(), upload.expires_at);
            changes.work.push(WorkChange::PutOff { claim, due, action: "" });
            return self.commit(changes).await;
        }
        let used = self.ports.reads.attachment(claimed.tenant, &id).await?;
        if used.is_none() && !upload.spent {
            let committed =
                self.ports.commit.commit(changes::of_upload(upload.clone().used_up(None), at)).await;
            match committed {
                Ok(_) => {}
                // Its file or a comment came first. The work stays claimed, and is looked at again when its lease ends.
                Err(error) if error.is_stale() => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.sweep(claimed, &upload).await
    }

    async fn sweep(&self, claimed: &WorkInHand, upload: &Upload) -> Result<(), TicketError> {
        let used = self.ports.reads.attachment(claimed.tenant, &upload.id).await?;
        let kept = used.as_ref().map(|stored| stored.object.as_str());
        let swept = self.ports.files.sweep(upload, kept).await;
        swept.map_err(|refused| TicketError::Files(refused.to_string()))?;
        self.finish(claimed, Changes::new(claimed.tenant, self.ports.clock.now())).await
    }

    async fn finish(&self, claimed: &WorkInHand, mut changes: Changes) -> Result<(), TicketError> {
        changes.work.push(WorkChange::Done(claimed.clone()));
        self.commit(changes).await
    }

    /// Commits. A stale decision was overtaken by another one, which is as good.
    async fn commit(&self, changes: Changes) -> Result<(), TicketError> {
        match self.ports.commit.commit(changes).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_stale() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The thumbnail, or none after the last attempt.
fn made_or_given_up<T>(
    made: Result<Option<T>, ThumbnailFailed>,
    attempts: i32,
) -> Result<Option<T>, ThumbnailFailed> {
    made.or_else(|failed| if attempts < THUMBNAIL_ATTEMPTS { Err(failed) } else { Ok(None) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_that_could_not_be_made_is_attempted_again_and_not_for_ever() {
        let failed = ThumbnailFailed("the process was stopped".to_owned());
        for attempts in 1..THUMBNAIL_ATTEMPTS {
            assert_eq!(made_or_given_up::<()>(Err(failed.clone()), attempts), Err(failed.clone()));
        }
        assert_eq!(made_or_given_up::<()>(Err(failed), THUMBNAIL_ATTEMPTS), Ok(None));
        assert_eq!(made_or_given_up(Ok(Some(1)), THUMBNAIL_ATTEMPTS), Ok(Some(1)));
    }
}
