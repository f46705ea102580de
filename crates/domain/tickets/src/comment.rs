//! Comments, which everybody sees, and notes, which only support sees.
//!
//! They are two types in two tables. Nothing that a merchant is shown is made from a [`Note`].

use quipu_kernel::Timestamp;
use quipu_merchants::Actor;

use crate::{attachment::Attachment, ids::CommentId};

/// The author of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The merchant.
    Merchant,
    /// A member of support.
    Support(Actor),
}

impl Author {
    /// `author_type` in the interface.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Support(_) => "admin",
        }
    }
}

/// A public comment. Comments are never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The number of the comment.
    pub id: CommentId,
    /// The author of the comment.
    pub author: Author,
    /// The text, 1 to 10,000 characters.
    pub body: String,
    /// The attached files.
    pub attachments: Vec<Attachment>,
    /// When it was written.
    pub created_at: Timestamp,
}

/// An internal note of support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The number of the note.
    pub id: CommentId,
    /// The member of support who wrote it.
    pub author: Actor,
    /// The text, 1 to 10,000 characters.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
}
