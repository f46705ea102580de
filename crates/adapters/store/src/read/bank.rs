//! The port for bank files.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _, dsl::not};
use quipu_kernel::{MerchantId, Tenant, Timestamp};
use quipu_merchants::StoreUnavailable;
use quipu_payments::{BankExport, BankReads, ExportRoute, Payment};

use crate::{
    connection::{Connection, first, load},
    error::Fault,
    payment_row::PaymentRow,
    schema::{bank_export_payments, bank_exports, payments},
    store::Store,
    stored::parsed,
};

type ExportColumns = (i64, String, String, String, String, bool, i64);

fn export_of(row: ExportColumns) -> Result<(Tenant, BankExport), Fault> {
    let (merchant, environment, export_id, currency, method, partner, at) = row;
    let tenant = Tenant::new(MerchantId(merchant), parsed("an environment", &environment)?);
    let (currency, method) = (parsed("a currency", &currency)?, parsed("a method", &method)?);
    let created_at = Timestamp::from_millis(at);
    Ok((tenant, BankExport { export_id, currency, method, partner, created_at }))
}

fn is_partner(payment: &Payment) -> bool {
    payment.state().payout.as_ref().is_some_and(|payout| payout.partner_destination.is_some())
}

#[async_trait]
impl BankReads for Store {
    async fn exportable(&self, route: &ExportRoute, limit: u32) -> Result<Vec<Payment>, StoreUnavailable> {
        let route = route.clone();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let (merchant, environment) =
                    (route.tenant.merchant().0, route.tenant.environment().as_str());
                let exported = bank_export_payments::table
                    .filter(bank_export_payments::merchant_id.eq(merchant))
                    .filter(bank_export_payments::environment.eq(environment))
                    .select(bank_export_payments::payment_id);
                let query = payments::table
                    .filter(payments::merchant_id.eq(merchant))
                    .filter(payments::environment.eq(environment))
                    .filter(payments::status.eq("processing"))
                    .filter(payments::rail.eq("manual"))
                    .filter(payments::kind.eq_any(["withdrawal", "withdrawal_pp"]))
                    .filter(payments::currency.eq(route.currency.as_str()))
                    .filter(payments::method.eq(route.method.as_str()))
                    .filter(not(payments::id.eq_any(exported)))
                    .order(payments::id.asc());
                let rows = load!(conn, PaymentRow, query)?;
                let mut found = Vec::new();
                for row in rows {
                    let payment = row.into_payment()?;
                    if is_partner(&payment) == route.partner {
                        found.push(payment);
                    }
                    if found.len() == limit as usize {
                        break;
                    }
                }
                Ok::<_, Fault>(found)
            })
        });
        Ok(found.await?)
    }

    async fn bank_export(
        &self,
        export_id: &str,
    ) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreUnavailable> {
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

    async fn latest_bank_export(&self, route: &ExportRoute) -> Result<Option<BankExport>, StoreUnavailable> {
        let route = route.clone();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = bank_exports::table
                    .filter(bank_exports::merchant_id.eq(route.tenant.merchant().0))
                    .filter(bank_exports::environment.eq(route.tenant.environment().as_str()))
                    .filter(bank_exports::currency.eq(route.currency.as_str()))
                    .filter(bank_exports::method.eq(route.method.as_str()))
                    .filter(bank_exports::partner.eq(route.partner))
                    .order((bank_exports::created_at.desc(), bank_exports::id.desc()))
                    .limit(1);
                let row = first!(conn, ExportColumns, query)?;
                Ok::<_, Fault>(row.map(export_of).transpose()?.map(|(_, export)| export))
            })
        });
        Ok(found.await?)
    }
}
