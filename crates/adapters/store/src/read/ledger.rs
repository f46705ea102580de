//! Reads of balances.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Currency, StoreError, Tenant};
use quipu_ledger::{Balance, CheckReport, LedgerReads};

use crate::{
    check,
    connection::{Connection, load},
    error::Fault,
    query::Reading,
    rows::stored::{Totals, balance_from, parsed, totals},
    schema::balances,
    store::Store,
};

#[async_trait]
impl LedgerReads for Store {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, StoreError> {
        let found = self.inner.balances.get(&self.inner.engine, (tenant, currency)).await?;
        Ok(found.unwrap_or(Balance::zero(currency)))
    }

    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, StoreError> {
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = balances::table
                    .filter(balances::merchant_id.eq(tenant.merchant().0))
                    .filter(balances::environment.eq(tenant.environment().as_str()))
                    .order(balances::currency)
                    .select((balances::currency, totals!()));
                let rows = load!(conn, (String, Totals), query)?;
                let balances = rows.into_iter();
                balances.map(|(code, totals)| balance_from(parsed("a currency", &code)?, totals)).collect()
            })
        });
        found.await.map_err(|fault: Fault| fault.into())
    }

    async fn check(&self) -> Result<CheckReport, StoreError> {
        let engine = &self.inner.engine;
        let report = engine.read_as(Reading::Whole, |conn: &mut Connection| Box::pin(check::check(conn)));
        Ok(report.await?)
    }
}
