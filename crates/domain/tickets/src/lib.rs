#![doc = include_str!("../README.md")]

mod attachment;
mod category;
mod comment;
mod content_type;
mod decide;
mod draft;
mod events;
mod ids;
mod listing;
mod ports;
mod status;
mod support_draft;
mod support_view;
mod ticket;
mod view;

#[cfg(test)]
mod tests;

pub use attachment::{Arrival, Attachment, MAX_FILE_BYTES, StoredAttachment, Thumbnail, Upload};
pub use category::{Category, Priority};
pub use comment::{Author, Comment, Note};
pub use content_type::ContentType;
pub use decide::{Desk, SettledUpload, TicketChange};
pub use draft::{CommentDraft, NamedUpload, TicketDraft, UploadDraft, parse_closing_comment};
pub use ids::{AttachmentId, CommentId, TicketId};
pub use listing::{
    QueueFilter, QueueItem, SearchText, SortKey, SortOrder, TicketFilter, TicketSort, TicketSummary, fold,
    queue_rank,
};
pub use ports::{FileRefused, FileStore, Incoming, Outgoing, SupportReads, Thumbnails, TicketReads};
pub use status::{Status, Step};
pub use support_draft::{MoveDraft, ReplyDraft, parse_assignment};
pub use support_view::{Entry, EntryRecord, QueueRecord, SupportTicket};
pub use ticket::{NoSuchStep, State, Terms, Ticket};
pub use view::{CommentRecord, SummaryRecord, TicketRecord};
