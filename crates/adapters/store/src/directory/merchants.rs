//! Merchants.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _, Queryable};
use quipu_kernel::{MerchantId, Page, Timestamp};
use quipu_merchants::{DirectoryError, FormerSecret, Merchant, MerchantChange, MerchantFilter, ReturnUrls};

use crate::{
    connection::{Connection, execute, first, load},
    error::{Fault, Refused},
    rows::{
        period::in_period,
        stored::{bigint, natural, parsed},
    },
    schema::merchants,
};

/// A merchant's row, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = merchants, treat_none_as_default_value = false)]
struct MerchantRow {
    id: i64,
    name: String,
    api_version: String,
    status: String,
    success_url: Option<String>,
    cancel_url: Option<String>,
    sealed_secret_test: String,
    sealed_secret_live: String,
    created_at: i64,
    former_secret_test: Option<String>,
    former_until_test: Option<i64>,
    former_secret_live: Option<String>,
    former_until_live: Option<i64>,
}

fn former(sealed: Option<String>, until: Option<i64>) -> Option<FormerSecret> {
    Some(FormerSecret { sealed: sealed?, until: Timestamp::from_millis(until?) })
}

impl MerchantRow {
    fn of(merchant: Merchant) -> Self {
        let [sealed_secret_test, sealed_secret_live] = merchant.sealed_webhook_secrets;
        let [former_test, former_live] = merchant.former_webhook_secrets;
        let until = |former: &Option<FormerSecret>| former.as_ref().map(|former| former.until.millis());
        let (former_until_test, former_until_live) = (until(&former_test), until(&former_live));
        Self {
            id: merchant.id.0,
            name: merchant.name,
            api_version: merchant.api_version.as_str().to_owned(),
            status: merchant.status.as_str().to_owned(),
            success_url: merchant.return_urls.success_url,
            cancel_url: merchant.return_urls.cancel_url,
            sealed_secret_test,
            sealed_secret_live,
            created_at: merchant.created_at.millis(),
            former_secret_test: former_test.map(|former| former.sealed),
            former_until_test,
            former_secret_live: former_live.map(|former| former.sealed),
            former_until_live,
        }
    }

    pub(super) fn into_merchant(self) -> Result<Merchant, Fault> {
        Ok(Merchant {
            id: MerchantId(self.id),
            name: self.name,
            api_version: parsed("a version", &self.api_version)?,
            status: parsed("a merchant's status", &self.status)?,
            return_urls: ReturnUrls { success_url: self.success_url, cancel_url: self.cancel_url },
            sealed_webhook_secrets: [self.sealed_secret_test, self.sealed_secret_live],
            former_webhook_secrets: [
                former(self.former_secret_test, self.former_until_test),
                former(self.former_secret_live, self.former_until_live),
            ],
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}

/// Adds a merchant.
pub(super) async fn add(conn: &mut Connection, merchant: Merchant) -> Result<(), Refused<DirectoryError>> {
    let row = MerchantRow::of(merchant);
    let insert = execute!(conn, diesel::insert_into(merchants::table).values(&row).on_conflict_do_nothing());
    match insert? {
        1 => Ok(()),
        _ => Err(Refused::Rule(DirectoryError::Conflict("the merchant's number is taken"))),
    }
}

/// Replaces the changeable columns of a merchant, if it is still the merchant of the decision. The row stays
/// locked until the transaction ends.
pub(super) async fn update(
    conn: &mut Connection,
    change: MerchantChange,
) -> Result<(), Refused<DirectoryError>> {
    lock(conn, change.before.id).await?;
    if find(conn, change.before.id).await?.as_ref() != Some(&change.before) {
        return Err(Refused::Rule(DirectoryError::Stale));
    }
    let row = MerchantRow::of(change.after);
    let update = execute!(
        conn,
        diesel::update(merchants::table.find(row.id)).set((
            merchants::name.eq(&row.name),
            merchants::api_version.eq(&row.api_version),
            merchants::status.eq(&row.status),
            merchants::success_url.eq(&row.success_url),
            merchants::cancel_url.eq(&row.cancel_url),
            merchants::sealed_secret_test.eq(&row.sealed_secret_test),
            merchants::sealed_secret_live.eq(&row.sealed_secret_live),
            merchants::former_secret_test.eq(&row.former_secret_test),
            merchants::former_until_test.eq(row.former_until_test),
            merchants::former_secret_live.eq(&row.former_secret_live),
            merchants::former_until_live.eq(row.former_until_live),
        ))
    );
    update?;
    Ok(())
}

/// Refuses with `NotFound` unless the merchant exists, and locks it until the transaction ends, so that no
/// other transaction changes what belongs to it.
pub(crate) async fn lock(conn: &mut Connection, id: MerchantId) -> Result<(), Refused<DirectoryError>> {
    let query = merchants::table.find(id.0).select(merchants::id);
    let found = match conn {
        // The writer's transaction holds the only write lock as it is.
        Connection::Sqlite(conn) => diesel::RunQueryDsl::load::<i64>(query, conn),
        Connection::Postgres(conn) => {
            diesel_async::RunQueryDsl::load::<i64>(query.for_update(), &mut ***conn).await
        }
    };
    if found?.is_empty() { Err(Refused::Rule(DirectoryError::NotFound)) } else { Ok(()) }
}

/// The merchant with this number.
pub(super) async fn find(conn: &mut Connection, id: MerchantId) -> Result<Option<Merchant>, Fault> {
    let query = merchants::table.find(id.0);
    first!(conn, MerchantRow, query)?.map(MerchantRow::into_merchant).transpose()
}

/// A page of merchants, newest first, and the number of all that pass the filter.
pub(super) async fn page(
    conn: &mut Connection,
    filter: MerchantFilter,
    page: Page,
) -> Result<(Vec<Merchant>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {{
            let mut query = in_period!($query, merchants::created_at, filter.created);
            if let Some(id) = filter.id {
                query = query.filter(merchants::id.eq(id.0));
            }
            if let Some(status) = filter.status {
                query = query.filter(merchants::status.eq(status.as_str()));
            }
            query
        }};
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(merchants::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        MerchantRow,
        narrowed!(merchants::table.into_boxed())
            .order((merchants::created_at.desc(), merchants::id.desc()))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let merchants = rows.into_iter().map(MerchantRow::into_merchant).collect::<Result<_, _>>()?;
    Ok((merchants, natural(total)?))
}
