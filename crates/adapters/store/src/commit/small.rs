//! Small writes of an embedded database: onboarding, clean-up, claims. Those that wait at once share a transaction, and so a flush to
//! disk. Each has a savepoint of its own, so that one that fails undoes nothing of the others.

use std::panic::AssertUnwindSafe;

use diesel::connection::SimpleConnection as _;
use futures_util::{FutureExt as _, future::BoxFuture};
use quipu_merchants::StoreUnavailable;

use crate::{
    connection::Connection,
    error::Fault,
    lease::{Lease, Origin},
    transaction,
};

/// Tells whoever waits for a write what became of its transaction.
pub(crate) type Tell = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// What became of a write within its transaction.
pub(crate) enum Tried {
    /// It is done if the transaction commits.
    Done(Tell),
    /// It failed, or nobody wanted it any more. Nobody is to be told.
    Undone,
}

/// A write, which is given a connection in a transaction, or the reason why there is none.
pub(crate) type Small =
    Box<dyn for<'c> FnOnce(Result<&'c mut Connection, Fault>) -> BoxFuture<'c, Tried> + Send>;

/// Does all of `writes` in one transaction, and tells whoever waits.
pub(crate) async fn settle(lease: &mut Lease, origin: &Origin, writes: Vec<Small>) {
    let mut writes = writes.into_iter();
    let mut done = Vec::new();
    let tried = match lease.connection(origin).await {
        Ok(conn) => try_all(conn, &mut writes, &mut done).await,
        Err(fault) => Err(fault),
    };
    let outcome = match tried {
        Ok(()) if done.is_empty() => {
            lease.undo(&Fault::Overtaken).await;
            return;
        }
        Ok(()) => transaction::commit(lease, origin, None).await,
        Err(fault) => {
            lease.undo(&fault).await;
            Err(fault)
        }
    };
    let shared = Shared::of(outcome);
    for tell in done {
        tell(shared.outcome());
    }
    // Those whose turn never came, because the transaction failed before.
    for write in writes {
        if let Err(fault) = shared.outcome() {
            write(Err(fault)).await;
        }
    }
}

async fn try_all(
    conn: &mut Connection,
    writes: &mut impl Iterator<Item = Small>,
    done: &mut Vec<Tell>,
) -> Result<(), Fault> {
    conn.begin_writing().await?;
    for write in writes {
        execute(conn, "SAVEPOINT small")?;
        match AssertUnwindSafe(write(Ok(conn))).catch_unwind().await {
            Ok(Tried::Done(tell)) => {
                done.push(tell);
                execute(conn, "RELEASE small")?;
            }
            Ok(Tried::Undone) => execute(conn, "ROLLBACK TO small; RELEASE small")?,
            Err(_) => {
                tracing::error!("a writing query panicked");
                execute(conn, "ROLLBACK TO small; RELEASE small")?;
            }
        }
    }
    Ok(())
}

fn execute(conn: &mut Connection, statement: &str) -> Result<(), Fault> {
    match conn {
        Connection::Sqlite(conn) => Ok(conn.batch_execute(statement)?),
        Connection::Postgres(_) => {
            Err(Fault::Corrupt("small writes share transactions in a file only".to_owned()))
        }
    }
}

/// The outcome of a transaction, for each of those who share it.
enum Shared {
    Committed,
    Unknown(String),
    Failed(StoreUnavailable),
}

impl Shared {
    fn of(outcome: Result<(), Fault>) -> Self {
        match outcome {
            Ok(()) => Self::Committed,
            Err(Fault::OutcomeUnknown(text)) => Self::Unknown(text),
            Err(fault) => Self::Failed(fault.into()),
        }
    }

    fn outcome(&self) -> Result<(), Fault> {
        match self {
            Self::Committed => Ok(()),
            Self::Unknown(text) => Err(Fault::OutcomeUnknown(text.clone())),
            Self::Failed(error) => Err(Fault::Shared(error.clone())),
        }
    }
}
