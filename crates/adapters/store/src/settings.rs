//! The settings of a store.

use std::time::Duration;

/// Where the database is, how many workers it gets and how long anything may take. Never show it: the address
/// may contain a password.
#[derive(Clone)]
pub struct StoreSettings {
    /// `sqlite://path` or `postgres://user:password@host/database`.
    pub url: String,
    /// PostgreSQL: the number of lanes that commit in parallel, each with a connection of its own. SQLite has
    /// one writer.
    pub lanes: usize,
    /// The number of short queries that are read in parallel, each on a connection of its own. Pages of payments have
    /// half as many beside them, and so have those of other lists; checks of the ledger have one, and so have the rows to
    /// be sealed.
    pub readers: usize,
    /// How long a call may wait for the database in all its steps.
    pub call: Duration,
    /// How long a change may wait for a row that another session has locked; at most three tenths of `call`,
    /// and three seconds.
    pub lock: Duration,
    /// The name of this node in leases: unique among all nodes that share the database.
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

    /// The limits of time that follow from the deadline of a call.
    pub(crate) fn times(&self) -> Times {
        Times::within(self.call, self.lock)
    }
}

/// How long each step towards an answer may take. A call that is in the hands of the database when its
/// deadline passes is answered [`Times::grace`] later at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// The wait of a call in all, before anything of it is written.
    pub(crate) call: Duration,
    /// The wait for a row that another session has locked, by a change that delays no other.
    pub(crate) lock: Duration,
    /// The same wait if other changes wait behind it.
    pub(crate) brief_lock: Duration,
    /// Time for making a connection.
    pub(crate) connect: Duration,
    /// Time for loading the state of a batch, and once more for writing and committing it; for another
    /// transaction, time for all its statements up to the `COMMIT`.
    pub(crate) attempt: Duration,
    /// Time for the answer to a `COMMIT` that is sent alone.
    pub(crate) commit: Duration,
    /// Time for finding the outcome of a `COMMIT` that was not answered.
    pub(crate) learn: Duration,
    /// The time that a call may take beyond its deadline if it began in time.
    pub(crate) grace: Duration,
}

impl Times {
    /// A neighbour's lock ends with its batch, after a few milliseconds. A merchant whose rows are locked for
    /// longer than this waits aside.
    const BRIEF: Duration = Duration::from_millis(25);

    fn within(call: Duration, lock: Duration) -> Self {
        let share = |of_ten: u32, most: u64| (call * of_ten / 10).min(Duration::from_secs(most));
        let attempt = share(4, 4);
        // The database must be the first to give a wait up: if the attempt's time ended first, the connection
        // would count as dead.
        let lock = lock.min(attempt * 3 / 4);
        Self {
            call,
            lock,
            brief_lock: Self::BRIEF.min(lock),
            connect: share(3, 3),
            attempt,
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
    }

    #[test]
    fn the_database_gives_up_a_locked_row_before_its_session_counts_as_dead() {
        let deadlines = [100, 101, 999, 1_000, 2_000, 5_000, 10_000, 10_001, 60_000, 3_600_000];
        for call in deadlines.map(Duration::from_millis) {
            for lock in deadlines.map(Duration::from_millis) {
                let times = Times::within(call, lock);
                assert!(times.brief_lock <= times.lock && times.lock < times.attempt, "{call:?}, {lock:?}");
                assert!(times.lock <= lock, "{call:?}, {lock:?}");
                // PostgreSQL takes 0 ms for no limit.
                assert!(times.lock >= Duration::from_millis(1), "{call:?}, {lock:?}");
            }
        }
    }

    #[test]
    fn a_longer_deadline_makes_no_single_step_longer() {
        let usual = StoreSettings::new("sqlite://x").times();
        let long = Times::within(Duration::from_mins(1), Duration::from_secs(2));
        assert_eq!(Times { call: usual.call, ..long }, usual);
    }
}
