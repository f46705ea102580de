//! What a store needs to know to open.

use std::time::Duration;

/// Where the database is, how many workers it gets and how long anything may take. Not to be shown: the address may hold
/// a password.
#[derive(Clone)]
pub struct StoreSettings {
    /// `sqlite://path` or `postgres://user:password@host/database`.
    pub url: String,
    /// PostgreSQL: how many lanes commit side by side, each with a connection of its own. SQLite has one writer.
    pub lanes: usize,
    /// How many short queries are read side by side, each on a connection of its own. Pages of lists have half as many
    /// beside them, and checks of the ledger one.
    pub readers: usize,
    /// How long a call may wait for the database in all.
    pub call: Duration,
    /// How long a change may wait for a row that somebody else has locked.
    pub lock: Duration,
    /// What this node is called in leases: unique among all that share the database.
    pub node: String,
}

impl StoreSettings {
    /// The defaults for a database: four lanes, four readers of a file (each keeps pages of its own) or eight
    /// connections to a server; ten seconds for a call and two for a lock.
    pub fn new(url: impl Into<String>) -> Self {
        let (call, lock) = (Duration::from_secs(10), Duration::from_secs(2));
        let node = uuid::Uuid::new_v4().to_string();
        let mut settings = Self { url: url.into(), lanes: 4, readers: 4, call, lock, node };
        if settings.is_postgres() {
            settings.readers = 8;
        }
        settings
    }

    /// The path of an embedded database.
    pub(crate) fn sqlite_path(&self) -> Option<&str> {
        self.url.strip_prefix("sqlite://")
    }

    /// Whether the database is a PostgreSQL server.
    pub(crate) fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres://") || self.url.starts_with("postgresql://")
    }

    /// The bounds that follow from the deadline of a call.
    pub(crate) fn times(&self) -> Times {
        Times::within(self.call, self.lock)
    }
}

/// How long each step towards an answer may take. A call that is in the hands of the database when its deadline passes is
/// answered [`Times::grace`] later at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// A call in all, before anything of it is written.
    pub(crate) call: Duration,
    /// The wait for a row that somebody else has locked, by a change that nobody else waits behind.
    pub(crate) lock: Duration,
    /// The same where others wait behind it.
    pub(crate) brief_lock: Duration,
    /// Making a connection.
    pub(crate) connect: Duration,
    /// Loading what a batch depends on, and once more as long for writing and committing it; all statements of another
    /// transaction up to its `COMMIT`.
    pub(crate) attempt: Duration,
    /// The answer to a `COMMIT` that is sent alone.
    pub(crate) commit: Duration,
    /// Learning what became of a `COMMIT` that was not answered.
    pub(crate) learn: Duration,
    /// What a call may take beyond its deadline if it was begun in time.
    pub(crate) grace: Duration,
}

impl Times {
    /// A neighbour's lock ends with its batch, after a few milliseconds; whoever holds one for longer than this is
    /// waited for aside.
    const BRIEF: Duration = Duration::from_millis(25);

    fn within(call: Duration, lock: Duration) -> Self {
        let share = |of_ten: u32, most: u64| (call * of_ten / 10).min(Duration::from_secs(most));
        Self {
            call,
            lock,
            brief_lock: Self::BRIEF.min(lock),
            connect: share(3, 3),
            attempt: share(4, 4),
            commit: share(3, 3),
            learn: share(4, 4),
            grace: share(4, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_the_usual_deadline_ends_within_fifteen_seconds() {
        let times = StoreSettings::new("sqlite://x").times();
        assert_eq!((times.call, times.lock), (Duration::from_secs(10), Duration::from_secs(2)));
        assert!(times.call + times.grace < Duration::from_secs(15));
        assert!(times.lock < times.attempt);
    }

    #[test]
    fn a_longer_deadline_makes_no_single_step_longer() {
        let usual = StoreSettings::new("sqlite://x").times();
        let long = Times::within(Duration::from_mins(1), Duration::from_secs(2));
        assert_eq!(Times { call: usual.call, ..long }, usual);
    }
}
