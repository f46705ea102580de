//! A change on its way to a lane.

use std::{any::Any, sync::Arc};

use quipu_commit::{Changes, CommitError, Committed};
use quipu_kernel::{StoreError, Timestamp};
use quipu_merchants::AuditRecord;
use tokio::sync::oneshot;
use uuid::{NoContext, Uuid};

use crate::{
    error::Fault,
    metric_names::COMMIT_TOO_LATE,
    tables::{TABLES, table_of},
    transaction::job_state::JobState,
};

/// The answer to a waiting caller.
pub(crate) type Outcome = Result<Committed, CommitError>;

/// The table of a record, and the texts that were computed before its turn.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The position of its table in [`TABLES`].
    pub(crate) table: usize,
    pub(crate) text: String,
}

/// A change, with everything computed that does not need the lane.
pub(crate) struct Job {
    /// The change itself.
    pub(crate) changes: Changes,
    /// One for each saved record, each joined record and each row, in this order.
    pub(crate) saves: Vec<Prepared>,
    pub(crate) joins: Vec<Prepared>,
    pub(crate) rows: Vec<Prepared>,
    /// An identifier for each transaction.
    pub(crate) transaction_ids: Vec<String>,
    /// Whether the job may still begin.
    pub(crate) state: Arc<JobState>,
    /// The channel to the caller. The caller may have gone away, which changes nothing.
    pub(crate) reply: oneshot::Sender<Outcome>,
}

impl Job {
    /// Prepares `changes`. The identifiers of transactions and the lines of the audit log have places in
    /// chains by their time. They carry the time of the change, or `not_before` if that is later. `None` if a
    /// record has no table.
    pub(crate) fn new(
        mut changes: Changes,
        not_before: i64,
        state: Arc<JobState>,
        reply: oneshot::Sender<Outcome>,
    ) -> Option<Self> {
        for record in &mut changes.rows {
            if let Some(line) = (&mut **record as &mut dyn Any).downcast_mut::<AuditRecord>() {
                line.at = line.at.max(Timestamp::from_millis(not_before));
            }
        }
        let prepare = |record: &dyn quipu_commit::Record| {
            let table = table_of(record)?;
            Some(Prepared { table, text: TABLES[table].prepare(record) })
        };
        let saves = changes.saves.iter().map(|save| prepare(&*save.record)).collect::<Option<_>>()?;
        let joins = changes.joins.iter().map(|join| prepare(&*join.make)).collect::<Option<_>>()?;
        let rows = changes.rows.iter().map(|record| prepare(&**record)).collect::<Option<_>>()?;
        let at = Timestamp::from_millis(changes.at.millis().max(not_before));
        let ids = changes.transactions.iter().map(|_| id_of(at).to_string());
        let mut transaction_ids: Vec<_> = ids.collect();
        // In the order of the transactions, which share their time.
        transaction_ids.sort_unstable();
        Some(Self { changes, saves, joins, rows, transaction_ids, state, reply })
    }

    /// The job, if its deadline has not passed and its caller has not withdrawn it; otherwise nothing of it
    /// happens.
    pub(crate) fn begun(self) -> Option<Self> {
        if self.state.begin() {
            return Some(self);
        }
        metrics::counter!(COMMIT_TOO_LATE).increment(1);
        let _gone = self.reply.send(Err(StoreError::from(Fault::TooLate).into()));
        None
    }

    /// Takes new numbers for things that it may make, since another node may have taken the first ones.
    pub(crate) fn renumber(&mut self) {
        self.changes.joins.iter_mut().for_each(quipu_commit::Join::renumber);
    }
}

/// A new identifier that sorts after all of earlier times (UUID version 7).
pub(super) fn id_of(at: Timestamp) -> Uuid {
    let seconds = u64::try_from(at.seconds()).unwrap_or(0);
    let nanos = u32::try_from(at.millis().rem_euclid(1000)).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_later_sorts_after_what_was_made_before() {
        let ids: Vec<_> = (1_700_000_000_950..1_700_000_001_050)
            .map(|millis| id_of(Timestamp::from_millis(millis)).to_string())
            .collect();
        assert!(ids.is_sorted());
    }
}
