//! One batch: judged, written and committed together, or else one change at a time.

use quipu_commit::{CommitError, Committed, News, Verdict, Wanted, judge};
use quipu_merchants::StoreUnavailable;

use super::{
    job::{Job, Outcome},
    load, write,
};
use crate::{
    connection::Connection,
    error::Fault,
    lease::{Lease, Origin},
};

/// How often a change is tried that another node keeps overtaking.
const ATTEMPTS: usize = 8;

/// Settles `jobs` and answers each. The lease is replaced when its connection fails. Answers what was committed.
///
/// If the batch fails as a whole nothing of it has happened, and its changes are tried one at a time, so that only
/// the one at fault suffers. There are two exceptions: after a commit whose outcome is unknown, trying again could do
/// everything twice; and where no connection is to be had, each would wait as long for one, and everybody behind them.
pub(crate) async fn settle(lease: &mut Lease, origin: &Origin, mut jobs: Vec<Job>) -> News {
    match transact(lease, origin, &mut jobs).await {
        Ok(verdicts) => answer_all(jobs, verdicts),
        Err(fault @ (Fault::OutcomeUnknown(_) | Fault::Unconnected(_))) => fail_all(jobs, &fault),
        Err(fault) => {
            tracing::warn!(changes = jobs.len(), %fault, "a batch failed; its changes are tried one at a time");
            settle_each(lease, origin, jobs).await
        }
    }
}

async fn settle_each(lease: &mut Lease, origin: &Origin, jobs: Vec<Job>) -> News {
    let mut news = News::default();
    let mut rest = jobs.into_iter();
    while let Some(job) = rest.next() {
        let mut alone = vec![job];
        match transact_again(lease, origin, &mut alone).await {
            Ok(verdicts) => news.join(answer_all(alone, verdicts)),
            Err(fault @ Fault::Unconnected(_)) => {
                fail_all(alone.into_iter().chain(rest).collect(), &fault);
                return news;
            }
            Err(fault) => {
                fail_all(alone, &fault);
            }
        }
    }
    news
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
        alone.iter_mut().for_each(Job::renumber);
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
    let mut state = load::begin(conn, &Wanted::by(jobs.iter().map(|job| &job.changes))).await?;
    let (verdicts, writes) = judge(&mut state, jobs.iter_mut().map(|job| &mut job.changes));
    if !writes.is_empty() {
        write::write(conn, jobs, &writes).await?;
    }
    Ok(verdicts)
}

/// Answers everybody, and says what was committed.
fn answer_all(jobs: Vec<Job>, verdicts: Vec<Verdict>) -> News {
    let mut news = News::default();
    for (job, verdict) in jobs.into_iter().zip(verdicts) {
        let Job { changes, reply, .. } = job;
        let outcome: Outcome = match verdict {
            Ok(answer) => {
                news.add(&changes);
                let saved = changes.saves.into_iter().map(|save| save.record).collect();
                Ok(Committed { saved, answer })
            }
            Err(refusal) => Err(CommitError::Refused(refusal)),
        };
        // Nobody waits if the caller has gone; the change stands all the same.
        let _gone = reply.send(outcome);
    }
    news
}

fn fail_all(jobs: Vec<Job>, fault: &Fault) -> News {
    tracing::error!(changes = jobs.len(), %fault, "changes failed");
    for job in jobs {
        let _gone = job.reply.send(Err(StoreUnavailable::Failed(fault.to_string()).into()));
    }
    News::default()
}
