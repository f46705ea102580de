//! Reads for bank files.

use std::collections::HashSet;

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{PaymentId, StoreError, Tenant, Timestamp};
use quipu_merchants::MANUAL_RAIL;
use quipu_payments::{BankExport, BankReads, ExportRoute, ExportStretch, Payment, PaymentFilter, Status};

use super::{
    classes,
    narrow::{BEHIND_ALL, Range},
    slice::Slice,
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    rows::{
        payment::PaymentRow,
        stored::{parsed, tenant_of},
    },
    schema::{bank_export_payments, bank_exports, payments},
    store::Store,
};

/// The number of payments that one read searches.
const LOOKED_AT: u64 = 500;

type ExportColumns = (i64, String, String, String, String, bool, i64);

fn export_of(row: ExportColumns) -> Result<(Tenant, BankExport), Fault> {
    let (merchant, environment, export_id, currency, method, partner, at) = row;
    let tenant = tenant_of(merchant, &environment)?;
    let (currency, method) = (parsed("a currency", &currency)?, parsed("a method", &method)?);
    let created_at = Timestamp::from_millis(at);
    Ok((tenant, BankExport { export_id, currency, method, partner, created_at }))
}

/// Searches the next open payments with the currency and method of a route.
async fn next_stretch(
    conn: &mut Connection,
    route: &ExportRoute,
    after: Option<&PaymentId>,
) -> Result<ExportStretch, Fault> {
    let open = PaymentFilter {
        status: Some(Status::Processing),
        method: Some(route.method),
        currency: Some(route.currency),
        ..PaymentFilter::default()
    };
    let range = after.map_or_else(|| Range::of(None, None), Range::behind);
    let slice = Slice { oldest_first: true, offset: 0, limit: LOOKED_AT };
    let rows = classes::rows(conn, route.tenant, &open, &range, &slice).await?;
    let is_last = (rows.len() as u64) < LOOKED_AT;
    let seen = rows.into_iter().map(|(_, row)| row.into_payment()).collect::<Result<Vec<_>, _>>()?;
    let last = seen.last().filter(|_| !is_last).map(|payment| payment.id().clone());
    let in_files = bank_export_payments::table
        .filter(bank_export_payments::merchant_id.eq(route.tenant.merchant().0))
        .filter(bank_export_payments::environment.eq(route.tenant.environment().as_str()))
        .filter(bank_export_payments::payment_id.eq_any(seen.iter().map(|payment| payment.id().as_str())))
        .select(bank_export_payments::payment_id);
    let in_files: HashSet<String> = load!(conn, String, in_files)?.into_iter().collect();
    let may_go = |payment: &Payment| {
        payment.terms().rail == MANUAL_RAIL
            && payment.route_key() == route.key()
            && !in_files.contains(payment.id().as_str())
    };
    Ok(ExportStretch { payments: seen.into_iter().filter(may_go).collect(), last })
}

#[async_trait]
impl BankReads for Store {
    async fn exportable(
        &self,
        route: &ExportRoute,
        after: Option<&PaymentId>,
    ) -> Result<ExportStretch, StoreError> {
        let (route, after) = (route.clone(), after.cloned());
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move { next_stretch(conn, &route, after.as_ref()).await })
        });
        Ok(found.await?)
    }

    async fn bank_export(
        &self,
        export_id: &str,
    ) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreError> {
        let export_id = export_id.to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = bank_exports::table.filter(bank_exports::id.eq(&export_id));
                let Some(row) = first!(conn, ExportColumns, query)? else { return Ok(None) };
                let (tenant, export) = export_of(row)?;
                let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
                let inside = bank_export_payments::table
                    .filter(bank_export_payments::merchant_id.eq(merchant))
                    .filter(bank_export_payments::environment.eq(environment))
                    .filter(bank_export_payments::export_id.eq(&export_id))
                    .select(bank_export_payments::payment_id);
                let query = payments::table
                    .filter(payments::merchant_id.eq(merchant))
                    .filter(payments::environment.eq(environment))
                    .filter(payments::id.eq_any(inside))
                    .order(payments::id.asc());
                let rows = load!(conn, PaymentRow, query)?.into_iter();
                let payments = rows.map(PaymentRow::into_payment).collect::<Result<_, _>>()?;
                Ok::<_, Fault>(Some((tenant, export, payments)))
            })
        });
        Ok(found.await?)
    }

    async fn latest_bank_export(
        &self,
        route: &ExportRoute,
        before: Option<&BankExport>,
    ) -> Result<Option<BankExport>, StoreError> {
        let route = route.clone();
        // Its identifier begins with the time at which it was made.
        let before = before.map_or_else(|| BEHIND_ALL.to_owned(), |export| export.export_id.clone());
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = bank_exports::table
                    .filter(bank_exports::merchant_id.eq(route.tenant.merchant().0))
                    .filter(bank_exports::environment.eq(route.tenant.environment().as_str()))
                    .filter(bank_exports::currency.eq(route.currency.as_str()))
                    .filter(bank_exports::method.eq(route.method.as_str()))
                    .filter(bank_exports::partner.eq(route.partner))
                    .filter(bank_exports::id.lt(before))
                    .order((bank_exports::created_at.desc(), bank_exports::id.desc()))
                    .limit(1);
                let row = first!(conn, ExportColumns, query)?;
                Ok::<_, Fault>(row.map(export_of).transpose()?.map(|(_, export)| export))
            })
        });
        Ok(found.await?)
    }
}
