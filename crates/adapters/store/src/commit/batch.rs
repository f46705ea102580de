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
/// the one at fault suffers. There are two exceptions: after a commit whose outcome is unknown, trying again could do
/// everything twice; and where no connection is to be had, each would wait as long for one, and everybody behind them.
pub(crate) async fn settle(lease: &mut Lease, origin: &Origin, mut jobs: Vec<Job>) -> bool {
    match transact(lease, origin, &mut jobs).await {
        Ok(verdicts) => answer_all(jobs, verdicts),
        Err(fault @ (Fault::OutcomeUnknown(_) | Fault::Unconnected(_))) => fail_all(jobs, &fault),
        Err(fault) => {
            tracing::warn!(changes = jobs.len(), %fault, "a batch failed; its changes are tried one at a time");
            settle_each(lease, origin, jobs).await
        }
    }
}

async fn settle_each(lease: &mut Lease, origin: &Origin, jobs: Vec<Job>) -> bool {
    let mut due = false;
    let mut rest = jobs.into_iter();
    while let Some(job) = rest.next() {
        let mut alone = vec![job];
        match transact_again(lease, origin, &mut alone).await {
            Ok(verdicts) => due |= answer_all(alone, verdicts),
            Err(fault @ Fault::Unconnected(_)) => {
                fail_all(alone.into_iter().chain(rest).collect(), &fault);
                return due;
            }
            Err(fault) => {
                fail_all(alone, &fault);
            }
        }
    }
    due
}

/// One transaction, tried again on fresh state while another node overtakes it.
async fn transact_again(
    lease: &mut Lease,
    origin: &Origin,
    alone: &mut [Job],
) -> Result<Vec<Verdict>, Fault> {
    let mut attempt = 1;
    loop {
        match transact(lease, origin, alone).await {
            Err(fault) if fault.is_race() && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
        alone.iter_mut().for_each(Job::renumber_customer);
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
    tracing::error!(changes = jobs.len(), %fault, "changes failed");
    for job in jobs {
        let _gone = job.reply.send(Err(StoreUnavailable::Failed(fault.to_string()).into()));
    }
    false
}
