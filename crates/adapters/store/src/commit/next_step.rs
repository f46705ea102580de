//! Decides what is done about changes whose transaction failed.

use crate::error::Fault;

/// How often a change is tried while other nodes keep overtaking it.
const ATTEMPTS: usize = 8;
/// How often a change is tried while it fails with an error that has no name.
const UNNAMED_ATTEMPTS: usize = 3;
/// The most transactions of a batch that may fail before the rest is given up. Finding one bad change among a
/// full batch takes about twenty.
const FAILURES: usize = 128;
/// How often a batch is split to find the merchant with locked rows, before all its merchants are moved
/// aside.
const SPLITS: usize = 12;

/// What becomes of changes whose rows another session has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenLocked {
    /// They move [`aside`](super::aside), since changes of other merchants wait behind them.
    MoveAside,
    /// They wait once more.
    WaitOnceMore,
}

/// A transaction that failed, and what was done about its batch so far.
pub(super) struct Failed<'a> {
    pub(super) fault: &'a Fault,
    /// The changes of the transaction.
    pub(super) changes: usize,
    /// The merchants whose changes they are.
    pub(super) merchants: usize,
    /// How often they were tried together.
    pub(super) tries: usize,
    /// How many transactions of the batch have failed.
    pub(super) failures: usize,
    /// How often the batch was split by merchants.
    pub(super) splits: usize,
    pub(super) when_locked: WhenLocked,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The whole batch fails.
    GiveUp,
    /// The changes are tried again.
    TryAgain,
    /// The change is tried again under new identifiers.
    TryRenumbered,
    /// The changes are tried in two parts that have no merchant in common.
    SplitByMerchant,
    /// The changes are tried in halves.
    Halve,
    /// The merchants of the changes move aside.
    MoveAside,
    /// The changes fail.
    Fail,
}

/// What is done about the changes of a failed transaction.
pub(super) fn next_step(failed: &Failed<'_>) -> Step {
    let Failed { fault, tries, .. } = *failed;
    if fault.is_of_the_server() || failed.failures >= FAILURES {
        // Each of the others would wait as long for a connection, and everybody behind them.
        Step::GiveUp
    } else if fault.is_blocked() {
        when_blocked(failed)
    } else if tries == 1 {
        Step::TryAgain
    } else if !fault.spares_the_connection() && !fault.is_race() {
        Step::Fail
    } else if failed.changes > 1 {
        Step::Halve
    } else if may_win(fault, tries) {
        Step::TryRenumbered
    } else {
        Step::Fail
    }
}

const fn when_blocked(failed: &Failed<'_>) -> Step {
    match failed.when_locked {
        WhenLocked::WaitOnceMore if failed.tries < 2 => Step::TryAgain,
        WhenLocked::WaitOnceMore => Step::Fail,
        WhenLocked::MoveAside if failed.splits < SPLITS && failed.merchants > 1 => Step::SplitByMerchant,
        WhenLocked::MoveAside => Step::MoveAside,
    }
}

/// Whether a single change that lost a race to another node so many times may still win.
const fn may_win(fault: &Fault, tries: usize) -> bool {
    fault.is_race() && tries < if fault.is_named() { ATTEMPTS } else { UNNAMED_ATTEMPTS }
}

#[cfg(test)]
mod tests {
    use diesel::result::{DatabaseErrorKind, Error};

    use super::*;

    fn of_database(kind: DatabaseErrorKind, said: &str) -> Fault {
        Fault::Database(Error::DatabaseError(kind, Box::new(said.to_owned())))
    }

    #[test]
    fn each_failure_has_its_next_step() {
        use DatabaseErrorKind::{CheckViolation, ClosedConnection, SerializationFailure, Unknown};
        let unconnected = || Fault::Unconnected("refused".to_owned());
        let closed = || of_database(ClosedConnection, "closed");
        let broken = || of_database(CheckViolation, "a sum is not zero");
        let deadlock = || of_database(SerializationFailure, "deadlock");
        let unnamed = || of_database(Unknown, "something else");
        for (fault, changes, tries, step) in [
            (unconnected(), 5, 1, Step::GiveUp),
            (Fault::AwaitsStandby, 5, 1, Step::GiveUp),
            (closed(), 5, 1, Step::TryAgain),
            (closed(), 5, 2, Step::Fail),
            (Fault::Silent, 5, 2, Step::Fail),
            (broken(), 5, 1, Step::TryAgain),
            (broken(), 5, 2, Step::Halve),
            (broken(), 1, 2, Step::Fail),
            (deadlock(), 1, 1, Step::TryAgain),
            (deadlock(), 2, 2, Step::Halve),
            (deadlock(), 1, 2, Step::TryRenumbered),
            (deadlock(), 1, 7, Step::TryRenumbered),
            (deadlock(), 1, 8, Step::Fail),
            (Fault::Overtaken, 1, 7, Step::TryRenumbered),
            (unnamed(), 1, 2, Step::TryRenumbered),
            (unnamed(), 1, 3, Step::Fail),
        ] {
            let when_locked = WhenLocked::MoveAside;
            let failed = Failed {
                fault: &fault,
                changes,
                merchants: changes,
                tries,
                failures: 1,
                splits: 0,
                when_locked,
            };
            assert_eq!(next_step(&failed), step, "{fault} {changes} {tries}");
            let last = Failed { failures: 128, ..failed };
            assert_eq!(next_step(&last), Step::GiveUp, "{fault}");
        }
    }

    #[test]
    fn a_lock_moves_merchants_aside_or_is_waited_for_once_more() {
        let fault = of_database(DatabaseErrorKind::Unknown, "canceling statement due to lock timeout");
        for (when_locked, merchants, tries, splits, step) in [
            (WhenLocked::MoveAside, 2, 1, 0, Step::SplitByMerchant),
            (WhenLocked::MoveAside, 2, 1, 11, Step::SplitByMerchant),
            (WhenLocked::MoveAside, 2, 1, 12, Step::MoveAside),
            (WhenLocked::MoveAside, 1, 1, 0, Step::MoveAside),
            (WhenLocked::WaitOnceMore, 1, 1, 0, Step::TryAgain),
            (WhenLocked::WaitOnceMore, 1, 2, 0, Step::Fail),
        ] {
            let failed =
                Failed { fault: &fault, changes: 4, merchants, tries, failures: 1, splits, when_locked };
            assert_eq!(next_step(&failed), step, "{when_locked:?} {merchants} {tries} {splits}");
        }
    }
}
