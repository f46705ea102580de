//! Files of tickets: uploads, and attachments of comments.

use quipu_kernel::{Tenant, Timestamp};
use serde::Serialize;

use crate::{
    content_type::ContentType,
    draft::NamedUpload,
    ids::{AttachmentId, CommentId, TicketId},
};

/// A file that a merchant has announced, and perhaps sent, and that no comment has used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// The ticket that it is for.
    pub ticket: TicketId,
    /// Its identifier, which the attachment keeps.
    pub id: AttachmentId,
    /// The name that the merchant gave. No file is ever stored under it.
    pub filename: String,
    /// The declared media type.
    pub content_type: ContentType,
    /// When the upload URL was made (UTC).
    pub issued_at: Timestamp,
    /// When the upload URL ends (UTC).
    pub expires_at: Timestamp,
    /// The stored file, once it has arrived.
    pub arrival: Option<Arrival>,
    /// Whether it can no longer be used: a comment has used it, or the clean-up has taken it.
    pub spent: bool,
    /// Grows by one with every change; of two changes decided on the same revision only one happens.
    pub revision: i64,
}

/// A file that arrived completely, with its declared type and an allowed size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its name in the store of files.
    pub object: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Upload {
    /// The `key` that the merchant sends back with its comment. It contains nothing that a client chose.
    pub fn key(&self) -> String {
        format!("{}/{}/{}/{}", self.tenant.environment(), self.tenant.merchant(), self.ticket, self.id)
    }

    /// The upload with its file.
    pub(crate) fn arrived(mut self, arrival: Arrival) -> Self {
        self.arrival = Some(arrival);
        self.revision += 1;
        self
    }

    /// The upload marked as used.
    pub(crate) fn used_up(mut self, arrival: Option<Arrival>) -> Self {
        self.arrival = arrival.or(self.arrival);
        self.spent = true;
        self.revision += 1;
        self
    }

    /// Whether this is the upload that a comment on `ticket` names.
    pub fn answers_to(&self, ticket: &TicketId, named: &NamedUpload) -> bool {
        self.ticket == *ticket
            && self.id == named.id
            && self.content_type == named.content_type
            && self.key() == named.key
    }
}

/// The thumbnail of an attachment, once it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThumbnailMade {
    /// The attachment.
    pub attachment: AttachmentId,
    /// The thumbnail.
    pub thumbnail: Thumbnail,
}

/// A file of a public comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The identifier of the attachment.
    pub id: AttachmentId,
    /// Its name, as the comment gave it.
    pub name: String,
    /// The media type of the file.
    #[serde(rename = "type")]
    pub content_type: ContentType,
    /// Its size in bytes.
    pub size: u64,
}

/// An attachment with the facts that only the gateway knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttachment {
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// The ticket that it belongs to.
    pub ticket: TicketId,
    /// The comment that it belongs to.
    pub comment: CommentId,
    /// Its position among the comment's files, from 0.
    pub place: i32,
    /// The part of it that merchants see.
    pub shown: Attachment,
    /// Its name in the store of files.
    pub object: String,
    /// Its thumbnail, once it is made.
    pub thumbnail: Option<Thumbnail>,
}

/// The thumbnail of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    /// Its name in the store of files.
    pub object: String,
    /// `image/jpeg` or `image/webp`.
    pub content_type: ContentType,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::{self, TENANT};

    #[test]
    fn a_key_names_the_place_and_nothing_that_a_client_chose() {
        let upload = Upload { filename: "../../etc/passwd".to_owned(), ..world::upload("a.png") };
        assert_eq!(upload.key(), format!("test/{}/{}/{}", TENANT.merchant(), upload.ticket, upload.id));
    }

    #[test]
    fn only_the_named_unspent_upload_of_the_ticket_is_used() {
        let upload = world::upload("a.png");
        let named = world::named(&upload);
        assert!(upload.answers_to(&upload.ticket, &named));
        let renamed = NamedUpload { filename: "other.png".to_owned(), ..named.clone() };
        assert!(upload.answers_to(&upload.ticket, &renamed), "the name may differ");
        assert!(!upload.answers_to(&world::ticket_id(99), &named), "another ticket's");
        for other in [
            NamedUpload { key: "test/1/x/y".to_owned(), ..named.clone() },
            NamedUpload { content_type: ContentType::Gif, ..named.clone() },
            NamedUpload { id: world::attachment_id(98), ..named.clone() },
        ] {
            assert!(!upload.answers_to(&upload.ticket, &other), "{other:?}");
        }
    }
}
