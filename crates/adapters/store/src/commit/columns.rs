//! Rows turned into columns, as `UNNEST` takes them.

use quipu_kernel::Tenant;

/// One value for each row.
pub(super) fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

/// The two columns that every row of a tenant begins with.
pub(super) fn tenants<R>(rows: &[R], tenant: impl Fn(&R) -> Tenant) -> (Vec<i64>, Vec<&'static str>) {
    let tenants = rows.iter().map(tenant);
    tenants.map(|tenant| (tenant.merchant().0, tenant.environment().as_str())).unzip()
}
