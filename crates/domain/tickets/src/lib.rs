#![doc = include_str!("../README.md")]

mod attachment;
mod category;
mod changes;
mod comment;
mod content_type;
mod decide;
mod draft;
mod error;
mod events;
mod ids;
mod listing;
mod merchant;
mod office;
mod ports;
mod status;
mod support;
mod support_draft;
mod support_view;
mod tend;
mod ticket;
mod transfer;
mod view;

#[cfg(test)]
mod tests;

pub use attachment::{Arrival, Attachment, StoredAttachment, Thumbnail, ThumbnailMade, Upload};
pub use category::{Category, Priority};
pub use changes::{CommentOn, NoteOn};
pub use comment::{Author, Comment, Note};
pub use content_type::{ContentType, MAX_FILE_BYTES};
pub use decide::{CompleteUpload, Desk, TicketChange};
pub use draft::{CommentDraft, NamedUpload, TicketDraft, UploadDraft, parse_closing_comment};
pub use error::{TicketError, UploadError};
pub use ids::{AttachmentId, CommentId, TicketId};
pub use listing::{
    QueueFilter, QueueItem, SearchText, SortKey, SortOrder, TicketFilter, TicketSort, TicketSummary,
    queue_rank,
};
pub use office::{TicketOffice, TicketPeriods, TicketPorts};
pub use ports::{
    FileRefused, FileStore, Incoming, Outgoing, SupportReads, ThumbnailFailed, Thumbnails, TicketReads,
};
pub use status::{Status, Step};
pub use support_draft::{MoveDraft, ReplyDraft, parse_assignment};
pub use support_view::{Entry, EntryRecord, QueueRecord, SupportTicket};
pub use tend::{THUMBNAIL_TIME, TICKET_QUEUES};
pub use ticket::{NoSuchStep, State, Terms, Ticket};
pub use transfer::IssuedUpload;
pub use view::{CommentRecord, SummaryRecord, TicketRecord};
