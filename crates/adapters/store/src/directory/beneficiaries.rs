//! Saved beneficiaries.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _, Queryable, dsl::max};
use diesel_async::SimpleAsyncConnection as _;
use quipu_kernel::{MerchantId, Page, Period, Tenant, Timestamp};
use quipu_merchants::{Beneficiary, BeneficiaryKind, DirectoryError, NewBeneficiary};

use super::merchants;
use crate::{
    connection::{Connection, execute, first, load},
    error::{Fault, Refused},
    rows::{
        period::in_period,
        stored::{bigint, natural, parsed, tenant_of},
    },
    schema::beneficiaries,
};

/// A beneficiary's row, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = beneficiaries, treat_none_as_default_value = false)]
struct BeneficiaryRow {
    merchant_id: i64,
    environment: String,
    id: i32,
    kind: String,
    iban: String,
    swift: Option<String>,
    beneficiary_name: String,
    beneficiary_bank: Option<String>,
    address: Option<String>,
    reference: Option<String>,
    created_at: i64,
}

impl BeneficiaryRow {
    fn of(id: i32, details: NewBeneficiary) -> Self {
        Self {
            merchant_id: details.tenant.merchant().0,
            environment: details.tenant.environment().as_str().to_owned(),
            id,
            kind: details.kind.as_str().to_owned(),
            iban: details.iban,
            swift: details.swift,
            beneficiary_name: details.beneficiary_name,
            beneficiary_bank: details.beneficiary_bank,
            address: details.address,
            reference: details.reference,
            created_at: details.created_at.millis(),
        }
    }

    fn into_beneficiary(self) -> Result<Beneficiary, Fault> {
        let details = NewBeneficiary {
            tenant: tenant_of(self.merchant_id, &self.environment)?,
            kind: parsed("a kind of beneficiary", &self.kind)?,
            iban: self.iban,
            swift: self.swift,
            beneficiary_name: self.beneficiary_name,
            beneficiary_bank: self.beneficiary_bank,
            address: self.address,
            reference: self.reference,
            created_at: Timestamp::from_millis(self.created_at),
        };
        Ok(Beneficiary { id: self.id, details })
    }
}

/// Saves a beneficiary under the next free number of all tenants, so that the number of another tenant's
/// beneficiary finds nothing.
pub(super) async fn add(
    conn: &mut Connection,
    details: NewBeneficiary,
) -> Result<Beneficiary, Refused<DirectoryError>> {
    merchants::lock(conn, details.tenant.merchant()).await?;
    if let Connection::Postgres(conn) = conn {
        // Two that come at once would take the same.
        let alone = "LOCK TABLE beneficiaries IN SHARE ROW EXCLUSIVE MODE";
        conn.batch_execute(alone).await?;
    }
    let query = beneficiaries::table.select(max(beneficiaries::id));
    let last = first!(conn, Option<i32>, query)?.flatten().unwrap_or(0);
    let id =
        last.checked_add(1).ok_or(Refused::Rule(DirectoryError::LimitReached("all numbers are used up")))?;
    let row = BeneficiaryRow::of(id, details.clone());
    execute!(conn, diesel::insert_into(beneficiaries::table).values(&row))?;
    Ok(Beneficiary { id, details })
}

/// A page of the beneficiaries that were saved in a period, newest first, and the number of all of them.
pub(super) async fn page(
    conn: &mut Connection,
    merchant: MerchantId,
    created: Period,
    page: Page,
) -> Result<(Vec<Beneficiary>, u64), Fault> {
    let of_merchant = beneficiaries::table.filter(beneficiaries::merchant_id.eq(merchant.0));
    macro_rules! narrowed {
        ($query:expr) => {
            in_period!($query, beneficiaries::created_at, created)
        };
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(of_merchant.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        BeneficiaryRow,
        narrowed!(of_merchant.into_boxed())
            .order((
                beneficiaries::created_at.desc(),
                beneficiaries::environment.desc(),
                beneficiaries::id.desc(),
            ))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let saved = rows.into_iter().map(BeneficiaryRow::into_beneficiary).collect::<Result<_, _>>()?;
    Ok((saved, natural(total)?))
}

/// The beneficiary with this tenant, kind and number.
pub(super) async fn find(
    conn: &mut Connection,
    tenant: Tenant,
    kind: BeneficiaryKind,
    id: i32,
) -> Result<Option<Beneficiary>, Fault> {
    let query = beneficiaries::table
        .find((tenant.merchant().0, tenant.environment().as_str(), id))
        .filter(beneficiaries::kind.eq(kind.as_str()));
    first!(conn, BeneficiaryRow, query)?.map(BeneficiaryRow::into_beneficiary).transpose()
}
