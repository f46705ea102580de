//! Finds a page of a list whose rows are counted by periods of time, so that whole periods before it are
//! skipped.

use quipu_kernel::{Page, Timestamp};

use super::slice::Slice;

/// The number of rows that are cheap to skip one by one.
pub(super) const NEAR: u64 = 100;

/// A period of time, both ends included, and the number of rows in it. Without an end it reaches to the end
/// of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
    pub(super) count: u64,
}

/// Rows to be read from a period that has `count` rows, counted from one of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
    pub(super) count: u64,
    pub(super) offset: u64,
    pub(super) limit: u64,
}

/// The position of a page, newest first, in a list whose rows lie in `stretches`: whether to count from the
/// oldest row, which is done if that end is nearer, and the part to read. There are no rows between two
/// periods.
pub(super) fn part_of(page: Page, stretches: &[Stretch]) -> (bool, Option<Part>) {
    let total: u64 = stretches.iter().map(|stretch| stretch.count).sum();
    let Some(slice) = Slice::of(page, total) else { return (false, None) };
    let part = if slice.oldest_first {
        part(&slice, stretches.iter())
    } else {
        part(&slice, stretches.iter().rev())
    };
    (slice.oldest_first, part)
}

fn part<'s>(slice: &Slice, stretches: impl Iterator<Item = &'s Stretch>) -> Option<Part> {
    let mut skipped = slice.offset;
    let mut found: Option<Part> = None;
    for &Stretch { from, to, count } in stretches {
        match &mut found {
            None if skipped >= count => skipped -= count,
            None => found = Some(Part { from, to, count, offset: skipped, limit: slice.limit }),
            Some(part) if part.count >= part.offset + part.limit => break,
            Some(part) => {
                part.count += count;
                if slice.oldest_first {
                    part.to = to;
                } else {
                    part.from = from;
                }
            }
        }
    }
    found
}

impl Part {
    /// The beginning of a part whose rows lie far from the end from which they are counted: the period that
    /// contains most of the rows to be skipped, if rows come evenly. `None` if there are few to skip.
    pub(super) fn lead(&self, oldest_first: bool) -> Option<(Timestamp, Timestamp)> {
        let (from, to) = (self.from?.millis(), self.to?.millis());
        let most = u128::from(self.offset - self.offset / 8);
        let span = u128::try_from(to.checked_sub(from)?.checked_add(1)?).ok()?;
        let lead = i64::try_from(span * most / u128::from(self.count.max(1))).ok()?;
        if self.offset <= NEAR || lead == 0 || u128::try_from(lead) == Ok(span) {
            return None;
        }
        let (from, to) = if oldest_first { (from, from + lead - 1) } else { (to - lead + 1, to) };
        Some((Timestamp::from_millis(from), Timestamp::from_millis(to)))
    }

    /// The same rows in a shorter period, after `count` rows were found in the beginning of the part; `None`
    /// if the rows lie on both sides.
    pub(super) fn narrowed(
        &self,
        oldest_first: bool,
        lead: (Timestamp, Timestamp),
        count: u64,
    ) -> Option<Self> {
        if count >= self.offset + self.limit {
            return Some(Self { from: Some(lead.0), to: Some(lead.1), count, ..self.clone() });
        }
        let offset = self.offset.checked_sub(count)?;
        let mut rest = Self { count: self.count.checked_sub(count)?, offset, ..self.clone() };
        if oldest_first {
            rest.from = Some(Timestamp::from_millis(lead.1.millis() + 1));
        } else {
            rest.to = Some(Timestamp::from_millis(lead.0.millis() - 1));
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = (bool, Option<(i64, i64, u64, u64, u64)>);

    fn found(page: (u32, u64), stretches: &[(i64, i64, u64)]) -> Found {
        let at = |at| Some(Timestamp::from_millis(at));
        let stretches: Vec<_> = stretches
            .iter()
            .map(|(from, to, count)| Stretch { from: at(*from), to: at(*to), count: *count })
            .collect();
        let page = Page::new(page.0, page.1).expect("a page");
        let (oldest_first, part) = part_of(page, &stretches);
        let ends = |part: Part| {
            let (from, to) = (part.from.expect("a start").millis(), part.to.expect("an end").millis());
            (from, to, part.count, part.offset, part.limit)
        };
        (oldest_first, part.map(ends))
    }

    #[test]
    fn stretches_before_a_page_are_skipped_whole() {
        let days = [(0, 9, 50), (10, 19, 50), (20, 29, 50), (30, 39, 50)];
        assert_eq!(found((20, 60), &days), (false, Some((20, 29, 50, 10, 20))));
        assert_eq!(found((20, 50), &days), (false, Some((20, 29, 50, 0, 20))));
        assert_eq!(found((20, 120), &days), (true, Some((10, 19, 50, 10, 20))));
        assert_eq!(found((20, 200), &days), (false, None));
    }

    #[test]
    fn a_page_over_several_stretches_is_read_as_one() {
        assert_eq!(found((20, 5), &[(0, 9, 30), (10, 19, 15)]), (false, Some((0, 19, 45, 5, 20))));
        assert_eq!(found((20, 20), &[(0, 9, 30), (10, 19, 25)]), (true, Some((0, 19, 55, 15, 20))));
        let apart = [(0, 9, 2), (20, 29, 2), (40, 49, 2)];
        assert_eq!(found((5, 0), &apart), (false, Some((0, 49, 6, 0, 5))));
        assert_eq!(found((2, 1), &apart), (false, Some((20, 49, 4, 1, 2))));
        assert_eq!(found((2, 4), &apart), (true, Some((0, 9, 2, 0, 2))));
    }

    #[test]
    fn a_stretch_without_ends_is_read_as_it_is() {
        let open = Stretch { from: None, to: None, count: 3 };
        let page = Page::new(10, 0).expect("a page");
        let part = Part { from: None, to: None, count: 3, offset: 0, limit: 3 };
        assert_eq!(part_of(page, std::slice::from_ref(&open)), (false, Some(part)));
    }

    /// The times of the rows of a part, counted from an end.
    fn of<'t>(part: &Part, oldest_first: bool, times: &'t [i64]) -> Vec<&'t i64> {
        let (from, to) = (part.from.expect("a start").millis(), part.to.expect("an end").millis());
        let mut within: Vec<_> = times.iter().filter(|time| (from..=to).contains(time)).collect();
        if !oldest_first {
            within.reverse();
        }
        assert_eq!(within.len() as u64, part.count, "{part:?}");
        let count = |count: u64| usize::try_from(count).expect("small");
        within.into_iter().skip(count(part.offset)).take(count(part.limit)).collect()
    }

    #[test]
    fn rows_far_from_the_end_are_approached_without_losing_any() {
        let even: Vec<i64> = (0..5_000).map(|number| number * 20).collect();
        let bursts: Vec<i64> = (0..5_000).map(|number| number / 700 * 12_000 + number % 3).collect();
        let mut bursts = bursts;
        bursts.sort_unstable();
        let at = |at| Some(Timestamp::from_millis(at));
        for (times, is_even) in [(&even, true), (&bursts, false)] {
            for (offset, oldest_first) in (0..4_980).step_by(83).flat_map(|at| [(at, true), (at, false)]) {
                let mut part = Part { from: at(0), to: at(99_999), count: 5_000, offset, limit: 20 };
                let expected = of(&part, oldest_first, times);
                let mut rounds = 0;
                while let Some(lead) = part.lead(oldest_first) {
                    let within = lead.0.millis()..=lead.1.millis();
                    let count = times.iter().filter(|time| within.contains(time)).count() as u64;
                    let Some(narrower) = part.narrowed(oldest_first, lead, count) else { break };
                    part = narrower;
                    assert_eq!(of(&part, oldest_first, times), expected, "{part:?}");
                    rounds += 1;
                    assert!(rounds < 100, "{part:?}");
                }
                assert!(!is_even || (part.offset <= NEAR && rounds <= 3), "{part:?} after {rounds} rounds");
            }
        }
    }
}
