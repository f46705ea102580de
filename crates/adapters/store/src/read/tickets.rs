//! Reads of tickets. Comments and files are found by their ticket, and everything by its tenant.

use std::sync::Arc;

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _, dsl::count_star};
use quipu_kernel::{Page, PaymentId, StoreError, Tenant};
use quipu_tickets::{
    AttachmentId, Comment, CommentId, StoredAttachment, Ticket, TicketFilter, TicketId, TicketReads,
    TicketSort, TicketSummary, Upload,
};

use super::{
    ticket_list,
    ticket_rows::{AttachmentRow, CommentRow, TicketRow, UploadRow, selection},
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    rows::stored::{bigint, natural},
    schema::{payments, ticket_attachments, ticket_comments, ticket_thumbnails, ticket_uploads, tickets},
    store::Store,
    ticket_search::filter::TicketQuery,
};

/// The rows of a ticket in a table that has its identifier.
macro_rules! of_ticket {
    ($table:ident, $tenant:expr, $ticket:expr) => {
        $table::table
            .filter($table::merchant_id.eq($tenant.merchant().0))
            .filter($table::environment.eq($tenant.environment().as_str()))
            .filter($table::ticket_id.eq($ticket))
    };
}

pub(super) use of_ticket;

/// A ticket with the files of its comments, both from the same state of the database.
pub(super) async fn ticket(conn: &mut Connection, tenant: Tenant, id: &str) -> Result<Option<Ticket>, Fault> {
    conn.begin_snapshot().await?;
    let key = (tenant.merchant().0, tenant.environment().as_str(), id);
    let row = first!(conn, TicketRow, tickets::table.find(key))?;
    let files = if row.is_some() { files_of(conn, tenant, id).await? } else { Vec::new() };
    conn.commit().await?;
    let Some(row) = row else { return Ok(None) };
    let shown = files.iter().map(AttachmentRow::shown).collect::<Result<_, _>>()?;
    row.into_ticket(shown).map(Some)
}

/// The files of all comments of a ticket, in order.
async fn files_of(conn: &mut Connection, tenant: Tenant, ticket: &str) -> Result<Vec<AttachmentRow>, Fault> {
    let query = of_ticket!(ticket_attachments, tenant, ticket)
        .order((ticket_attachments::comment_id.asc(), ticket_attachments::place.asc()))
        .select(selection::<AttachmentRow>());
    Ok(load!(conn, AttachmentRow, query)?)
}

/// The comments with these numbers, oldest first, with their files.
pub(super) async fn comments_of(
    conn: &mut Connection,
    tenant: Tenant,
    ticket: &str,
    ids: &[i64],
) -> Result<Vec<Comment>, Fault> {
    let query = of_ticket!(ticket_comments, tenant, ticket)
        .filter(ticket_comments::id.eq_any(ids))
        .order(ticket_comments::id.asc())
        .select(selection::<CommentRow>());
    let rows = load!(conn, CommentRow, query)?;
    let query = of_ticket!(ticket_attachments, tenant, ticket)
        .filter(ticket_attachments::comment_id.eq_any(ids))
        .order((ticket_attachments::comment_id.asc(), ticket_attachments::place.asc()))
        .select(selection::<AttachmentRow>());
    let files = load!(conn, AttachmentRow, query)?;
    rows.into_iter().map(|row| row.into_comment(&files)).collect()
}

#[async_trait]
impl TicketReads for Store {
    async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Option<Ticket>, StoreError> {
        let id = id.as_str().to_owned();
        let found = self
            .inner
            .engine
            .read(move |conn: &mut Connection| Box::pin(async move { ticket(conn, tenant, &id).await }));
        Ok(found.await?)
    }

    async fn tickets(
        &self,
        tenant: Tenant,
        filter: &TicketFilter,
        sort: TicketSort,
        page: Page,
    ) -> Result<(Vec<TicketSummary>, u64), StoreError> {
        let (filter, tallies) = (filter.clone(), Arc::clone(&self.inner.tallies));
        let listed = self.inner.read_page(tenant.merchant(), move |conn: &mut Connection| {
            Box::pin(async move {
                let asked = TicketQuery { tenant, filter: &filter, sort, page };
                ticket_list::list(conn, asked, &tallies).await
            })
        });
        Ok(listed.await?)
    }

    async fn comments(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        page: Page,
    ) -> Result<(Vec<Comment>, u64), StoreError> {
        let ticket = ticket.as_str().to_owned();
        let listed = self.inner.read_page(tenant.merchant(), move |conn: &mut Connection| {
            Box::pin(async move {
                conn.begin_snapshot().await?;
                let query = of_ticket!(ticket_comments, tenant, &ticket).select(count_star());
                let total = first!(conn, i64, query)?.unwrap_or(0);
                let query = of_ticket!(ticket_comments, tenant, &ticket)
                    .order(ticket_comments::id.asc())
                    .limit(page.limit().into())
                    .offset(bigint(page.offset()))
                    .select(ticket_comments::id);
                let ids: Vec<i64> = load!(conn, i64, query)?;
                let comments = comments_of(conn, tenant, &ticket, &ids).await?;
                conn.commit().await?;
                Ok::<_, Fault>((comments, natural(total)?))
            })
        });
        Ok(listed.await?)
    }

    async fn has_comment(
        &self,
        tenant: Tenant,
        ticket: &TicketId,
        comment: CommentId,
    ) -> Result<bool, StoreError> {
        let ticket = ticket.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = of_ticket!(ticket_comments, tenant, &ticket)
                    .filter(ticket_comments::id.eq(comment.0))
                    .select(ticket_comments::id);
                Ok::<_, Fault>(first!(conn, i64, query)?.is_some())
            })
        });
        Ok(found.await?)
    }

    async fn attachment(
        &self,
        tenant: Tenant,
        id: &AttachmentId,
    ) -> Result<Option<StoredAttachment>, StoreError> {
        let id = id.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let key = (tenant.merchant().0, tenant.environment().as_str(), id.as_str());
                let query = ticket_attachments::table.find(key).select(selection::<AttachmentRow>());
                let Some(row) = first!(conn, AttachmentRow, query)? else { return Ok(None) };
                let query = ticket_thumbnails::table
                    .find(key)
                    .select((ticket_thumbnails::object, ticket_thumbnails::content_type));
                let thumbnail = first!(conn, (String, String), query)?;
                row.into_stored(tenant, thumbnail).map(Some)
            })
        });
        Ok(found.await?)
    }

    async fn has_payment(&self, tenant: Tenant, id: &PaymentId) -> Result<bool, StoreError> {
        let id = id.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let key = (tenant.merchant().0, tenant.environment().as_str(), id.as_str());
                let query = payments::table.find(key).select(payments::revision);
                Ok::<_, Fault>(first!(conn, i64, query)?.is_some())
            })
        });
        Ok(found.await?)
    }

    async fn upload(&self, tenant: Tenant, id: &AttachmentId) -> Result<Option<Upload>, StoreError> {
        let id = id.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let key = (tenant.merchant().0, tenant.environment().as_str(), id.as_str());
                let query = ticket_uploads::table.find(key).select(selection::<UploadRow>());
                let row = first!(conn, UploadRow, query)?;
                row.map(|row| row.into_upload(tenant)).transpose()
            })
        });
        Ok(found.await?)
    }
}
