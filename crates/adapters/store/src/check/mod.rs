//! The verification of the whole database: every total is computed again from the rows that it sums up, and
//! every fact that is stored in two places is compared.
//!
//! Each invariant is a set of statements over all tenants that find breaches only, so that the result stays
//! short however many rows there are. All of them see the same state of the database. [`books`] checks money,
//! [`crossed`] facts that two tables share, [`told`] the bytes that merchants were sent, [`chained`] the
//! sealed rows, and [`schema`] the triggers and constraints that protect all of it. What [`ranges`] finds comes first,
//! since nothing can be summed up then.

mod belongings;
mod books;
mod chained;
mod counted;
mod crossed;
mod ranges;
mod schema;
mod told;

use diesel::{
    QueryableByName,
    result::Error,
    sql_query,
    sql_types::{BigInt, Text},
};
use diesel_async::SimpleAsyncConnection as _;
use futures_util::future::BoxFuture;
use quipu_ledger::{Breach, CheckReport};

use self::schema::{FILE, SCHEMA};
use crate::{
    common_time::now_in_file,
    connection::{Connection, execute, first, load},
    error::Fault,
    rows::stored::natural,
};

/// The invariant without which sums overflow.
const IN_RANGE: &str = "numbers_in_range";

/// How many breaches of one invariant are listed.
const LISTED: usize = 100;

#[derive(Debug, QueryableByName)]
struct BreachRow {
    #[diesel(sql_type = Text)]
    subject: String,
    #[diesel(sql_type = Text)]
    detail: String,
}

#[derive(Debug, QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Each invariant by its name, with the statements that find its breaches.
const INVARIANTS: [(&str, &[&str]); 15] = [
    (IN_RANGE, &[ranges::NUMBERS]),
    ("balance_equals_entries", &[books::BALANCES]),
    ("transaction_sums_to_zero", &[books::TRANSACTIONS]),
    ("status_versions_gapless", &[books::STEPS, books::ENDS, crossed::REVISIONS]),
    ("frozen_equals_open_withdrawals", &[books::FROZEN]),
    ("totals_equal_payments", &[books::TOTALS]),
    ("entries_equal_payments", &[books::ENTRIES, books::OWNERS, books::REFUNDS]),
    ("counters_equal_rows", &[books::COUNTERS, counted::TICKETS, counted::DELIVERIES]),
    ("references_follow_status", &[crossed::REFERENCES]),
    (
        "events_equal_payments",
        &[
            crossed::EVENT_BYTES,
            crossed::EVENT_TERMS,
            crossed::EVENT_OF_NOTHING,
            crossed::COMPLETIONS,
            crossed::EVENTS_OF_REFUNDS,
        ],
    ),
    ("open_payments_are_due", &[crossed::OPEN_IS_DUE, crossed::DUE_IS_OPEN, crossed::DUE_IN_TIME]),
    ("deliveries_are_due", &[crossed::DELIVERIES_IN_TIME]),
    ("adjustments_are_audited", &[crossed::ADJUSTMENTS]),
    ("receipts_equal_callbacks", &[crossed::RECEIPTS]),
    ("rows_belong_together", &[belongings::OF_PAYMENTS, belongings::OF_MERCHANTS, belongings::OF_BANK_FILES]),
];

/// The invariants that exist on a server only.
const OF_SERVER: [(&str, &[&str]); 1] = [("classes_equal_payments", &[crossed::CLASSES])];

/// Verifies every invariant in one view of the database.
pub(crate) fn check(conn: &mut Connection) -> BoxFuture<'_, Result<CheckReport, Fault>> {
    Box::pin(async move {
        if let Connection::Sqlite(_) = conn {
            // What is sorted and grouped goes to files once it does not fit, and memory stays bounded.
            execute!(conn, sql_query("PRAGMA temp_store = FILE"))?;
        }
        if let Connection::Postgres(conn) = conn
            && let Err(error) = conn.batch_execute("ANALYZE (SKIP_LOCKED)").await
        {
            // It takes longer then, where tables have grown since the server analysed them by itself.
            tracing::debug!(%error, "tables could not be analysed before the check");
        }
        conn.begin_snapshot().await?;
        if let Connection::Postgres(conn) = conn {
            // Whole tables are compared. On tables not analysed yet the planner might go row by row all the same.
            conn.batch_execute("SET LOCAL enable_nestloop = off").await?;
        }
        let mut report = CheckReport { breaches: schema::of_file(conn)?, ..CheckReport::default() };
        let outcome = compared(conn, &mut report).await;
        // Where the file is damaged, a table or a column is missing, or a sum overflows, not everything can be compared.
        let is_explained = report.breaches.iter().any(|it| [FILE, SCHEMA, IN_RANGE].contains(&it.invariant));
        match outcome {
            Err(Fault::Database(_)) if is_explained => {}
            compared => compared?,
        }
        // Nothing was written, and a damaged file can fail to commit even that.
        conn.rollback().await?;
        Ok(report)
    })
}

/// Adds the breaches that statements find to the report.
async fn compared(conn: &mut Connection, report: &mut CheckReport) -> Result<(), Fault> {
    report.breaches.extend(schema::compared(conn).await?);
    report.balances = count(conn, "SELECT COUNT(*) AS count FROM balances").await?;
    report.transactions = count(conn, "SELECT COUNT(*) AS count FROM entries WHERE line = 1").await?;
    report.payments = count(conn, "SELECT COUNT(*) AS count FROM payments").await?;
    let of_server: &[_] = if matches!(conn, Connection::Postgres(_)) { &OF_SERVER } else { &[] };
    for (invariant, statements) in INVARIANTS.iter().chain(of_server) {
        let mut found = Vec::new();
        for statement in *statements {
            let statement = dialect(conn, statement);
            match load!(conn, BreachRow, sql_query(statement)).map_err(Fault::from) {
                Ok(rows) => found.extend(rows),
                Err(fault) => report.breaches.push(unreadable(invariant, fault)?),
            }
        }
        let listed = found.into_iter().take(LISTED);
        let named = listed.map(|row| Breach { invariant, subject: row.subject, detail: row.detail });
        report.breaches.extend(named);
    }
    match told::compared(conn).await {
        Ok(breaches) => report.breaches.extend(breaches),
        Err(fault) => report.breaches.push(unreadable("payments_can_be_read", fault)?),
    }
    chained::compare(conn, &mut report.breaches).await
}

/// What somebody wrote that is no value of its column, such as a text that is not UTF-8, as a breach. Any other failure says
/// nothing about the books, and stays one.
fn unreadable(invariant: &'static str, fault: Fault) -> Result<Breach, Fault> {
    match fault {
        Fault::Database(Error::DeserializationError(error)) => {
            let detail = format!("cannot be compared: a value cannot be read ({error})");
            Ok(Breach { invariant, subject: "the database".to_owned(), detail })
        }
        other => Err(other),
    }
}

/// A statement in the words of its database. Text that is not JSON, or not a number, reads as
/// `NULL` on both databases instead of failing the statement.
fn dialect(conn: &Connection, statement: &str) -> String {
    let words: &[(&str, &str)] = match conn {
        Connection::Sqlite(_) => &[
            ("DATE_OF(created_at)", "date(created_at / 1000, 'unixepoch')"),
            ("NOW()", now_in_file!()),
            (
                "AMOUNT_OF(after)",
                "CASE WHEN json_valid(after) THEN CAST(json_extract(after, '$.amount') AS INTEGER) END",
            ),
            (
                "REFUNDED_OF(payload)",
                "CASE WHEN json_valid(payload)
                    THEN CAST(json_extract(payload, '$.data.payment.refunded_amount') AS INTEGER) END",
            ),
        ],
        Connection::Postgres(_) => &[
            ("instr(", "strpos("),
            ("NOW()", "CAST (EXTRACT (EPOCH FROM now ()) * 1000 AS BIGINT)"),
            (
                "DATE_OF(created_at)",
                "to_char(to_timestamp(created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
            ),
            ("AMOUNT_OF(after)", "CAST(substring(after from '\"amount\":(-?[0-9]{1,18})') AS BIGINT)"),
            (
                "REFUNDED_OF(payload)",
                "CAST(substring(payload from '\"refunded_amount\":([0-9]{1,18})') AS BIGINT)",
            ),
        ],
    };
    words.iter().fold(statement.to_owned(), |statement, (word, here)| statement.replace(word, here))
}

async fn count(conn: &mut Connection, statement: &str) -> Result<u64, Fault> {
    let counted = first!(conn, CountRow, sql_query(statement))?;
    natural(counted.map_or(0, |row| row.count))
}
