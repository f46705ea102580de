//! Runs work on a connection, whole or not at all.

pub(crate) mod commit_outcome;
pub(crate) mod custody;
pub(crate) mod job_state;

use std::time::Duration;

use diesel_async::RunQueryDsl as _;
use tokio::time::timeout;

use self::{
    commit_outcome::Mark,
    custody::{Custody, Origin},
    job_state::JobState,
};
use crate::{
    connection::Connection,
    error::{Fault, Trouble},
    metric_names::COMMIT_UNANSWERED,
    postgres::lock_turns::Patience,
    query::Query,
};

/// Runs a query that reads.
pub(crate) async fn in_custody<T, E>(
    custody: &mut Custody,
    origin: &Origin,
    query: impl Query<T, E>,
) -> Result<T, E>
where
    E: From<Fault> + Trouble,
{
    let outcome = query(custody.connection(origin).await?).await;
    hand_back(custody, &outcome).await;
    outcome
}

/// Runs a query that writes in a transaction of its own, which an error undoes. It begins once there is a
/// connection, unless its caller has gone away by then.
pub(crate) async fn in_transaction<T, E>(
    custody: &mut Custody,
    origin: &Origin,
    job_state: &JobState,
    patience: Patience,
    query: impl Query<T, E>,
) -> Result<T, E>
where
    E: From<Fault> + Trouble,
{
    let conn = custody.connection_to_write(origin).await?;
    if !job_state.begin() {
        custody.done();
        return Err(Fault::TooLate.into());
    }
    let brief_lock = (patience == Patience::Brief).then(|| origin.times().brief_lock);
    let work = async {
        let mark = begin(conn, brief_lock).await?;
        Ok::<_, E>((query(conn).await?, mark))
    };
    let Ok(outcome) = origin.within(origin.times().attempt, work).await else {
        custody.discard(&Fault::Silent);
        return Err(Fault::Silent.into());
    };
    match outcome {
        Ok((value, mark)) => {
            commit(custody, origin, mark).await?;
            Ok(value)
        }
        Err(error) => {
            custody.undo(error.fault()).await;
            Err(error)
        }
    }
}

/// Hands the connection back after work that is done or failed, and decides whether it may be used again.
async fn hand_back<T, E: Trouble>(custody: &mut Custody, outcome: &Result<T, E>) {
    match outcome {
        Ok(_) => custody.done(),
        Err(error) => custody.undo(error.fault()).await,
    }
}

/// Begins a transaction, which waits for a lock no longer than its connection says or `brief_lock`, and learns the facts
/// by which its outcome can be found.
async fn begin(conn: &mut Connection, brief_lock: Option<Duration>) -> Result<Option<Mark>, Fault> {
    match conn {
        Connection::Sqlite(_) => {
            conn.begin_writing().await?;
            Ok(None)
        }
        Connection::Postgres(session) => {
            let shared: &diesel_async::AsyncPgConnection = session;
            let beginning = brief_lock.map_or_else(
                || "BEGIN".to_owned(),
                |lock| format!("BEGIN; SET LOCAL lock_timeout = {}", lock.as_millis()),
            );
            let (begun, number) = tokio::join!(
                biased;
                async { diesel_async::SimpleAsyncConnection::batch_execute(&mut &*shared, &beginning).await },
                commit_outcome::TransactionNumber.get_result::<String>(&mut &*shared),
            );
            begun?;
            Ok(Some(Mark { number: Some(number?), server: session.server.clone(), witness: None }))
        }
    }
}

/// Why a transaction was not seen to commit.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// It was not committed.
    Undone(Fault),
    /// It may have been committed.
    Open(Fault),
}

impl Unfinished {
    /// The state of a transaction after a statement has failed, when a `COMMIT` was sent after it.
    pub(crate) fn at_statement(fault: Fault) -> Self {
        if fault.undoes() { Self::Undone(fault) } else { Self::Open(fault) }
    }

    /// The state of a transaction whose `COMMIT` failed.
    pub(crate) fn at_commit(error: diesel::result::Error) -> Self {
        let fault = Fault::Database(error);
        if fault.says_undone() { Self::Undone(fault) } else { Self::Open(fault) }
    }
}

/// Commits the transaction of the connection in custody.
pub(crate) async fn commit(custody: &mut Custody, origin: &Origin, mark: Option<Mark>) -> Result<(), Fault> {
    let time = origin.times().commit;
    finish(custody, origin, time, mark, async |conn: &mut Connection| {
        conn.commit().await.map_err(Unfinished::at_commit)
    })
    .await
}

/// Ends the transaction of the connection in custody by `ending`, which commits and may take `time`. `Ok` and
/// `Undone` are certain, whatever happened to the connection; only if the outcome cannot be found in time is
/// it unknown.
pub(crate) async fn finish(
    custody: &mut Custody,
    origin: &Origin,
    time: Duration,
    mark: Option<Mark>,
    ending: impl AsyncFnOnce(&mut Connection) -> Result<(), Unfinished>,
) -> Result<(), Fault> {
    let times = origin.times();
    let Some(conn) = custody.held() else { return Err(Fault::Abandoned) };
    let said = match origin.within(time, ending(conn)).await {
        Ok(Ok(())) => {
            custody.done();
            // What went into a file that is gone will not be found again, unless somebody puts it back.
            return origin.require_intact().map_err(|fault| Fault::OutcomeUnknown(fault.to_string()));
        }
        Ok(Err(Unfinished::Undone(fault))) => {
            custody.undo(Some(&fault)).await;
            return Err(fault);
        }
        Ok(Err(Unfinished::Open(fault))) if fault.is_for_want_of_room() => {
            // SQLite reports this before the whole commit is written.
            custody.discard(&fault);
            return Err(Fault::Undone(fault.to_string()));
        }
        Ok(Err(Unfinished::Open(fault))) => fault.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!(said, "a commit was not answered; its outcome is asked for");
    metrics::counter!(COMMIT_UNANSWERED).increment(1);
    let mut left = custody.give_up();
    let learnt =
        timeout(times.learn, commit_outcome::learn(origin, mark.as_ref(), &mut left)).await.unwrap_or(None);
    match learnt {
        Some(true) => Ok(()),
        Some(false) => Err(Fault::Undone(said)),
        None => {
            left.end_later();
            Err(Fault::OutcomeUnknown(said))
        }
    }
}
