//! The faults of the store, and the errors that the domain gets for them.

pub(crate) mod file_trouble;

use diesel::result::{DatabaseErrorKind, Error};
use quipu_kernel::StoreError;

use crate::error::file_trouble::FileTrouble;

/// Why a store could not be opened or migrated.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is neither `sqlite://path` nor `postgres://…`.
    #[error("the database address must begin with sqlite:// or postgres://")]
    UnknownScheme,
    /// A part of a server's address is not valid; the text names it and shows no value.
    #[error("the database address (database_url) is not right: {0}")]
    Address(String),
    /// The library linked in has a release of SQLite that can corrupt a database in WAL mode.
    #[error("SQLite {found} is linked in, but at least 3.51.3 is needed")]
    OldSqlite {
        /// The release that was found.
        found: String,
    },
    /// The database could not be reached or set up; the text is for the log.
    #[error("the database cannot be used: {0}")]
    Unreachable(String),
    /// A migration failed; the text is for the log.
    #[error("a migration failed: {0}")]
    Migration(String),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Failed(text) | StoreError::Unavailable(text) | StoreError::OutcomeUnknown(text) => {
                Self::Unreachable(text)
            }
            StoreError::Overloaded => Self::Unreachable(error.to_string()),
        }
    }
}

/// What can go wrong between the store and its database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The database refused or failed.
    #[error(transparent)]
    Database(#[from] Error),
    /// A row is not as it must be; the text names it and says what is wrong.
    #[error("{0}")]
    Corrupt(String),
    /// A mistake in this program: it asks its engine for what that does not do, or cannot read or write what it made itself.
    #[error("a mistake in this program: {0}")]
    Mistaken(String),
    /// No connection could be made.
    #[error("no connection: {0}")]
    Unconnected(String),
    /// A `COMMIT` of this node waits for a synchronous standby, and nothing else is written meanwhile.
    #[error("the server waits for its standby")]
    AwaitsStandby,
    /// The file of an embedded database, or one beside it, is not as it was, or cannot be looked at. Nothing was
    /// done.
    #[error("{0}")]
    Lost(FileTrouble),
    /// The database did not answer in time, before a commit was sent to it.
    #[error("the database did not answer in time")]
    Silent,
    /// The deadline of the call passed before anything was written.
    #[error("the time was over before anything was written")]
    TooLate,
    /// Two nodes wrote the same thing at the same time, and this one came second; another try finds what the
    /// other wrote.
    #[error("overtaken by another node")]
    Overtaken,
    /// A row does not have the revision of the decision; another try looks it up to find which change is
    /// stale.
    #[error("a row has moved on")]
    Moved,
    /// A commit was not answered, and was found not to have happened.
    #[error("a commit was undone: {0}")]
    Undone(String),
    /// A commit was not answered, and its outcome could not be found.
    #[error("the outcome of a commit is unknown: {0}")]
    OutcomeUnknown(String),
    /// An error that several callers share, or that another part of the store reported.
    #[error(transparent)]
    Shared(StoreError),
    /// Too much work waits.
    #[error("overloaded")]
    Overloaded,
    /// A worker died before it answered.
    #[error("the work was abandoned")]
    Abandoned,
}

/// The message of a server when a lock was waited for too long, and of SQLite when another process writes.
/// PostgreSQL writes it in the language of its messages, which is English unless somebody chose another.
const LOCKED: [&str; 2] = ["lock timeout", "database is locked"];

/// The message of SQLite when the disk is full.
const FULL: &str = "database or disk is full";

impl Fault {
    /// Whether the work broke a rule of the database, or collided with other work. Such a fault has nothing
    /// to do with the connection.
    pub(crate) fn spares_the_connection(&self) -> bool {
        match self {
            Self::Overtaken | Self::Moved | Self::Corrupt(_) | Self::Mistaken(_) | Self::AwaitsStandby => {
                true
            }
            Self::Database(Error::DatabaseError(kind, _)) => is_of_the_work(*kind) || self.is_blocked(),
            _ => false,
        }
    }

    /// Whether the connection to the database failed, so that other connections may have failed too.
    pub(crate) const fn is_about_the_connection(&self) -> bool {
        match self {
            Self::Silent | Self::Undone(_) | Self::OutcomeUnknown(_) => true,
            Self::Database(Error::DatabaseError(kind, _)) => matches!(
                kind,
                DatabaseErrorKind::ClosedConnection
                    | DatabaseErrorKind::UnableToSendCommand
                    | DatabaseErrorKind::ReadOnlyTransaction
            ),
            _ => false,
        }
    }

    /// Whether the database takes no write of anybody at this moment.
    pub(crate) const fn is_of_the_server(&self) -> bool {
        matches!(self, Self::Unconnected(_) | Self::AwaitsStandby | Self::Lost(_))
    }

    /// Whether a lock of another session was in the way for too long.
    pub(crate) fn is_blocked(&self) -> bool {
        match self {
            Self::Database(Error::DatabaseError(DatabaseErrorKind::Unknown, said)) => {
                LOCKED.iter().any(|words| said.message().contains(words))
            }
            _ => false,
        }
    }

    /// Whether the disk had no room, as SQLite reports it, even for a commit.
    pub(crate) fn is_for_want_of_room(&self) -> bool {
        match self {
            Self::Database(Error::DatabaseError(_, said)) => said.message().contains(FULL),
            Self::Undone(text) | Self::OutcomeUnknown(text) => text.contains(FULL),
            _ => false,
        }
    }

    /// Whether the database named the kind of the error.
    pub(crate) const fn is_named(&self) -> bool {
        !matches!(self, Self::Database(Error::DatabaseError(DatabaseErrorKind::Unknown, _)))
    }

    /// Whether the same work may succeed if it is tried again on fresh state: another node came first, a
    /// deadlock was broken, or the server was busy with work of its own. A broken constraint stays broken.
    pub(crate) const fn is_race(&self) -> bool {
        match self {
            Self::Overtaken | Self::Moved => true,
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

impl Fault {
    /// Whether a failed statement means for certain that its transaction is not committed, though a `COMMIT`
    /// is sent after it: the server rolls back everything that it refuses. Without an answer of the server
    /// the transaction may have been committed.
    pub(crate) const fn undoes(&self) -> bool {
        !matches!(
            self,
            Self::Database(Error::DatabaseError(
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection,
                _
            ))
        )
    }

    /// Whether an answer to `COMMIT` means for certain that nothing was committed: the database names an
    /// error.
    pub(crate) const fn says_undone(&self) -> bool {
        matches!(self, Self::Database(Error::DatabaseError(kind, _)) if is_of_the_work(*kind))
    }
}

/// Whether the error was caused by the work and not by a failure of the server.
const fn is_of_the_work(kind: DatabaseErrorKind) -> bool {
    matches!(
        kind,
        DatabaseErrorKind::UniqueViolation
            | DatabaseErrorKind::ForeignKeyViolation
            | DatabaseErrorKind::CheckViolation
            | DatabaseErrorKind::NotNullViolation
            | DatabaseErrorKind::RestrictViolation
            | DatabaseErrorKind::ExclusionViolation
            | DatabaseErrorKind::SerializationFailure
    )
}

/// An error of work on a connection, as far as it concerns the connection.
pub(crate) trait Trouble {
    /// The fault, if it is one; a refusal by a rule is none.
    fn fault(&self) -> Option<&Fault>;
}

/// An error of a write.
pub(crate) trait LeavesOpen {
    /// Whether the write may have been committed.
    fn leaves_open(&self) -> bool;
}

impl LeavesOpen for Fault {
    fn leaves_open(&self) -> bool {
        matches!(self, Self::OutcomeUnknown(_) | Self::Shared(StoreError::OutcomeUnknown(_)))
    }
}

impl Trouble for Fault {
    fn fault(&self) -> Option<&Fault> {
        Some(self)
    }
}

/// Why a transaction was given up that a rule may refuse.
#[derive(Debug)]
pub(crate) enum Refused<E> {
    /// A rule refuses it.
    Rule(E),
    /// It failed.
    Fault(Fault),
}

impl<E> Trouble for Refused<E> {
    fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Rule(_) => None,
            Self::Fault(fault) => Some(fault),
        }
    }
}

impl<E> LeavesOpen for Refused<E> {
    fn leaves_open(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.leaves_open())
    }
}

impl<E: From<StoreError>> Refused<E> {
    /// The error that the domain gets.
    pub(crate) fn into_error(self) -> E {
        match self {
            Self::Rule(error) => error,
            Self::Fault(fault) => StoreError::from(fault).into(),
        }
    }
}

impl<E> From<Fault> for Refused<E> {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<E> From<StoreError> for Refused<E> {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl<E> From<Error> for Refused<E> {
    fn from(error: Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Shared(error)
    }
}

impl Fault {
    /// The error that the domain gets.
    pub(crate) fn to_store_error(&self) -> StoreError {
        match self {
            Self::Overloaded => StoreError::Overloaded,
            Self::Shared(error) => error.clone(),
            Self::OutcomeUnknown(_) => StoreError::OutcomeUnknown(self.to_string()),
            Self::Corrupt(_) | Self::Mistaken(_) => StoreError::Failed(self.to_string()),
            other => StoreError::Unavailable(other.to_string()),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.to_store_error()
    }
}

#[cfg(test)]
mod tests {
    use quipu_webhooks::EndpointError;

    use super::*;

    #[test]
    fn a_broken_constraint_costs_no_connection_though_a_rule_might_have_refused_as_well() {
        let broken = Error::DatabaseError(DatabaseErrorKind::UniqueViolation, Box::new("taken".to_owned()));
        let refused = Refused::<EndpointError>::from(broken);
        assert!(refused.fault().is_some_and(Fault::spares_the_connection));
        assert!(matches!(refused.into_error(), EndpointError::Store(StoreError::Unavailable(_))));
        let by_rule = Refused::Rule(EndpointError::LimitReached);
        assert!(by_rule.fault().is_none() && !by_rule.leaves_open());
        assert!(matches!(by_rule.into_error(), EndpointError::LimitReached));
        let in_doubt = StoreError::OutcomeUnknown("no answer".to_owned());
        assert!(Refused::<EndpointError>::from(in_doubt).leaves_open());
    }
}
