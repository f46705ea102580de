//! What can go wrong here, and how it is told to the domain.

use diesel::result::{DatabaseErrorKind, Error};
use quipu_ledger::LedgerUnavailable;
use quipu_merchants::{DirectoryError, StoreUnavailable};

/// Why a store could not be opened or migrated.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is neither `sqlite://path` nor `postgres://…`.
    #[error("the database address must begin with sqlite:// or postgres://")]
    UnknownScheme,
    /// The library linked in has a release of SQLite that can corrupt a database in WAL mode.
    #[error("SQLite {found} is linked in, but at least 3.51.3 is needed")]
    OldSqlite {
        /// The release found.
        found: String,
    },
    /// The database could not be reached or set up; the text is for the log.
    #[error("the database cannot be used: {0}")]
    Unreachable(String),
    /// A migration failed; the text is for the log.
    #[error("a migration failed: {0}")]
    Migration(String),
}

impl From<StoreUnavailable> for OpenError {
    fn from(error: StoreUnavailable) -> Self {
        match error {
            StoreUnavailable::Failed(text) => Self::Unreachable(text),
            StoreUnavailable::Overloaded => Self::Unreachable(error.to_string()),
        }
    }
}

/// What can go wrong between the store and its database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The database refused or failed.
    #[error(transparent)]
    Database(#[from] Error),
    /// A row cannot be read as what it should be.
    #[error("{0}")]
    Corrupt(String),
    /// No connection was to be had.
    #[error("no connection: {0}")]
    Unconnected(String),
    /// Two nodes wrote the same thing at once, and this one came second; trying again finds the other's.
    #[error("overtaken by another node")]
    Overtaken,
    /// A transaction failed while it was committed, so that nobody knows whether it was.
    #[error("the outcome of a commit is unknown: {0}")]
    OutcomeUnknown(Error),
    /// A fault that several readers share.
    #[error("{0}")]
    Shared(String),
    /// Too much is waiting.
    #[error("overloaded")]
    Overloaded,
    /// A worker died before it answered.
    #[error("the work was abandoned")]
    Abandoned,
}

impl Fault {
    /// What a failed `COMMIT` means: an error that the database names is a transaction it undid, anything else leaves
    /// the outcome open.
    pub(crate) fn of_commit(error: Error) -> Self {
        match error {
            Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Self::Database(error),
            other => Self::OutcomeUnknown(other),
        }
    }

    /// Whether the same work may succeed if it is tried again on fresh state: another node was first, a deadlock was
    /// broken, or the server was busy with something of its own. A broken constraint stays broken.
    pub(crate) const fn is_race(&self) -> bool {
        match self {
            Self::Overtaken => true,
            Self::Database(Error::DatabaseError(kind, _)) => !matches!(
                kind,
                DatabaseErrorKind::CheckViolation
                    | DatabaseErrorKind::ForeignKeyViolation
                    | DatabaseErrorKind::NotNullViolation
                    | DatabaseErrorKind::ClosedConnection
            ),
            _ => false,
        }
    }
}

impl From<Fault> for StoreUnavailable {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Overloaded => Self::Overloaded,
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<Fault> for DirectoryError {
    fn from(fault: Fault) -> Self {
        Self::Store(fault.into())
    }
}

impl From<Fault> for LedgerUnavailable {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Overloaded => Self::Overloaded,
            other => Self::Failed(other.to_string()),
        }
    }
}
