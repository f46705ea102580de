//! What the table keeps. In a real table this is a type of a domain crate.

use quipu_commit::Record;

/// A page of a merchant's diary.
#[derive(Debug, Clone)]
pub(crate) struct DiaryPage {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) mood: Option<i32>,
}

impl Record for DiaryPage {}
