//! A page of a list.

use crate::{json::MAX_JSON_INTEGER, problems::Problems};

/// Which part of a list is wanted (docs/API.md, "Lists").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Page {
    limit: u32,
    offset: u64,
}

impl Page {
    /// The most items a page may hold.
    pub const MAX_LIMIT: u32 = 100;
    /// The number of items of a page unless the caller asks for another.
    pub const DEFAULT_LIMIT: u32 = 20;

    /// A page of `limit` items (1 to 100) after the first `offset` items (at most 2^53 − 1, so that any
    /// database takes it).
    pub fn new(limit: u32, offset: u64) -> Option<Self> {
        let fits = (1..=Self::MAX_LIMIT).contains(&limit) && offset <= MAX_JSON_INTEGER.unsigned_abs();
        fits.then_some(Self { limit, offset })
    }

    /// The page that a caller asks for, or what is wrong with it.
    pub fn read(limit: u64, offset: u64, problems: &mut Problems) -> Option<Self> {
        let limit = u32::try_from(limit).ok().filter(|limit| Self::new(*limit, 0).is_some());
        if limit.is_none() {
            problems.add("limit", format_args!("must be from 1 to {}", Self::MAX_LIMIT));
        }
        let page = Self::new(limit.unwrap_or(Self::DEFAULT_LIMIT), offset);
        if page.is_none() {
            problems.add("offset", "is too large");
        }
        page.filter(|_| limit.is_some())
    }

    /// The greatest number of items on the page.
    pub const fn limit(self) -> u32 {
        self.limit
    }

    /// The number of items before the page.
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// How many pages of this size `total` items fill; 0 for none.
    pub const fn pages(self, total: u64) -> u64 {
        total.div_ceil(self.limit as u64)
    }
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: Self::DEFAULT_LIMIT, offset: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_to_a_hundred_items() {
        assert_eq!(Page::new(0, 0), None);
        assert_eq!(Page::new(101, 0), None);
        assert!(Page::new(1, 0).is_some() && Page::new(100, 7).is_some());
    }

    #[test]
    fn whatever_is_wrong_with_a_page_is_told_by_its_own_name() {
        let read = |limit, offset| {
            let mut problems = Problems::new();
            Page::read(limit, offset, &mut problems).ok_or(problems.into_messages())
        };
        assert_eq!(read(100, 7), Page::new(100, 7).ok_or(vec![]));
        let (limit, offset) = ("limit must be from 1 to 100".to_owned(), "offset is too large".to_owned());
        for wrong in [0, 101, u64::MAX] {
            assert_eq!(read(wrong, 0), Err(vec![limit.clone()]));
        }
        assert_eq!(read(1, 1 << 53), Err(vec![offset.clone()]));
        assert_eq!(read(0, 1 << 53), Err(vec![limit, offset]));
    }

    #[test]
    fn an_empty_list_has_no_pages() {
        let page = Page::default();
        assert_eq!([page.pages(0), page.pages(1), page.pages(20), page.pages(21)], [0, 1, 1, 2]);
    }
}
