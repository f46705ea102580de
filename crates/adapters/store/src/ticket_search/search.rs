//! Finds tickets by a part of their text, in the way that suits each database best.
//!
//! SQLite has a full-text table of trigrams beside the tickets. Its planner cannot know how many rows a text
//! finds there, and would rather read all tickets of a merchant; so the table is asked first. If it finds few
//! tickets, they are fetched by number, filtered, counted and sorted at once. If it finds many, a page of
//! them is soon found by reading the tickets in order.

use std::cmp::Reverse;

use diesel::{
    ExpressionMethods as _, QueryDsl as _, Queryable, QueryableByName, RunQueryDsl as _, Selectable,
    SelectableHelper as _, SqliteConnection,
    sql_types::{BigInt, Bool, Text},
};
use quipu_tickets::{SearchText, SortKey, SortOrder, TicketSort};

use crate::ticket_search::filter::{TicketQuery, narrowed_to_found};
use crate::{connection::Connection, error::Fault, schema::tickets};

/// The fewest letters that the full-text indexes can look for.
const INDEXED_LETTERS: usize = 3;
/// The most tickets that count as few.
pub(crate) const FEW: usize = 1_000;

/// The condition of a search for one database.
pub(crate) struct Found {
    pub(crate) before: &'static str,
    pub(crate) text: String,
    pub(crate) after: &'static str,
}

impl Found {
    /// The condition for reading a page in the order of an index.
    pub(crate) fn in_order(conn: &Connection, search: &SearchText) -> Self {
        match conn {
            Connection::Sqlite(_) => {
                let text = search.folded().to_owned();
                Self { before: "instr(tickets.search_text, ", text, after: ") > 0" }
            }
            Connection::Postgres(_) => {
                let text = search.folded().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
                Self { before: "tickets.search_text LIKE ", text: format!("%{text}%"), after: "" }
            }
        }
    }

    /// The condition for reading one ticket after the other without a full-text index.
    pub(crate) fn one_by_one(conn: &Connection, search: &SearchText) -> Self {
        let in_order = Self::in_order(conn, search);
        match conn {
            Connection::Sqlite(_) => in_order,
            // An expression that no index is made of.
            Connection::Postgres(_) => Self { before: "tickets.search_text || '' LIKE ", ..in_order },
        }
    }

    /// The condition for counting all tickets that match.
    pub(crate) fn counted(conn: &Connection, search: &SearchText) -> Self {
        match conn {
            Connection::Sqlite(_) if has_index(search) => Self {
                before: "tickets.place IN (SELECT rowid FROM ticket_search WHERE ticket_search MATCH ",
                text: phrase(search),
                after: ")",
            },
            _ => Self::in_order(conn, search),
        }
    }
}

fn has_index(search: &SearchText) -> bool {
    search.folded().chars().count() >= INDEXED_LETTERS
}

/// The letters in quotation marks, so that only the quotation mark has a special meaning.
fn phrase(search: &SearchText) -> String {
    format!("\"{}\"", search.folded().replace('"', "\"\""))
}

#[derive(QueryableByName)]
struct Place {
    #[diesel(sql_type = BigInt)]
    place: i64,
}

/// The keys of a page and the number of all that match, if a search finds few tickets; `None` if it finds
/// many, or if SQLite's table cannot do this search.
pub(crate) fn few(
    conn: &mut Connection,
    asked: TicketQuery<'_>,
) -> Result<Option<(Vec<String>, u64)>, Fault> {
    let (Connection::Sqlite(conn), Some(search)) = (conn, &asked.filter.search) else { return Ok(None) };
    if !has_index(search) {
        return Ok(None);
    }
    let places = places(conn, search)?;
    if places.len() > FEW {
        return Ok(None);
    }
    let mut rows = rows(conn, asked, &places)?;
    sort_rows(&mut rows, asked.sort);
    let total = rows.len() as u64;
    let offset = usize::try_from(asked.page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(asked.page.limit()).unwrap_or(usize::MAX);
    let ids = rows.into_iter().skip(offset).take(limit).map(|row| row.id).collect();
    Ok(Some((ids, total)))
}

/// The row numbers that the text finds over all merchants, at most one more than count as few.
fn places(conn: &mut SqliteConnection, search: &SearchText) -> Result<Vec<i64>, Fault> {
    const ONE_MORE: usize = FEW + 1;
    let query =
        diesel::sql_query("SELECT rowid AS place FROM ticket_search WHERE ticket_search MATCH ? LIMIT ?");
    let query = query.bind::<Text, _>(phrase(search)).bind::<BigInt, _>(i64::try_from(ONE_MORE).unwrap_or(0));
    let found: Vec<Place> = query.load(conn)?;
    Ok(found.into_iter().map(|found| found.place).collect())
}

/// The identifier, and the columns by which lists are sorted.
#[derive(Queryable, Selectable)]
#[diesel(table_name = tickets)]
struct Row {
    id: String,
    created_at: i64,
    updated_at: i64,
    last_activity_at: i64,
    status_rank: i32,
}

fn rows(
    conn: &mut SqliteConnection,
    TicketQuery { tenant, filter, .. }: TicketQuery<'_>,
    places: &[i64],
) -> Result<Vec<Row>, Fault> {
    let numbers: Vec<_> = places.iter().map(i64::to_string).collect();
    let found: Option<Found> = None;
    // The plus signs keep the planner from walking all tickets of the merchant instead.
    let query = narrowed_to_found!(tickets::table.select(Row::as_select()).into_boxed(), filter, found)
        .filter(
            diesel::dsl::sql::<Bool>("+tickets.merchant_id = ")
                .bind::<BigInt, _>(tenant.merchant().0)
                .sql(""),
        )
        .filter(
            diesel::dsl::sql::<Bool>("+tickets.environment = ")
                .bind::<Text, _>(tenant.environment().as_str())
                .sql(""),
        )
        .filter(diesel::dsl::sql::<Bool>(&format!("tickets.place IN ({})", numbers.join(","))));
    Ok(query.load(conn)?)
}

fn sort_rows(rows: &mut [Row], sort: TicketSort) {
    let key = |row: &Row| {
        let value = match sort.key {
            SortKey::CreatedAt => row.created_at,
            SortKey::UpdatedAt => row.updated_at,
            SortKey::LastActivityAt => row.last_activity_at,
            SortKey::Status => row.status_rank.into(),
        };
        (value, row.id.clone())
    };
    match sort.order {
        SortOrder::Ascending => rows.sort_unstable_by_key(key),
        SortOrder::Descending => rows.sort_unstable_by_key(|row| Reverse(key(row))),
    }
}
