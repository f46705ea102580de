//! One batch: judged, written and committed together, or else one change at a time.

use quipu_merchants::StoreUnavailable;
use quipu_payments::{CommitError, Committed, PaymentChange};

use super::{
    job::{Job, Outcome},
    judge::{Verdict, judge},
    load,
    state::Wanted,
    write_postgres, write_sqlite,
    writes::Writes,
};
use crate::{
    connection::Connection,
    error::Fault,
    lease::{Lease, Origin},
};

/// How often a change is tried that another node keeps overtaking.
const ATTEMPTS: usize = 8;

/// Settles `jobs` and answers each. The lease is replaced when its connection fails. Whether a payment now waits for a worker.
///
/// If the batch fails as a whole nothing of it has happened, and its changes are tried one at a time, so that only
/// the one at fault suffers. The exception is a commit whose outcome is unknown: trying again could do everything twice.
pub(crate) async fn settle(lease: &mut Lease, origin: &Origin, mut jobs: Vec<Job>) -> bool {
    match transact(lease, origin, &mut jobs).await {
        Ok(verdicts) => answer_all(jobs, verdicts),
        Err(fault @ Fault::OutcomeUnknown(_)) => fail_all(jobs, &fault),
        Err(fault) => {
            tracing::warn!(changes = jobs.len(), %fault, "a batch failed; its changes are tried one at a time");
            let mut due = false;
            for job in jobs {
                due |= settle_one(lease, origin, job).await;
            }
            due
        }
    }
}

async fn settle_one(lease: &mut Lease, origin: &Origin, job: Job) -> bool {
    let mut alone = vec![job];
    let mut attempt = 1;
    loop {
        match transact(lease, origin, &mut alone).await {
            Ok(verdicts) => return answer_all(alone, verdicts),
            Err(fault) if fault.is_race() && attempt < ATTEMPTS => attempt += 1,
            Err(fault) => {
                tracing::error!(%fault, attempt, "a change failed");
                return fail_all(alone, &fault);
            }
        }
    }
}

/// One transaction over all of `jobs`, rolled back unless it commits.
async fn transact(lease: &mut Lease, origin: &Origin, jobs: &mut [Job]) -> Result<Vec<Verdict>, Fault> {
    let conn = lease.connection(origin).await?;
    match apply(conn, jobs).await {
        Ok(verdicts) => match conn.commit().await {
            Ok(()) => {
                lease.done();
                Ok(verdicts)
            }
            Err(error) => {
                let fault = Fault::of_commit(error);
                lease.undo().await;
                Err(fault)
            }
        },
        Err(fault) => {
            lease.undo().await;
            Err(fault)
        }
    }
}

async fn apply(conn: &mut Connection, jobs: &mut [Job]) -> Result<Vec<Verdict>, Fault> {
    let state = load::begin(conn, &Wanted::by(jobs)).await?;
    let (verdicts, writes) = judge(state, jobs);
    if !writes.is_empty() {
        write(conn, jobs, &writes).await?;
    }
    Ok(verdicts)
}

async fn write(conn: &mut Connection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    match conn {
        Connection::Sqlite(conn) => write_sqlite::write(conn, jobs, writes),
        Connection::Postgres(conn) => write_postgres::write(conn, jobs, writes).await,
    }
}

fn answer_all(jobs: Vec<Job>, verdicts: Vec<Verdict>) -> bool {
    let mut due = false;
    for (job, verdict) in jobs.into_iter().zip(verdicts) {
        let Job { changes, reply, .. } = job;
        let outcome: Outcome = match verdict {
            Ok(answer) => {
                let payment = changes.payment.map(|change| match change {
                    PaymentChange::Created(payment) | PaymentChange::Moved { payment, .. } => payment,
                });
                due |= payment.as_ref().is_some_and(|payment| payment.state().due.is_some());
                Ok(Committed { payment, answer })
            }
            Err(refusal) => Err(CommitError::Refused(refusal)),
        };
        // Nobody waits if the caller has gone; the change stands all the same.
        let _gone = reply.send(outcome);
    }
    due
}

fn fail_all(jobs: Vec<Job>, fault: &Fault) -> bool {
    for job in jobs {
        let _gone = job.reply.send(Err(StoreUnavailable::Failed(fault.to_string()).into()));
    }
    false
}
