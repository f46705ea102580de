//! Pages of a tenant's tickets.

use std::collections::HashMap;

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::count_star,
    sql_types::{Bool, Text},
};
use quipu_tickets::{SortKey, SortOrder, TicketSummary};

use super::ticket_rows::{SummaryRow, selection};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    keys::Keys,
    rows::stored::{bigint, natural},
    schema::tickets,
    ticket_search::{
        filter::{TicketQuery, narrowed_to_found, of_tenant, sum_of_counters},
        search::{FEW, Found, few},
        tally::Tallies,
    },
};

/// A page, and the number of all that match; both from the same state of the database.
pub(super) async fn list(
    conn: &mut Connection,
    asked: TicketQuery<'_>,
    tallies: &Tallies,
) -> Result<(Vec<TicketSummary>, u64), Fault> {
    conn.begin_snapshot().await?;
    let (ids, total) = keys(conn, asked, tallies).await?;
    let keys = Keys::of(asked.tenant, "tickets").with("id", ids.iter().map(String::as_str));
    let query = tickets::table.filter(keys).select(selection::<SummaryRow>());
    let rows = load!(conn, SummaryRow, query)?;
    conn.commit().await?;
    let mut by_id: HashMap<String, SummaryRow> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    let in_order = ids.iter().filter_map(|id| by_id.remove(id));
    Ok((in_order.map(SummaryRow::into_summary).collect::<Result<_, _>>()?, total))
}

/// The keys of a page, and the number of all that match.
async fn keys(
    conn: &mut Connection,
    asked: TicketQuery<'_>,
    tallies: &Tallies,
) -> Result<(Vec<String>, u64), Fault> {
    let known = tallies.recall(conn, asked).await?;
    if let Some(total) = known
        && let Some(ids) = tallies.page(asked, total)
    {
        return Ok((ids, total));
    }
    let (ids, total) = find(conn, asked, known, tallies).await?;
    tallies.keep_page(asked, total, &ids);
    Ok((ids, total))
}

/// The same without remembered pages; `known` is the number of all that match, if it is remembered.
async fn find(
    conn: &mut Connection,
    asked: TicketQuery<'_>,
    known: Option<u64>,
    tallies: &Tallies,
) -> Result<(Vec<String>, u64), Fault> {
    // What is known to be many is not looked for among the few.
    if known.is_none_or(|total| total <= FEW as u64)
        && let Some((ids, total)) = few(conn, asked)?
    {
        if known.is_none() {
            tallies.keep(conn, asked, total).await?;
        }
        return Ok((ids, total));
    }
    let total = if let Some(total) = known {
        total
    } else {
        let total = count(conn, asked).await?;
        tallies.keep(conn, asked, total).await?;
        total
    };
    let some = asked.page.offset() < total;
    Ok((if some { ids(conn, asked).await? } else { Vec::new() }, total))
}

/// The number of tickets that match. For a filter by status and category only, it is the sum of the few
/// counters that every commit keeps; otherwise they are counted.
async fn count(conn: &mut Connection, asked: TicketQuery<'_>) -> Result<u64, Fault> {
    let TicketQuery { tenant, filter, .. } = asked;
    let period = filter.created;
    let is_counted = filter.search.is_none()
        && filter.payment_id.is_none()
        && period.from.is_none()
        && period.to.is_none();
    if is_counted {
        return sum_of_counters(conn, tenant, &filter.statuses, &filter.categories).await;
    }
    let found = match &filter.search {
        // The index of texts is of all merchants: few own texts are read sooner than the matches of everybody.
        Some(search) if sum_of_counters(conn, tenant, &[], &[]).await? <= FEW as u64 => {
            Some(Found::in_order(conn, search))
        }
        search => search.as_ref().map(|search| Found::counted(conn, search)),
    };
    macro_rules! query {
        () => {
            of_tenant!(
                narrowed_to_found!(tickets::table.select(count_star()).into_boxed(), filter, found),
                tenant
            )
        };
    }
    natural(first!(conn, i64, query!())?.unwrap_or(0))
}

/// The keys of a page. Skipped rows are only read in an index.
async fn ids(conn: &mut Connection, asked: TicketQuery<'_>) -> Result<Vec<String>, Fault> {
    let TicketQuery { tenant, filter, sort, page } = asked;
    let found = filter.search.as_ref().map(|search| Found::in_order(conn, search));
    macro_rules! query {
        () => {{
            let query = narrowed_to_found!(tickets::table.select(tickets::id).into_boxed(), filter, found);
            let mut query = of_tenant!(query, tenant);
            if sort.key == SortKey::Status && !filter.statuses.is_empty() {
                // The order is that of an index with the ranks.
                let ranks = filter.statuses.iter().map(|status| i32::from(status.rank()));
                query = query.filter(tickets::status_rank.eq_any(ranks));
            }
            let query = query.limit(page.limit().into()).offset(bigint(page.offset()));
            match (sort.key, sort.order) {
                (SortKey::CreatedAt, SortOrder::Descending) => {
                    query.order((tickets::created_at.desc(), tickets::id.desc()))
                }
                (SortKey::CreatedAt, SortOrder::Ascending) => {
                    query.order((tickets::created_at.asc(), tickets::id.asc()))
                }
                (SortKey::UpdatedAt, SortOrder::Descending) => {
                    query.order((tickets::updated_at.desc(), tickets::id.desc()))
                }
                (SortKey::UpdatedAt, SortOrder::Ascending) => {
                    query.order((tickets::updated_at.asc(), tickets::id.asc()))
                }
                (SortKey::LastActivityAt, SortOrder::Descending) => {
                    query.order((tickets::last_activity_at.desc(), tickets::id.desc()))
                }
                (SortKey::LastActivityAt, SortOrder::Ascending) => {
                    query.order((tickets::last_activity_at.asc(), tickets::id.asc()))
                }
                (SortKey::Status, SortOrder::Descending) => {
                    query.order((tickets::status_rank.desc(), tickets::id.desc()))
                }
                (SortKey::Status, SortOrder::Ascending) => {
                    query.order((tickets::status_rank.asc(), tickets::id.asc()))
                }
            }
        }};
    }
    Ok(load!(conn, String, query!())?)
}
