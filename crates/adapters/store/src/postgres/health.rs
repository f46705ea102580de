//! The health of a server, shared by its pools: which sessions may be used again, and what given-up sessions
//! have left on the server.
//!
//! A `COMMIT` that waits for a synchronous standby cannot be ended: that would end the wait alone. While one
//! waits, no other write begins. Each would leave one more waiting process behind, until the server has no
//! room for connections, not even for those that read.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quipu_kernel::locked;

use diesel_async::AsyncPgConnection;
use tokio::time::Instant;

use crate::{
    error::Fault,
    postgres::session::{self, Process},
};

/// The most sessions of each kind that are remembered.
const MOST: usize = 64;
/// How often the server is asked whether it still waits for its standby.
const LOOK: Duration = Duration::from_secs(1);

/// The health of a server.
#[derive(Default)]
pub(crate) struct Health {
    /// Increases whenever a connection fell silent or broke. Older sessions are not used again, since they
    /// may be broken too.
    age: AtomicU64,
    /// Sessions that a new session is to end.
    abandoned: Mutex<Vec<Process>>,
    awaiting: Mutex<Awaiting>,
}

/// The processes whose `COMMIT` waits for a synchronous standby.
#[derive(Default)]
struct Awaiting {
    processes: Vec<Process>,
    /// When the server was last asked for them.
    looked: Option<Instant>,
}

/// What is known before the server is asked.
enum Known {
    Free,
    Awaits,
    /// It is time to ask for these processes.
    Asks(Vec<Process>),
}

impl Awaiting {
    fn keep(&mut self, processes: &[Process]) {
        remember(&mut self.processes, processes);
    }

    /// Whether a write may begin at `now`. The server is asked once in a while, by one writer for all.
    fn known(&mut self, now: Instant) -> Known {
        if self.processes.is_empty() {
            return Known::Free;
        }
        if self.looked.is_some_and(|looked| now < looked + LOOK) {
            return Known::Awaits;
        }
        self.looked = Some(now);
        Known::Asks(self.processes.clone())
    }

    /// Forgets those among `asked` that do not wait any more. Answers whether others do.
    fn learn(&mut self, asked: &[Process], waiting: &[Process]) -> bool {
        self.processes.retain(|process| !asked.contains(process) || waiting.contains(process));
        !self.processes.is_empty()
    }
}

impl Health {
    /// The age that a session made now has.
    pub(crate) fn age(&self) -> u64 {
        self.age.load(Ordering::Relaxed)
    }

    /// Has no session used again that was made by now.
    pub(crate) fn grow_older(&self) {
        self.age.fetch_add(1, Ordering::Relaxed);
    }

    /// Has the next new session end this one.
    pub(crate) fn remember(&self, abandoned: Process) {
        remember(&mut locked(&self.abandoned), &[abandoned]);
    }

    /// Notes that a `COMMIT` waits for a synchronous standby.
    pub(crate) fn keep_awaiting(&self, process: Process) {
        locked(&self.awaiting).keep(&[process]);
    }

    /// Ends the abandoned sessions on the server. Each is remembered until that has succeeded: a session that
    /// was cut off in the middle of a message holds its locks for as long as its connection seems to be open.
    pub(crate) async fn end_abandoned(&self, conn: &mut AsyncPgConnection) -> Result<(), Fault> {
        let abandoned = locked(&self.abandoned).clone();
        let waiting = session::end(conn, &abandoned).await?;
        locked(&self.awaiting).keep(&waiting);
        locked(&self.abandoned).retain(|process| !abandoned.contains(process));
        Ok(())
    }

    /// Refuses a write while a `COMMIT` waits for a synchronous standby.
    pub(crate) async fn admit_write(&self, conn: &mut AsyncPgConnection) -> Result<(), Fault> {
        let known = locked(&self.awaiting).known(Instant::now());
        let awaits = match known {
            Known::Free => false,
            Known::Awaits => true,
            Known::Asks(asked) => {
                let waiting = session::end(conn, &asked).await?;
                locked(&self.awaiting).learn(&asked, &waiting)
            }
        };
        if awaits { Err(Fault::AwaitsStandby) } else { Ok(()) }
    }
}

fn remember(all: &mut Vec<Process>, more: &[Process]) {
    for process in more {
        if all.len() < MOST && !all.contains(process) {
            all.push(*process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Process = Process { pid: 1, since: 5 };
    const SECOND: Process = Process { pid: 2, since: 5 };

    fn asked(known: Known) -> Option<Vec<Process>> {
        match known {
            Known::Asks(processes) => Some(processes),
            Known::Free | Known::Awaits => None,
        }
    }

    #[test]
    fn the_server_is_asked_once_a_second_for_as_long_as_a_commit_waits() {
        let (mut awaiting, now) = (Awaiting::default(), Instant::now());
        assert!(matches!(awaiting.known(now), Known::Free));
        awaiting.keep(&[FIRST]);
        awaiting.keep(&[FIRST]);
        assert_eq!(asked(awaiting.known(now)), Some(vec![FIRST]));
        assert!(matches!(awaiting.known(now + LOOK / 2), Known::Awaits), "another one asks");
        assert!(awaiting.learn(&[FIRST], &[FIRST]));
        awaiting.keep(&[SECOND]);
        assert_eq!(asked(awaiting.known(now + LOOK)), Some(vec![FIRST, SECOND]));
        assert!(!awaiting.learn(&[FIRST, SECOND], &[]));
        assert!(matches!(awaiting.known(now + LOOK), Known::Free));
    }

    #[test]
    fn what_begins_to_wait_while_the_server_is_asked_is_kept() {
        let mut awaiting = Awaiting::default();
        awaiting.keep(&[FIRST]);
        awaiting.keep(&[SECOND]);
        assert!(awaiting.learn(&[FIRST], &[]));
        assert_eq!(awaiting.processes, [SECOND]);
    }
}
