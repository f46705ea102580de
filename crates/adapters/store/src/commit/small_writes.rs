//! Small writes of an embedded database: onboarding, clean-up, claims. Those that wait at the same time share
//! a transaction, and so a flush to disk. If there is more than one, each has a savepoint of its own, so that
//! one that fails undoes nothing of the others.

use std::panic::AssertUnwindSafe;

use diesel::connection::SimpleConnection as _;
use futures_util::{FutureExt as _, future::BoxFuture};

use quipu_kernel::StoreError;

use crate::{
    connection::Connection,
    error::Fault,
    transaction::{
        self,
        custody::{Custody, Origin},
    },
};

/// Tells the caller of a write the outcome of its transaction.
pub(crate) type Tell = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// The result of a write within its transaction.
pub(crate) enum Tried {
    /// It is done if the transaction commits.
    Done(Tell),
    /// It failed, or no caller wants it any more. Nobody is to be told.
    Undone,
}

/// A write. It is called with a connection in a transaction, or with the reason why there is none.
pub(crate) type SmallWrite =
    Box<dyn for<'c> FnOnce(Result<&'c mut Connection, Fault>) -> BoxFuture<'c, Tried> + Send>;

/// Does all of `writes` in one transaction, and tells their callers.
pub(crate) async fn commit_all(custody: &mut Custody, origin: &Origin, writes: Vec<SmallWrite>) {
    custody.make_room(origin).await;
    let mut writes = writes.into_iter();
    let mut done = Vec::new();
    let tried = match custody.connection(origin).await {
        Ok(conn) => try_all(conn, &mut writes, &mut done).await,
        Err(fault) => Err(fault),
    };
    let outcome = match tried {
        // Nothing is to be kept.
        Ok(()) if done.is_empty() => {
            custody.undo(None).await;
            return;
        }
        Ok(()) => transaction::commit(custody, origin, None).await,
        Err(fault) => {
            custody.undo(Some(&fault)).await;
            Err(fault)
        }
    };
    if let Err(fault) = &outcome {
        custody.make_room_after(fault, origin).await;
    }
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
    writes: &mut impl ExactSizeIterator<Item = SmallWrite>,
    done: &mut Vec<Tell>,
) -> Result<(), Fault> {
    conn.begin_writing().await?;
    if writes.len() == 1 {
        // If it fails there is nothing to be kept, and a savepoint would have SQLite copy every page it touches.
        if let Some(write) = writes.next() {
            done.extend(tried(conn, write).await);
        }
        return Ok(());
    }
    for write in writes {
        execute(conn, "SAVEPOINT small")?;
        if let Some(tell) = tried(conn, write).await {
            done.push(tell);
            execute(conn, "RELEASE small")?;
        } else {
            execute(conn, "ROLLBACK TO small; RELEASE small")?;
        }
    }
    Ok(())
}

/// Runs a write; answers whom to tell of the outcome, or nobody if nothing of it is to be kept.
async fn tried(conn: &mut Connection, write: SmallWrite) -> Option<Tell> {
    match AssertUnwindSafe(write(Ok(conn))).catch_unwind().await {
        Ok(Tried::Done(tell)) => Some(tell),
        Ok(Tried::Undone) => None,
        Err(_) => {
            tracing::error!("a writing query panicked");
            None
        }
    }
}

fn execute(conn: &mut Connection, statement: &str) -> Result<(), Fault> {
    match conn {
        Connection::Sqlite(conn) => Ok(conn.batch_execute(statement)?),
        Connection::Postgres(_) => {
            Err(Fault::Mistaken("small writes share transactions in a file only".to_owned()))
        }
    }
}

/// The outcome of a transaction, as each write that shares it is told.
enum Shared {
    Committed,
    Unknown(String),
    Failed(StoreError),
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use diesel::{RunQueryDsl as _, dsl::sql, sql_types::Text};

    use super::*;
    use crate::{settings::StoreSettings, sqlite::file::DatabaseFile};

    /// Whose outcome was told, whether it is done, and what others see by then.
    type Told = (&'static str, bool, Vec<String>);

    struct Marks {
        folder: tempfile::TempDir,
        file: Arc<DatabaseFile>,
        told: Arc<Mutex<Vec<Told>>>,
    }

    impl Marks {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("quipu.db");
            std::fs::write(&path, "").expect("an empty database");
            let file = Arc::new(DatabaseFile::open(&path.display().to_string()).expect("opened"));
            let marks = Self { folder, file, told: Arc::default() };
            marks.origin().1.batch_execute("CREATE TABLE marks (name TEXT NOT NULL)").expect("a table");
            marks
        }

        /// Where writes come from, and a connection beside theirs.
        fn origin(&self) -> (Origin, diesel::SqliteConnection) {
            let times = StoreSettings::new("sqlite://").times();
            let Ok(Connection::Sqlite(conn)) = self.file.connect(times.lock) else { panic!("a connection") };
            (Origin::Sqlite(Arc::clone(&self.file), times), conn)
        }

        /// What others see.
        fn seen(&self) -> Vec<String> {
            sql::<Text>("SELECT name FROM marks ORDER BY name").load(&mut self.origin().1).expect("read")
        }

        /// A write of this mark; `end` may look at what others see, and says whether it is done.
        fn write(
            self: &Arc<Self>,
            name: &'static str,
            end: impl FnOnce(&Self) -> bool + Send + 'static,
        ) -> SmallWrite {
            let marks = Arc::clone(self);
            Box::new(move |conn| {
                Box::pin(async move {
                    let tell: Tell = {
                        let marks = Arc::clone(&marks);
                        Box::new(move |outcome: Result<(), Fault>| {
                            let seen = if outcome.is_ok() { marks.seen() } else { Vec::new() };
                            marks.told.lock().expect("whole").push((name, outcome.is_ok(), seen));
                        })
                    };
                    let conn = match conn {
                        Ok(Connection::Sqlite(conn)) => conn,
                        Ok(Connection::Postgres(_)) => unreachable!("this is a file"),
                        Err(fault) => {
                            tell(Err(fault));
                            return Tried::Undone;
                        }
                    };
                    conn.batch_execute(&format!("INSERT INTO marks VALUES ('{name}')")).expect("written");
                    if end(&marks) { Tried::Done(tell) } else { Tried::Undone }
                })
            })
        }

        async fn commit_all(&self, writes: Vec<SmallWrite>) {
            commit_all(&mut Custody::none(), &self.origin().0, writes).await;
        }

        fn told(&self) -> Vec<Told> {
            self.told.lock().expect("whole").clone()
        }
    }

    #[tokio::test]
    async fn those_that_wait_together_are_seen_together_and_a_failed_one_undoes_only_itself() {
        let marks = Arc::new(Marks::new());
        let second = marks.write("second", |marks| {
            assert_eq!(marks.seen(), [""; 0], "the first is in the same transaction");
            false
        });
        let writes = vec![marks.write("first", |_| true), second, marks.write("third", |_| true)];
        marks.commit_all(writes).await;
        let seen = ["first", "third"].map(str::to_owned).to_vec();
        assert_eq!(marks.told(), [("first", true, seen.clone()), ("third", true, seen)]);
    }

    #[tokio::test]
    async fn a_write_that_panics_undoes_only_itself() {
        let marks = Arc::new(Marks::new());
        let second = marks.write("second", |_| panic!("as the test wants it"));
        marks.commit_all(vec![marks.write("first", |_| true), second, marks.write("third", |_| true)]).await;
        assert_eq!(marks.seen(), ["first", "third"]);
        assert_eq!(marks.told().len(), 2);
    }

    #[tokio::test]
    async fn if_all_fail_nothing_is_written_and_nobody_is_told() {
        let marks = Arc::new(Marks::new());
        marks.commit_all(vec![marks.write("first", |_| false), marks.write("second", |_| false)]).await;
        assert_eq!((marks.seen(), marks.told()), (Vec::new(), Vec::new()));
    }

    #[tokio::test]
    async fn a_write_that_is_alone_is_kept_or_undone() {
        let marks = Arc::new(Marks::new());
        marks.commit_all(vec![marks.write("first", |_| false)]).await;
        marks.commit_all(vec![marks.write("second", |_| true)]).await;
        assert_eq!((marks.seen(), marks.told().len()), (vec!["second".to_owned()], 1));
    }

    #[tokio::test]
    async fn where_there_is_no_connection_everybody_is_told() {
        let marks = Arc::new(Marks::new());
        let (origin, _conn) = marks.origin();
        std::fs::remove_file(marks.folder.path().join("quipu.db")).expect("removed");
        let writes = vec![marks.write("first", |_| true), marks.write("second", |_| true)];
        commit_all(&mut Custody::none(), &origin, writes).await;
        assert_eq!(marks.told(), [("first", false, Vec::new()), ("second", false, Vec::new())]);
    }
}
