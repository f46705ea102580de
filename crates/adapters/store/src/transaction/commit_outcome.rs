//! Finds the outcome of a transaction whose `COMMIT` was not answered.
//!
//! Three facts are remembered: the [`TransactionNumber`], whose outcome the server knows; the [`Server`] with
//! its timeline, on which alone the number is valid; and the [`Witness`], a row that the transaction writes
//! and that proves the commit on every timeline.

use std::time::Duration;

use diesel::{
    ExpressionMethods as _, QueryDsl as _, QueryableByName, SqliteConnection,
    connection::SimpleConnection as _,
    sql_query,
    sql_types::{Bool, Integer, Nullable, Text},
};
use diesel_async::RunQueryDsl as _;
use quipu_kernel::Tenant;
use tokio::time::sleep;

use crate::{
    connection::{Connection, first},
    error::Fault,
    postgres::session::{GivenUp, Server, Session},
    schema::{audit_log, entries, events, kept_answers, nonces, payments},
    statement::statement,
    transaction::custody::{Custody, Origin, cut_off_log},
};

statement! {
    /// The number of the transaction that runs this query.
    TransactionNumber on diesel::pg::Pg => Text { ; "SELECT CAST(pg_current_xact_id() AS TEXT)" }
}

/// The first pause before a server is asked again. Each pause is twice as long as the one before, up to the
/// longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// How often an embedded database that fails is asked. Everybody who writes waits meanwhile, and a disk that is full or
/// broken does not mend itself.
const MOST_FAILURES_OF_A_FILE: u32 = 4;

/// A row that a transaction writes, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Witness {
    /// The entries of a transaction of money.
    Entries { tenant: Tenant, transaction: String },
    /// An event.
    Event { tenant: Tenant, id: String },
    /// A line of the audit log.
    Audit { id: String },
    /// A payment that is new.
    Payment { tenant: Tenant, id: String },
    /// A kept answer, which is there for a day.
    Answer { tenant: Tenant, audience: &'static str, key: String, expires_at: i64 },
    /// A nonce, which is there for some minutes.
    Nonce { merchant: i64, value: String, expires_at: i64 },
}

/// The facts by which the outcome of a transaction is found.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// The number of the transaction; `None` on an embedded database.
    pub(crate) number: Option<String>,
    /// The server and timeline on which the number is valid.
    pub(crate) server: Option<Server>,
    /// A row that the transaction wrote.
    pub(crate) witness: Option<Witness>,
}

/// Whether the transaction was committed. New connections are made until one gets an answer. `None` if the
/// server on which it ran is gone and it has no witness, or if a file fails again and again. The first answer
/// also tells about `left`, the session that ran it. The caller must limit the time.
pub(crate) async fn learn(origin: &Origin, mark: Option<&Mark>, left: &mut GivenUp) -> Option<bool> {
    let mut custody = Custody::none();
    let (mut pause, mut failures) = (PAUSE, 0);
    loop {
        let answer = ask(&mut custody, origin, mark).await;
        left.judge(matches!(answer, Ok(Answer::AwaitsStandby)));
        match answer {
            Ok(Answer::Known(happened)) => {
                custody.done();
                return Some(happened);
            }
            Ok(Answer::Unknowable) => {
                custody.done();
                return None;
            }
            Ok(Answer::Open | Answer::AwaitsStandby) => {}
            Err(fault) => {
                tracing::warn!(%fault, "the outcome of a commit could not be asked for");
                custody.discard(&fault);
                if matches!(origin, Origin::Sqlite(..)) && !fault.is_blocked() {
                    failures += 1;
                    if failures == MOST_FAILURES_OF_A_FILE {
                        return None;
                    }
                }
            }
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

enum Answer {
    Known(bool),
    /// It has not ended yet.
    Open,
    /// It ends when a synchronous standby has it.
    AwaitsStandby,
    Unknowable,
}

/// Asks once, on the connection that was used before if there is one.
async fn ask(custody: &mut Custody, origin: &Origin, mark: Option<&Mark>) -> Result<Answer, Fault> {
    if custody.held().is_none() {
        custody.take_over(origin.connect_anew().await?);
    }
    let Some(conn) = custody.held() else { return Err(Fault::Abandoned) };
    ask_on(conn, mark).await
}

async fn ask_on(conn: &mut Connection, mark: Option<&Mark>) -> Result<Answer, Fault> {
    let is_embedded = matches!(conn, Connection::Sqlite(_));
    let Some(mark) = mark else {
        take_its_place(conn)?;
        return Ok(if is_embedded { Answer::Known(false) } else { Answer::Unknowable });
    };
    let mut is_final = is_embedded;
    let mut status = None;
    if let (Connection::Postgres(session), Some(number)) = (&mut *conn, &mark.number) {
        match (&session.server, &mark.server) {
            (Some(now), Some(then)) if now == then => {
                status = status_of(session, number).await?;
                if status.as_deref() == Some("in progress") {
                    return end(session, number).await;
                }
                is_final = status.is_some();
            }
            // The server was restarted or replaced, so the transaction runs no longer.
            (Some(_), Some(_)) => is_final = true,
            _ => {}
        }
    }
    // Even where the server is the same the witness is believed: a crash may have lost the transaction and
    // given its number away.
    let happened = match (&mark.witness, status.as_deref()) {
        (Some(witness), _) => Some(is_there(conn, witness).await?).filter(|is_there| *is_there || is_final),
        (None, Some("committed")) => Some(true),
        (None, Some("aborted")) => Some(false),
        (None, _) => mark.number.is_none().then_some(false),
    };
    match happened {
        Some(true) => reach_standbys(conn).await?,
        _ => take_its_place(conn)?,
    }
    Ok(happened.map_or(Answer::Unknowable, Answer::Known))
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Integer)]
    user_version: i32,
}

/// Commits something else to an embedded database, after a `COMMIT` that failed. What that wrote is there for
/// nobody, but may stand whole in the log, and would count if the log were read anew after a crash. The next
/// commit is written over it. If that fails too, for instance because the log's index cannot grow on a full disk, the log
/// is copied and cut off first: SQLite does not flush that it was cut off, but flushes the next commit.
fn take_its_place(conn: &mut Connection) -> Result<(), Fault> {
    let Connection::Sqlite(conn) = conn else { return Ok(()) };
    commit_nothing(conn).or_else(|fault| {
        cut_off_log(conn).map_err(|_| fault)?;
        tracing::warn!("a commit failed; the write-ahead log was copied and cut off");
        commit_nothing(conn)
    })
}

/// Writes the version that is there.
fn commit_nothing(conn: &mut SqliteConnection) -> Result<(), Fault> {
    let asked = sql_query("PRAGMA user_version");
    let Version { user_version } = diesel::RunQueryDsl::get_result(asked, conn)?;
    conn.batch_execute(&format!("PRAGMA user_version = {user_version}"))?;
    Ok(())
}

/// Waits until the synchronous standbys of a server, if it has any, have all that it has committed. A commit
/// whose session or server ended while it waited for them counts as committed, though no standby may have it.
async fn reach_standbys(conn: &mut Connection) -> Result<(), Fault> {
    if let Connection::Postgres(session) = conn {
        // A message in the server's log is a write that changes no table.
        sql_query("SELECT pg_logical_emit_message(true, 'quipu', '')").execute(&mut **session).await?;
    }
    Ok(())
}

#[derive(QueryableByName)]
struct Ended {
    #[diesel(sql_type = Nullable<Bool>)]
    ended: Option<bool>,
}

#[derive(QueryableByName)]
struct Status {
    #[diesel(sql_type = Nullable<Text>)]
    status: Option<String>,
}

async fn status_of(session: &mut Session, number: &str) -> Result<Option<String>, Fault> {
    let query = sql_query("SELECT pg_xact_status(CAST($1 AS xid8)) AS status").bind::<Text, _>(number);
    Ok(query.get_result::<Status>(&mut **session).await?.status)
}

/// Ends the session that runs the transaction, so that a `COMMIT` that is still on its way has no effect. A
/// `COMMIT` that waits for a synchronous standby is left alone: to end its session would end the wait alone,
/// and the transaction would count as committed though the standby does not have it.
async fn end(session: &mut Session, number: &str) -> Result<Answer, Fault> {
    let query =
        "SELECT CASE WHEN wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(pid) END AS ended
        FROM pg_stat_activity WHERE backend_xid = CAST(CAST($1 AS xid8) AS xid)";
    let found: Vec<Ended> = sql_query(query).bind::<Text, _>(number).load(&mut **session).await?;
    let awaits_standby = found.iter().any(|found| found.ended.is_none());
    Ok(if awaits_standby { Answer::AwaitsStandby } else { Answer::Open })
}

async fn is_there(conn: &mut Connection, witness: &Witness) -> Result<bool, Fault> {
    let place = |tenant: &Tenant| (tenant.merchant().0, tenant.environment().as_str());
    let found = match witness {
        Witness::Entries { tenant, transaction } => {
            let (merchant, environment) = place(tenant);
            let key = (merchant, environment, transaction, 1);
            first!(conn, String, entries::table.find(key).select(entries::transaction_id))?
        }
        Witness::Event { tenant, id } => {
            let (merchant, environment) = place(tenant);
            first!(conn, String, events::table.find((merchant, environment, id)).select(events::id))?
        }
        Witness::Audit { id } => first!(conn, String, audit_log::table.find(id).select(audit_log::id))?,
        Witness::Payment { tenant, id } => {
            let (merchant, environment) = place(tenant);
            first!(conn, String, payments::table.find((merchant, environment, id)).select(payments::id))?
        }
        Witness::Answer { tenant, audience, key, expires_at } => {
            let (merchant, environment) = place(tenant);
            let row = kept_answers::table.find((merchant, environment, *audience, key));
            let row = row.filter(kept_answers::expires_at.eq(expires_at)).select(kept_answers::key);
            first!(conn, String, row)?
        }
        Witness::Nonce { merchant, value, expires_at } => {
            let row = nonces::table.find((merchant, value));
            let row = row.filter(nonces::expires_at.eq(expires_at)).select(nonces::value);
            first!(conn, String, row)?
        }
    };
    Ok(found.is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::timeout;

    use super::*;
    use crate::{settings::StoreSettings, sqlite::file::DatabaseFile};

    fn origin(path: &std::path::Path) -> Origin {
        std::fs::write(path, "").expect("an empty database");
        let path = path.display().to_string();
        let file = Arc::new(DatabaseFile::open(&path).expect("opened"));
        Origin::Sqlite(file, StoreSettings::new(format!("sqlite://{path}")).times())
    }

    #[tokio::test]
    async fn a_file_that_is_gone_is_asked_a_few_times_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let origin = origin(&folder.path().join("quipu.db"));
        drop(folder);
        let mut left = GivenUp::default();
        let learnt = timeout(Duration::from_mins(1), learn(&origin, None, &mut left)).await;
        assert_eq!(learnt.expect("it gives up"), None);
    }

    #[tokio::test]
    async fn where_no_other_commit_is_possible_the_log_is_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("quipu.db");
        let mut conn = origin(&path).connect_anew().await.expect("opened");
        let Connection::Sqlite(file) = &mut conn else { panic!("a file has connections of SQLite") };
        file.batch_execute("CREATE TABLE one (a INTEGER); PRAGMA query_only = ON").expect("written");
        let length = || std::fs::metadata(path.with_extension("db-wal")).expect("there").len();
        assert!(length() > 0);
        assert!(take_its_place(&mut conn).is_err(), "nobody is told that nothing happened");
        assert_eq!(length(), 0);
    }
}
