//! A batch of changes: judged, written and committed together; tried once more as a whole if it fails, and
//! then in halves.

use std::collections::HashSet;

use quipu_commit::{CommitError, Committed, Judged, News, Refusal, StateKeys, Verdict, Writes, judge};
use quipu_kernel::StoreError;
use quipu_webhooks::Owed;

use super::{
    fan_out::{FanOut, Hearers},
    job::{Job, Outcome},
    load::{self, Revisions},
    next_step::{Failed, Step, WhenLocked, next_step},
    witness, write,
};
use crate::{
    connection::Connection,
    error::Fault,
    hub::Hub,
    transaction::{
        self,
        commit_outcome::Mark,
        custody::{Custody, Origin},
    },
};

/// What came of a batch.
#[derive(Default)]
pub(crate) struct BatchOutcome {
    /// What is still to be told of it.
    pub(crate) untold: Untold,
    /// Changes of merchants with locked rows, if they are to move aside.
    pub(crate) aside: Vec<Job>,
    /// Whether any of the changes was tried: those that nobody waits for any more are not.
    pub(crate) was_tried: bool,
    /// Whether a lock was in the way.
    pub(crate) was_blocked: bool,
}

/// What callers and listeners are still to be told of a batch.
#[derive(Default)]
pub(crate) struct Untold {
    /// The news of the part that was committed and answered already, because the rest had to be tried again.
    news: News,
    /// The callers that are still to be answered: the whole batch if it had no error.
    unanswered: Option<Answers>,
}

/// Jobs whose outcome is known, with the deliveries that their commit made.
struct Answers {
    jobs: Vec<Job>,
    transacted: Transacted,
}

/// Jobs that are tried together, and how often they were tried.
struct Part {
    jobs: Vec<Job>,
    tries: usize,
    revisions: Revisions,
}

impl Part {
    /// Jobs that must be tried again.
    const fn again(jobs: Vec<Job>, tries: usize) -> Self {
        Self { jobs, tries, revisions: Revisions::LookedUp }
    }
}

/// Commits or refuses all of `jobs`. Each is answered, except those that go aside and those in
/// [`BatchOutcome::untold`]. The connection in custody is replaced when it fails.
///
/// A failed batch is tried once more as a whole, and then in halves, so that only the change at fault is
/// refused. If the connection fails, halves would not succeed either, and all callers are told that nothing
/// happened. If another session holds a lock, the batch is split by merchants until only the merchants with
/// locked rows remain. `when_locked` says what becomes of their changes. That some go aside is not logged here,
/// since they look for their lock again and again.
pub(crate) async fn commit_all(
    custody: &mut Custody,
    origin: &Origin,
    hub: &Hub,
    jobs: Vec<Job>,
    when_locked: WhenLocked,
) -> BatchOutcome {
    let mut outcome = BatchOutcome::default();
    custody.make_room(origin).await;
    let (mut splits, mut failures) = (0, 0);
    let mut parts = vec![Part { jobs, tries: 0, revisions: Revisions::Trusted }];
    while let Some(Part { jobs, mut tries, revisions }) = parts.pop() {
        let Some((mut jobs, turn)) = take_turn(custody, origin, hub, jobs, revisions).await else {
            continue;
        };
        outcome.was_tried = true;
        let fault = match turn {
            Turn::Committed(transacted) => {
                let answers = Answers { jobs, transacted };
                if parts.is_empty() {
                    outcome.untold.unanswered = Some(answers);
                } else {
                    outcome.untold.news.join(answers.send(hub));
                }
                continue;
            }
            Turn::OutcomeUnknown(Transacted { verdicts, owed }, fault) => {
                leave_open(jobs, &verdicts, &fault);
                hub.keep_doubtful_claims(&owed);
                continue;
            }
            Turn::Doubtful => {
                wait_again(&jobs);
                parts.push(Part::again(jobs, tries));
                continue;
            }
            Turn::Failed(fault) => fault,
        };
        wait_again(&jobs);
        (tries, failures) = (tries + 1, failures + 1);
        custody.make_room_after(&fault, origin).await;
        outcome.was_blocked |= fault.is_blocked();
        let (changes, merchants) = (jobs.len(), merchants_of(&jobs));
        let failed = Failed { fault: &fault, changes, merchants, tries, failures, splits, when_locked };
        let step = next_step(&failed);
        if step != Step::MoveAside {
            tracing::warn!(changes, tries, %fault, "a batch failed");
        }
        match step {
            Step::GiveUp => {
                fail_all(jobs.into_iter().chain(parts.drain(..).flat_map(|part| part.jobs)), &fault);
            }
            Step::TryAgain => parts.push(Part::again(jobs, tries)),
            Step::TryRenumbered => {
                jobs.iter_mut().for_each(Job::renumber);
                parts.push(Part::again(jobs, tries));
            }
            Step::SplitByMerchant => {
                splits += 1;
                parts.extend(halves_by_merchant(jobs).map(|jobs| Part::again(jobs, 0)));
            }
            Step::Halve => {
                let second = jobs.split_off(jobs.len() / 2);
                parts.extend([second, jobs].map(|jobs| Part::again(jobs, 1)));
            }
            Step::MoveAside => outcome.aside.extend(jobs),
            Step::Fail => fail_all(jobs, &fault),
        }
    }
    outcome
}

fn wait_again(jobs: &[Job]) {
    for job in jobs {
        job.state.wait_again();
    }
}

fn merchants_of(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| job.changes.tenant.merchant()).collect::<HashSet<_>>().len()
}

/// Splits jobs into two parts that have no merchant in common; each keeps its order.
fn halves_by_merchant(jobs: Vec<Job>) -> [Vec<Job>; 2] {
    let mut merchants: Vec<_> = jobs.iter().map(|job| job.changes.tenant.merchant()).collect();
    merchants.sort_unstable();
    merchants.dedup();
    let middle = merchants[merchants.len() / 2];
    let (first, second) = jobs.into_iter().partition(|job| job.changes.tenant.merchant() < middle);
    [second, first]
}

/// What a transaction says of its changes, and what it makes.
struct Transacted {
    /// One for each change.
    verdicts: Vec<Verdict>,
    /// The deliveries that this node is to make.
    owed: Vec<Owed>,
}

/// The outcome of one transaction.
enum Turn {
    /// It is committed.
    Committed(Transacted),
    /// It failed, and nothing of it happened.
    Failed(Fault),
    /// Nothing of it happened, because a change starts from a revision that may not be the last one.
    Doubtful,
    /// Whether it was committed is not known.
    OutcomeUnknown(Transacted, Fault),
}

/// Begins those of `jobs` that are still wanted once there is a connection, and tries them. Until then a
/// caller can be told in time that nothing happened. `None` if no caller waits any more.
async fn take_turn(
    custody: &mut Custody,
    origin: &Origin,
    hub: &Hub,
    jobs: Vec<Job>,
    revisions: Revisions,
) -> Option<(Vec<Job>, Turn)> {
    let unconnected = custody.connection_to_write(origin).await.err();
    let mut jobs: Vec<Job> = jobs.into_iter().filter_map(Job::begun).collect();
    if jobs.is_empty() {
        custody.done();
        return None;
    }
    let turn = match unconnected {
        None => transact(custody, origin, hub, &mut jobs, revisions).await,
        Some(fault) => Turn::Failed(fault),
    };
    Some((jobs, turn))
}

/// Runs one transaction over all of `jobs` on the connection in custody, and rolls it back unless it commits.
async fn transact(
    custody: &mut Custody,
    origin: &Origin,
    hub: &Hub,
    jobs: &mut [Job],
    revisions: Revisions,
) -> Turn {
    let Some(conn) = custody.held() else { return Turn::Failed(Fault::Abandoned) };
    let decided = origin.within(origin.times().attempt, decide(conn, jobs, revisions)).await;
    let Decided { verdicts, writes, fan_out, mark, trusted } = match decided.unwrap_or(Err(Fault::Silent)) {
        Ok(decided) => decided,
        Err(fault) => {
            custody.undo(Some(&fault)).await;
            return Turn::Failed(fault);
        }
    };
    if trusted && is_in_doubt(jobs, &verdicts) {
        custody.undo(None).await;
        return Turn::Doubtful;
    }
    let node = hub.delivering_node();
    let committed = if writes.is_empty() {
        transaction::commit(custody, origin, None).await
    } else {
        let deliveries = fan_out.lines(node);
        let writing =
            async |conn: &mut Connection| write::commit(conn, hub.node(), jobs, &writes, &deliveries).await;
        transaction::finish(custody, origin, origin.times().attempt, Some(mark), writing).await
    };
    let owed = if node.is_some() { fan_out.owed } else { Vec::new() };
    let transacted = Transacted { verdicts, owed };
    match committed {
        Ok(()) => Turn::Committed(transacted),
        Err(fault @ Fault::OutcomeUnknown(_)) => Turn::OutcomeUnknown(transacted, fault),
        Err(Fault::Moved) if trusted => Turn::Doubtful,
        Err(fault) => Turn::Failed(fault),
    }
}

/// The decisions about the jobs of a transaction that has begun.
struct Decided {
    verdicts: Vec<Verdict>,
    writes: Writes,
    fan_out: FanOut,
    /// The facts by which the outcome of the transaction can be found.
    mark: Mark,
    /// Whether a change was judged by a revision that was not looked up.
    trusted: bool,
}

/// Whether a change is refused because of a revision that was not looked up, and that no write will check.
/// Nonces and keys are judged before revisions.
fn is_in_doubt(jobs: &[Job], verdicts: &[Verdict]) -> bool {
    jobs.iter().zip(verdicts).any(|(job, verdict)| match verdict {
        Ok(_) | Err(Refusal::NonceUsed | Refusal::IdempotencyKeyUsed) => false,
        Err(_) => job.changes.saves.iter().any(|save| save.from.is_some()),
    })
}

async fn decide(conn: &mut Connection, jobs: &mut [Job], revisions: Revisions) -> Result<Decided, Fault> {
    let wanted = StateKeys::by(jobs.iter().map(|job| &job.changes));
    let begun = load::begin(conn, &wanted, revisions, &Hearers::of(jobs)).await?;
    let load::Begun { mut state, subscribers, number, trusted } = begun;
    let Judged { verdicts, mut writes } = judge(&mut state, jobs.iter_mut().map(|job| &mut job.changes));
    let fan_out = FanOut::of(jobs, &mut writes, subscribers);
    let server = match conn {
        Connection::Sqlite(_) => None,
        Connection::Postgres(session) => session.server.clone(),
    };
    let mark = Mark { number, server, witness: witness::among(jobs, &writes) };
    Ok(Decided { verdicts, writes, fan_out, mark, trusted })
}

impl Answers {
    /// Answers all callers, hands over the deliveries, and returns the news of the commit.
    fn send(self, hub: &Hub) -> News {
        let Transacted { verdicts, owed } = self.transacted;
        let mut news = News::default();
        for (job, verdict) in self.jobs.into_iter().zip(verdicts) {
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
        hub.deliver(owed);
        news
    }
}

impl Untold {
    /// The number of callers to be answered.
    pub(crate) fn callers(&self) -> usize {
        self.unanswered.as_ref().map_or(0, |answers| answers.jobs.len())
    }

    /// Answers the remaining callers, and publishes the news of the commit.
    pub(crate) fn answer_and_publish(self, hub: &Hub) {
        let Self { mut news, unanswered } = self;
        if let Some(answers) = unanswered {
            news.join(answers.send(hub));
        }
        hub.publish(news);
    }
}

/// Answers all callers when it is not known whether the batch was committed. A change that was refused in it
/// did not happen in any case, unless its nonce was used up; but the reason for the refusal may not hold, so
/// the caller may ask again.
fn leave_open(jobs: Vec<Job>, verdicts: &[Verdict], fault: &Fault) {
    tracing::error!(changes = jobs.len(), %fault, "it is not known whether changes were committed");
    for (job, verdict) in jobs.into_iter().zip(verdicts) {
        let is_absent = verdict.is_err() && job.changes.nonce.is_none();
        let text = fault.to_string();
        let told = if is_absent { StoreError::Unavailable(text) } else { StoreError::OutcomeUnknown(text) };
        let _gone = job.reply.send(Err(told.into()));
    }
}

/// Tells all callers that nothing happened.
fn fail_all(jobs: impl IntoIterator<Item = Job>, fault: &Fault) {
    let mut count = 0_u32;
    for job in jobs {
        count += 1;
        let _gone = job.reply.send(Err(StoreError::Unavailable(fault.to_string()).into()));
    }
    tracing::error!(changes = count, %fault, "a batch failed; none of its changes was made");
}
