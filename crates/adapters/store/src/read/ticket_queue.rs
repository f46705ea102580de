//! Reads for support, over all tenants.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _, dsl::count_star};
use quipu_kernel::{Page, Period, StoreError, Tenant};
use quipu_tickets::{
    Entry, Priority, QueueFilter, QueueItem, Status, SupportReads, Ticket, TicketId, queue_rank,
};

use super::{
    ticket_rows::{NoteRow, SummaryRow, selection},
    tickets::{comments_of, of_ticket, ticket},
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    query::Reading,
    rows::{
        period::in_period,
        stored::{bigint, natural, tenant_of},
    },
    schema::{ticket_comments, ticket_notes, tickets},
    store::Store,
    ticket_search::filter::narrowed,
};

/// Narrows a boxed query over `tickets` to a filter of the queue.
macro_rules! narrowed_to_queue {
    ($query:expr, $filter:expr) => {{
        let mut query = narrowed!($query, $filter);
        if let Some(merchant) = $filter.merchant {
            query = query.filter(tickets::merchant_id.eq(merchant.0));
        }
        if let Some(environment) = $filter.environment {
            query = query.filter(tickets::environment.eq(environment.as_str()));
        }
        let mut ranks: Vec<_> = $filter.statuses.iter().flat_map(|status| ranks_of(*status)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        if ranks.len() == 2 {
            // Whether tickets are finished is in the index of the queue, and their status is not.
            query = query.filter(tickets::queue_rank.eq_any(ranks));
        }
        if let Some(priority) = $filter.priority {
            // Finished tickets stand two places behind.
            let rank = i32::from(priority.rank());
            query = query.filter(tickets::queue_rank.eq_any([rank, rank + 2]));
        }
        if let Some(assignee) = &$filter.assignee {
            query = query.filter(tickets::assignee.eq(assignee));
        }
        query
    }};
}

/// The places in the queue that tickets of a status can have.
fn ranks_of(status: Status) -> [i32; 2] {
    [Priority::High, Priority::Normal].map(|priority| queue_rank(status, priority).into())
}

async fn queue(
    conn: &mut Connection,
    filter: &QueueFilter,
    page: Page,
) -> Result<(Vec<QueueItem>, u64), Fault> {
    conn.begin_snapshot().await?;
    let total =
        first!(conn, i64, narrowed_to_queue!(tickets::table.select(count_star()).into_boxed(), filter))?;
    let rows = load!(
        conn,
        SummaryRow,
        narrowed_to_queue!(tickets::table.select(selection::<SummaryRow>()).into_boxed(), filter)
            .order((tickets::queue_rank.asc(), tickets::created_at.asc(), tickets::id.asc()))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let item = |row: SummaryRow| {
        let tenant = tenant_of(row.merchant_id, &row.environment)?;
        let assignee = row.assignee.clone();
        Ok::<_, Fault>(QueueItem { tenant, assignee, summary: row.into_summary()? })
    };
    Ok((rows.into_iter().map(item).collect::<Result<_, _>>()?, natural(total.unwrap_or(0))?))
}

/// A page of the comments and notes of a period together. Their numbers, which are read first, tell which of them
/// are on the page.
async fn conversation(
    conn: &mut Connection,
    tenant: Tenant,
    ticket: &str,
    written: Period,
    page: Page,
) -> Result<(Vec<Entry>, u64), Fault> {
    conn.begin_snapshot().await?;
    macro_rules! written {
        ($table:ident) => {{
            let all = of_ticket!($table, tenant, ticket).select($table::id).into_boxed();
            in_period!(all, $table::created_at, written)
        }};
    }
    let mut ids: Vec<i64> = load!(conn, i64, written!(ticket_comments))?;
    ids.extend(load!(conn, i64, written!(ticket_notes))?);
    ids.sort_unstable();
    let total = ids.len() as u64;
    let offset = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit()).unwrap_or(usize::MAX);
    let ids: Vec<_> = ids.into_iter().skip(offset).take(limit).collect();
    let comments = comments_of(conn, tenant, ticket, &ids).await?;
    let query = of_ticket!(ticket_notes, tenant, ticket)
        .filter(ticket_notes::id.eq_any(&ids))
        .select(selection::<NoteRow>());
    let notes = load!(conn, NoteRow, query)?;
    conn.commit().await?;
    let notes = notes.into_iter().map(|row| Entry::Note(row.into_note()));
    let mut entries: Vec<_> = comments.into_iter().map(Entry::Comment).chain(notes).collect();
    entries.sort_unstable_by_key(Entry::id);
    Ok((entries, total))
}

#[async_trait]
impl SupportReads for Store {
    async fn queue(&self, filter: &QueueFilter, page: Page) -> Result<(Vec<QueueItem>, u64), StoreError> {
        let filter = filter.clone();
        let listed = self.inner.engine.read_as(Reading::Page, move |conn: &mut Connection| {
            Box::pin(async move { queue(conn, &filter, page).await })
        });
        Ok(listed.await?)
    }

    async fn any_ticket(&self, id: &TicketId) -> Result<Option<Ticket>, StoreError> {
        let id = id.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = tickets::table
                    .filter(tickets::id.eq(&id))
                    .select((tickets::merchant_id, tickets::environment));
                let Some((merchant, environment)) = first!(conn, (i64, String), query)? else {
                    return Ok(None);
                };
                ticket(conn, tenant_of(merchant, &environment)?, &id).await
            })
        });
        Ok(found.await?)
    }

    async fn conversation(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        written: Period,
        page: Page,
    ) -> Result<(Vec<Entry>, u64), StoreError> {
        let ticket = ticket.as_str().to_owned();
        let listed = self.inner.engine.read_as(Reading::Page, move |conn: &mut Connection| {
            Box::pin(async move { conversation(conn, tenant, &ticket, written, page).await })
        });
        Ok(listed.await?)
    }
}
