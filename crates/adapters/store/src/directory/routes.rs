//! Routes, each stored as the operator wrote it, with the key by which it is found.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _};
use quipu_kernel::MerchantId;
use quipu_merchants::{DirectoryError, Route};

use super::merchants;
use crate::{
    connection::{Connection, execute, load},
    error::{Fault, Refused},
    rows::stored::{from_json, to_json},
    schema::routes,
};

#[derive(Debug, Insertable)]
#[diesel(table_name = routes)]
struct RouteRow<'a> {
    merchant_id: i64,
    environment: &'a str,
    currency: &'a str,
    method: &'a str,
    direction: &'a str,
    partner: bool,
    document: String,
}

/// All routes of a merchant, in the order of their keys.
pub(super) async fn of_merchant(conn: &mut Connection, merchant: MerchantId) -> Result<Vec<Route>, Fault> {
    let query = routes::table.filter(routes::merchant_id.eq(merchant.0)).select(routes::document);
    let rows = load!(conn, String, query)?;
    let mut routes: Vec<Route> =
        rows.iter().map(|text| from_json("a route", text)).collect::<Result<_, _>>()?;
    routes.sort_unstable_by_key(Route::key);
    Ok(routes)
}

/// Replaces all routes of a merchant, and answers the former ones.
pub(super) async fn replace(
    conn: &mut Connection,
    merchant: MerchantId,
    all: &[Route],
) -> Result<Vec<Route>, Refused<DirectoryError>> {
    merchants::lock(conn, merchant).await?;
    let before = of_merchant(conn, merchant).await?;
    let old = routes::table.filter(routes::merchant_id.eq(merchant.0));
    execute!(conn, diesel::delete(old))?;
    insert(conn, merchant, all).await?;
    Ok(before)
}

/// Adds routes to a merchant that has none.
pub(super) async fn insert(
    conn: &mut Connection,
    merchant: MerchantId,
    all: &[Route],
) -> Result<(), Refused<DirectoryError>> {
    for route in all {
        let row = RouteRow {
            merchant_id: merchant.0,
            environment: route.environment.as_str(),
            currency: route.currency.as_str(),
            method: route.method.as_str(),
            direction: route.direction.as_str(),
            partner: route.partner,
            document: to_json(route)?,
        };
        let insert = diesel::insert_into(routes::table).values(&row).on_conflict_do_nothing();
        if execute!(conn, insert)? == 0 {
            return Err(Refused::Rule(DirectoryError::Conflict("two routes have the same key")));
        }
    }
    Ok(())
}
