//! Reads of receipts.

use diesel::{ExpressionMethods as _, QueryDsl as _, Queryable};
use quipu_kernel::{Amount, Page, Tenant, Timestamp};
use quipu_payments::{Receipt, ReceiptFilter, Resolved, named_by};

use crate::{
    connection::{Connection, first, load},
    error::Fault,
    rows::stored::{bigint, natural, parsed, tenant_of},
    schema::receipts,
};

/// The row, column by column, in the order of the table.
#[derive(Debug, Queryable)]
pub(crate) struct ReceiptRow {
    merchant_id: i64,
    environment: String,
    id: String,
    payment_id: Option<String>,
    rail: String,
    event_id: String,
    kind: String,
    rail_reference: String,
    amount: Option<i64>,
    currency: Option<String>,
    reason: String,
    created_at: i64,
    resolution: Option<String>,
    resolved_at: Option<i64>,
    _revision: i64,
    provider_reference: Option<String>,
}

impl ReceiptRow {
    pub(crate) fn into_receipt(self) -> Result<Receipt, Fault> {
        let tenant = tenant_of(self.merchant_id, &self.environment)?;
        let amount = self.amount.map(Amount::new).transpose();
        let amount = amount.map_err(|error| Fault::Corrupt(format!("the amount of {}: {error}", self.id)))?;
        let resolved = match (self.resolution, self.resolved_at) {
            (Some(how), Some(at)) => {
                Some(Resolved { how: parsed("a resolution", &how)?, at: Timestamp::from_millis(at) })
            }
            (None, None) => None,
            _ => return Err(Fault::Corrupt(format!("the receipt {} is resolved by half", self.id))),
        };
        Ok(Receipt {
            receipt_id: self.id,
            tenant: named_by(tenant),
            payment_id: self.payment_id.map(|id| parsed("a payment", &id)).transpose()?,
            rail: self.rail,
            event_id: self.event_id,
            kind: parsed("an event", &self.kind)?,
            rail_reference: self.rail_reference,
            provider_reference: self.provider_reference,
            amount,
            currency: self.currency.map(|code| parsed("a currency", &code)).transpose()?,
            reason: parsed("a receipt", &self.reason)?,
            created_at: Timestamp::from_millis(self.created_at),
            resolved,
        })
    }
}

/// The receipt with this identifier, of any tenant.
pub(crate) async fn one(conn: &mut Connection, id: &str) -> Result<Option<Receipt>, Fault> {
    let row = first!(conn, ReceiptRow, receipts::table.filter(receipts::id.eq(id)))?;
    row.map(ReceiptRow::into_receipt).transpose()
}

/// The receipts of a payment, oldest first.
pub(crate) async fn of_payment(
    conn: &mut Connection,
    tenant: Tenant,
    payment_id: &str,
) -> Result<Vec<Receipt>, Fault> {
    let query = receipts::table
        .filter(receipts::merchant_id.eq(tenant.merchant().0))
        .filter(receipts::environment.eq(tenant.environment().as_str()))
        .filter(receipts::payment_id.eq(payment_id))
        .order(receipts::id.asc());
    load!(conn, ReceiptRow, query)?.into_iter().map(ReceiptRow::into_receipt).collect()
}

/// A page of receipts, newest first, and the number of all that match.
pub(crate) async fn list(
    conn: &mut Connection,
    filter: &ReceiptFilter,
    page: Page,
) -> Result<(Vec<Receipt>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {{
            let mut query = $query;
            if let Some(merchant) = filter.merchant {
                query = query.filter(receipts::merchant_id.eq(merchant.0));
            }
            if let Some(id) = &filter.payment_id {
                query = query.filter(receipts::payment_id.eq(id.as_str()));
            }
            if let Some(from) = filter.created.from {
                query = query.filter(receipts::created_at.ge(from.millis()));
            }
            if let Some(to) = filter.created.to {
                query = query.filter(receipts::created_at.le(to.millis()));
            }
            match filter.resolved {
                Some(true) => query.filter(receipts::resolution.is_not_null()),
                Some(false) => query.filter(receipts::resolution.is_null()),
                None => query,
            }
        }};
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(receipts::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        ReceiptRow,
        narrowed!(receipts::table.into_boxed())
            .order(receipts::id.desc())
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let found = rows.into_iter().map(ReceiptRow::into_receipt).collect::<Result<_, _>>()?;
    Ok((found, natural(total)?))
}
