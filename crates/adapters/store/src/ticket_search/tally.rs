//! A memory of the number of tickets in which a text is found.
//!
//! A word that is in most tickets of a merchant can be counted only by looking at each of them. But the text,
//! the category and the time of a ticket never change, and no ticket is ever removed. So a count stays right
//! for the tickets that it counted, those made before some instant, and only those made since are looked at.
//! Whether the two together are all tickets is checked each time by the exact number of them that commits
//! keep; if not, because one was committed late, all are counted again.
//!
//! For the same reason a page in the order of creation stays the same while the number of hits does. It is
//! remembered too: for a word that only old tickets have, finding the page is what takes long.

use std::{sync::Arc, time::Duration};

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::{count_star, max},
    sql_types::{Bool, Text},
};
use moka::sync::Cache as Memory;
use quipu_kernel::{Page, Tenant, Timestamp};
use quipu_tickets::{Category, SortKey, SortOrder, TicketFilter};

use super::{
    filter::{TicketQuery, narrowed_to_found, of_tenant, sum_of_counters},
    search::Found,
};
use crate::{
    connection::{Connection, first},
    error::Fault,
    rows::stored::natural,
    schema::tickets,
};

/// How many counts are remembered, the least used of which give way.
const REMEMBERED: u64 = 10_000;
/// How many pages are remembered.
const REMEMBERED_PAGES: u64 = 2_000;
/// For how long one is remembered that nobody asks for.
const UNUSED: Duration = Duration::from_hours(1);
/// How long before the newest ticket the remembered part ends, since of tickets made at once the later one
/// may be committed first.
const OVERLAP: Duration = Duration::from_secs(1);
/// How many tickets are looked at each time at most before the remembered part is made to end later.
const MANY: u64 = 1_000;

/// What is counted: the tickets of a tenant, in some categories or in all, and the text.
type Key = (Tenant, Vec<Category>, String);

/// A count of the tickets made before an instant.
#[derive(Debug, Clone, Copy)]
struct Tally {
    before: Timestamp,
    tickets: u64,
    found: u64,
}

/// The keys of a page, and how many tickets were found in all.
type FoundPage = (u64, Arc<[String]>);

/// The counts and pages that this process remembers.
pub(crate) struct Tallies {
    counts: Memory<Key, Tally>,
    pages: Memory<(Key, SortOrder, Page), FoundPage>,
}

impl Tallies {
    /// None yet.
    pub(crate) fn new() -> Self {
        let counts = Memory::builder().max_capacity(REMEMBERED).time_to_idle(UNUSED).build();
        let pages = Memory::builder().max_capacity(REMEMBERED_PAGES).time_to_idle(UNUSED).build();
        Self { counts, pages }
    }

    /// The keys of a page of `total` tickets, if it is remembered.
    pub(crate) fn page(&self, asked: TicketQuery<'_>, total: u64) -> Option<Vec<String>> {
        let (of_total, ids) = self.pages.get(&page_key(asked)?)?;
        (of_total == total).then(|| ids.to_vec())
    }

    /// Remembers the keys of a page of `total` tickets.
    pub(crate) fn keep_page(&self, asked: TicketQuery<'_>, total: u64, ids: &[String]) {
        if let Some(key) = page_key(asked) {
            self.pages.insert(key, (total, ids.into()));
        }
    }

    /// The exact number of tickets that match, if it follows from what is remembered. Within a snapshot.
    pub(crate) async fn recall(
        &self,
        conn: &mut Connection,
        asked: TicketQuery<'_>,
    ) -> Result<Option<u64>, Fault> {
        let Some(key) = key(asked) else { return Ok(None) };
        let Some(tally) = self.counts.get(&key) else { return Ok(None) };
        let all = sum_of_counters(conn, asked.tenant, &[], &asked.filter.categories).await?;
        let (tickets, found) = since(conn, asked, tally.before).await?;
        if tally.tickets + tickets != all {
            return Ok(None);
        }
        let total = tally.found + found;
        if tickets > MANY {
            self.keep(conn, asked, total).await?;
        }
        Ok(Some(total))
    }

    /// Remembers the number of tickets that match. Within the snapshot in which they were counted.
    pub(crate) async fn keep(
        &self,
        conn: &mut Connection,
        asked: TicketQuery<'_>,
        total: u64,
    ) -> Result<(), Fault> {
        let Some(key) = key(asked) else { return Ok(()) };
        let newest = of_tenant!(tickets::table.select(max(tickets::created_at)), asked.tenant);
        let Some(newest) = first!(conn, Option<i64>, newest)?.flatten() else { return Ok(()) };
        let newest = Timestamp::from_millis(newest);
        let mut before = newest.minus(OVERLAP);
        let (mut tickets, mut found) = since(conn, asked, before).await?;
        if tickets > MANY {
            before = newest;
            (tickets, found) = since(conn, asked, before).await?;
        }
        let all = sum_of_counters(conn, asked.tenant, &[], &asked.filter.categories).await?;
        // The counters are right, or the books are not; a number that cannot be is not remembered.
        if let (Some(tickets), Some(found)) = (all.checked_sub(tickets), total.checked_sub(found)) {
            self.counts.insert(key, Tally { before, tickets, found });
        }
        Ok(())
    }
}

/// What is remembered is counted by text and category alone.
fn key(TicketQuery { tenant, filter, .. }: TicketQuery<'_>) -> Option<Key> {
    let TicketFilter { statuses, categories, search, payment_id, created } = filter;
    let only = statuses.is_empty() && payment_id.is_none() && created.from.is_none() && created.to.is_none();
    let mut categories = categories.clone();
    categories.sort_unstable();
    let search = search.as_ref().filter(|_| only)?;
    Some((tenant, categories, search.folded().to_owned()))
}

/// Only the order of creation never changes.
fn page_key(asked: TicketQuery<'_>) -> Option<(Key, SortOrder, Page)> {
    let TicketQuery { sort, page, .. } = asked;
    if sort.key == SortKey::CreatedAt { Some((key(asked)?, sort.order, page)) } else { None }
}

/// How many tickets were made since, and in how many of them the text is found.
async fn since(conn: &mut Connection, asked: TicketQuery<'_>, from: Timestamp) -> Result<(u64, u64), Fault> {
    let (tenant, mut filter) = (asked.tenant, asked.filter.clone());
    filter.created.from = Some(from);
    let nothing: Option<Found> = None;
    let found = filter.search.as_ref().map(|search| Found::one_by_one(conn, search));
    macro_rules! counted {
        ($found:expr) => {
            of_tenant!(
                narrowed_to_found!(tickets::table.select(count_star()).into_boxed(), filter, $found),
                tenant
            )
        };
    }
    let tickets = natural(first!(conn, i64, counted!(nothing))?.unwrap_or(0))?;
    if tickets == 0 {
        return Ok((0, 0));
    }
    Ok((tickets, natural(first!(conn, i64, counted!(found))?.unwrap_or(0))?))
}
