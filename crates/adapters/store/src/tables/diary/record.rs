//! The record that the table stores. For a real table this type is in a domain crate.

use quipu_commit::Record;

/// A page of a merchant's diary.
#[derive(Debug, Clone)]
pub(crate) struct DiaryPage {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) mood: Option<i32>,
}

impl Record for DiaryPage {}
