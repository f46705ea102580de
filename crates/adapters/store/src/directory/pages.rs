//! Hosted pages: the appearance that a merchant's pages have, the look-up of a page, and the key from which
//! tokens are made.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _};
use quipu_kernel::{MerchantId, PaymentId, StoreError, Tenant};
use quipu_merchants::{AuditRecord, DirectoryError, MerchantPage, PageStore};

use super::{audit, merchants};
use crate::{
    connection::{Connection, execute, first},
    error::Fault,
    rows::stored::{parsed, tenant_of},
    schema::{merchant_pages, page_keys, payment_pages},
    store::Store,
};

type FoundPage = (i64, String, String);
type FoundSettings = (Option<String>, Option<String>, Option<String>);

/// The appearance of a merchant's pages, column by column.
#[derive(Debug, Insertable)]
#[diesel(table_name = merchant_pages, treat_none_as_default_value = false)]
struct SettingsRow {
    merchant_id: i64,
    name: Option<String>,
    accent: Option<String>,
    logo: Option<String>,
    picture: Option<Vec<u8>>,
}

#[async_trait]
impl PageStore for Store {
    async fn payment_of(&self, hash: &str) -> Result<Option<(Tenant, PaymentId)>, StoreError> {
        let hash = hash.to_owned();
        let found = self.ask(query!(|conn| {
            let columns = (payment_pages::merchant_id, payment_pages::environment, payment_pages::payment_id);
            let found = first!(conn, FoundPage, payment_pages::table.find(hash).select(columns))?;
            found.map(page_from).transpose()
        }));
        found.await
    }

    async fn merchant_page(&self, merchant: MerchantId) -> Result<Option<MerchantPage>, StoreError> {
        self.ask(query!(|conn| settings(conn, merchant).await)).await
    }

    async fn set_merchant_page(
        &self,
        merchant: MerchantId,
        page: Option<(MerchantPage, Option<Vec<u8>>)>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let written = self.write(
            Some(merchant),
            query!(|conn| {
                merchants::lock(conn, merchant).await?;
                let before = settings(conn, merchant).await?;
                let old = merchant_pages::table.find(merchant.0);
                execute!(conn, diesel::delete(old))?;
                if let Some((page, picture)) = page {
                    let row = SettingsRow {
                        merchant_id: merchant.0,
                        name: page.name,
                        accent: page.accent.map(String::from),
                        logo: page.logo,
                        picture,
                    };
                    execute!(conn, diesel::insert_into(merchant_pages::table).values(&row))?;
                }
                let audit = AuditRecord { before: MerchantPage::audited(before.as_ref()), ..audit };
                Ok(audit::write_newest(conn, merchant, audit).await?)
            }),
        );
        written.await
    }

    async fn logo(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let hash = hash.to_owned();
        let found = self.ask(query!(|conn| {
            let query = merchant_pages::table
                .filter(merchant_pages::logo.eq(hash))
                .select(merchant_pages::picture)
                .limit(1);
            Ok(first!(conn, Option<Vec<u8>>, query)?.flatten())
        }));
        found.await
    }

    async fn page_key(&self, offered: &str) -> Result<String, StoreError> {
        let known = self.inner.engine.read::<Option<String>, Fault>(query!(|conn| {
            Ok(first!(conn, String, page_keys::table.find(1).select(page_keys::sealed))?)
        }));
        if let Some(known) = known.await? {
            return Ok(known);
        }
        let offered = offered.to_owned();
        let kept = self.inner.engine.write::<String, Fault>(query!(|conn| {
            let row = (page_keys::id.eq(1), page_keys::sealed.eq(offered.clone()));
            let insert = diesel::insert_into(page_keys::table).values(row).on_conflict_do_nothing();
            execute!(conn, insert)?;
            let kept = first!(conn, String, page_keys::table.find(1).select(page_keys::sealed))?;
            Ok(kept.unwrap_or(offered))
        }));
        Ok(kept.await?)
    }
}

fn page_from((merchant, environment, id): FoundPage) -> Result<(Tenant, PaymentId), Fault> {
    Ok((tenant_of(merchant, &environment)?, parsed("a payment", &id)?))
}

async fn settings(conn: &mut Connection, merchant: MerchantId) -> Result<Option<MerchantPage>, Fault> {
    let columns = (merchant_pages::name, merchant_pages::accent, merchant_pages::logo);
    let query = merchant_pages::table.find(merchant.0).select(columns);
    first!(conn, FoundSettings, query)?.map(settings_from).transpose()
}

fn settings_from((name, accent, logo): FoundSettings) -> Result<MerchantPage, Fault> {
    let accent = accent.map(|accent| parsed("a colour", &accent)).transpose()?;
    Ok(MerchantPage { name, accent, logo })
}
