//! The slice of a list that makes up a page, chosen so that the fewest rows are skipped.

use quipu_kernel::Page;

/// A page, counted from the end of the list that is nearer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) oldest_first: bool,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Slice {
    /// The slice of a page; `None` if the page lies after the end of the list.
    pub(crate) fn of(page: Page, total: u64) -> Option<Self> {
        let left = total.checked_sub(page.offset()).filter(|left| *left > 0)?;
        let limit = left.min(page.limit().into());
        let behind = left - limit;
        let oldest_first = behind < page.offset();
        let offset = if oldest_first { behind } else { page.offset() };
        Some(Self { oldest_first, offset, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_from_the_nearer_end() {
        let slice = |limit, offset, total| {
            let slice = Slice::of(Page::new(limit, offset).expect("a page"), total)?;
            Some((slice.oldest_first, slice.offset, slice.limit))
        };
        assert_eq!(slice(20, 0, 0), None);
        assert_eq!(slice(20, 5, 5), None);
        assert_eq!(slice(20, 0, 5), Some((false, 0, 5)));
        assert_eq!(slice(20, 100, 1000), Some((false, 100, 20)));
        assert_eq!(slice(20, 900, 1000), Some((true, 80, 20)));
        assert_eq!(slice(20, 990, 1000), Some((true, 0, 10)));
    }
}
