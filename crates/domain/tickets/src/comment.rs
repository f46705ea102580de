//! What is said on a ticket: comments, which everybody sees, and notes, which only support sees.
//!
//! They are two types in two tables. Nothing that a merchant is shown is made from a [`Note`].

use quipu_kernel::Timestamp;
use quipu_merchants::Actor;

use crate::{attachment::Attachment, ids::CommentId};

/// Who wrote a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The merchant.
    Merchant,
    /// This member of support.
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
    /// Its number.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Author,
    /// 1 to 10,000 characters.
    pub body: String,
    /// Its files.
    pub attachments: Vec<Attachment>,
    /// When it was written.
    pub created_at: Timestamp,
}

/// An internal note of support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its number.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Actor,
    /// 1 to 10,000 characters.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
}
