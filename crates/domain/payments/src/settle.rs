//! What a worker does with a payment whose time has come.
//!
//! Every step may be repeated: after a crash, after a lease that ran out, by two workers at once. A step that has
//! happened is a success that changes nothing.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Changes, Claimed, Commit, CommitError, Refusal};
use quipu_kernel::{Clock, Entropy};
use quipu_merchants::{Direction, Method, StoreUnavailable};

use crate::{
    apply::Happening,
    changes,
    error::SettleError,
    payment::{Due, DueAction, Failure, Payment},
    ports::{PaymentReads, Rail, RailStatus, Submission},
    rails::Rails,
    status::{Status, Trigger},
};

/// Takes payments on towards their last status.
pub struct SettlePayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    rails: Arc<Rails>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

/// When an outcome that the ledger could not take is asked for again; the operator has to make room first.
const RETRY_AFTER: Duration = Duration::from_hours(1);

/// How often an outcome is decided anew because the payment moved meanwhile.
const TRIES: u8 = 4;

/// What is known to have become of a payment.
enum Outcome {
    Arrived,
    Failed(Failure),
    TimeOver,
}

impl Outcome {
    /// The trigger it is for this payment.
    fn trigger(&self, payment: &Payment) -> Trigger {
        let ended = matches!(payment.status(), Status::Expired | Status::Cancelled);
        match self {
            Self::Arrived if ended => Trigger::ArriveLate,
            Self::Arrived => Trigger::Confirm,
            Self::Failed(_) => Trigger::Fail,
            Self::TimeOver if is_redirected_deposit(payment) => Trigger::GiveUp,
            Self::TimeOver => Trigger::Expire,
        }
    }
}

fn is_redirected_deposit(payment: &Payment) -> bool {
    let terms = payment.terms();
    terms.method == Method::RedirectPay && terms.kind.direction() == Direction::Deposit
}

impl SettlePayment {
    /// When a submission whose outcome was never written down is made again, under the same identifier. Whoever attends
    /// to a payment must have given up by then.
    pub const RESUBMIT_AFTER: Duration = Duration::from_mins(1);

    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        rails: Arc<Rails>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, rails, clock, entropy }
    }

    /// Does what is due for a claimed payment. Repeating what has happened is a success that changes nothing.
    pub async fn attend(&self, claimed: &Claimed) -> Result<(), SettleError> {
        let id = claimed.subject.parse().map_err(|_| failed("work names what is no payment".to_owned()))?;
        let Some(payment) = self.reads.payment(claimed.tenant, &id).await? else {
            return Err(failed("work names a payment that does not exist".to_owned()));
        };
        match DueAction::parse(&claimed.action) {
            Some(DueAction::Submit) => self.submit(payment).await,
            Some(DueAction::Ask) => self.ask(payment).await,
            Some(DueAction::Expire) => self.conclude(payment, Outcome::TimeOver, DueAction::Expire).await,
            None => Err(failed("work names no action of settlement".to_owned())),
        }
    }

    /// Hands a withdrawal to its rail. Before the rail is called the payment is committed as `processing`, from when on
    /// nobody can cancel it; the submission stays due, so that a crash between the two is mended.
    async fn submit(&self, payment: Payment) -> Result<(), SettleError> {
        let rail = self.rail(&payment)?;
        let payment = if payment.status() == Status::Processing {
            payment
        } else {
            let now = self.clock.now();
            let mut happening = Happening::new(now, &*self.entropy);
            happening.due = Some(Due { at: now.plus(Self::RESUBMIT_AFTER), action: DueAction::Submit });
            let (expiry, original) = (expiry(&payment), payment.clone());
            let Ok(changes) = payment.apply(Trigger::Submit, happening) else {
                return self.commit_unless_stale(changes::postponed(&original, now, expiry)).await;
            };
            match self.commit.commit(changes).await {
                Ok(committed) => match committed.into_saved::<Payment>() {
                    Some(payment) => *payment,
                    None => return Err(failed("a submitted payment is missing".to_owned())),
                },
                Err(error) => return stale_is_success(error),
            }
        };
        match rail.submit(&payment).await {
            Submission::Taken(ask_at) => {
                let due = Due { at: ask_at, action: DueAction::Ask };
                self.commit_unless_stale(changes::postponed(&payment, self.clock.now(), Some(due))).await
            }
            Submission::Rejected(failure) => {
                self.conclude(payment, Outcome::Failed(failure), DueAction::Submit).await
            }
        }
    }

    async fn ask(&self, payment: Payment) -> Result<(), SettleError> {
        match self.rail(&payment)?.ask(&payment).await {
            RailStatus::Completed => self.conclude(payment, Outcome::Arrived, DueAction::Ask).await,
            RailStatus::Failed(failure) => {
                self.conclude(payment, Outcome::Failed(failure), DueAction::Ask).await
            }
            RailStatus::Pending(again) => {
                let again = again.map(|at| Due { at, action: DueAction::Ask });
                let due = Due::earlier(again, expiry(&payment));
                self.commit_unless_stale(changes::postponed(&payment, self.clock.now(), due)).await
            }
        }
    }

    /// Commits an outcome. Where the payment moved meanwhile the outcome is decided anew, so that money that arrived is
    /// never forgotten because an expiry came first.
    async fn conclude(
        &self,
        claimed: Payment,
        outcome: Outcome,
        action: DueAction,
    ) -> Result<(), SettleError> {
        let (tenant, id) = (claimed.terms().tenant, claimed.id().clone());
        let mut claimed = Some(claimed);
        for _ in 0..TRIES {
            let is_claimed = claimed.is_some();
            let payment = match claimed.take() {
                Some(payment) => payment,
                None => match self.reads.payment(tenant, &id).await? {
                    Some(payment) => payment,
                    None => return Ok(()),
                },
            };
            let now = self.clock.now();
            let mut happening = Happening::new(now, &*self.entropy);
            if let Outcome::Failed(failure) = &outcome {
                happening.failure = Some(failure.clone());
            }
            let original = payment.clone();
            let Ok(changes) = payment.apply(outcome.trigger(&original), happening) else {
                // The table knows no such move. What was due is done with, unless it is already something else.
                return if is_claimed {
                    self.commit_unless_stale(changes::postponed(&original, now, None)).await
                } else {
                    Ok(())
                };
            };
            match self.commit.commit(changes).await {
                Err(CommitError::Refused(Refusal::Stale)) => {}
                Err(CommitError::Refused(Refusal::Posting(error))) => {
                    let due = Due { at: now.plus(RETRY_AFTER), action };
                    self.commit_unless_stale(changes::postponed(&original, now, Some(due))).await?;
                    return Err(SettleError::Unbookable(error));
                }
                other => return other.map(drop).or_else(stale_is_success),
            }
        }
        Err(SettleError::KeptChanging)
    }

    async fn commit_unless_stale(&self, changes: Changes) -> Result<(), SettleError> {
        self.commit.commit(changes).await.map(drop).or_else(stale_is_success)
    }

    fn rail(&self, payment: &Payment) -> Result<&Arc<dyn Rail>, SettleError> {
        let name = &payment.terms().rail;
        self.rails.get(name).ok_or_else(|| SettleError::UnknownRail(name.clone()))
    }
}

/// When the payment stops waiting, if the end of its time means anything to it where it stands.
fn expiry(payment: &Payment) -> Option<Due> {
    let at = payment.terms().expires_at?;
    payment.status().after(payment.situation(), Outcome::TimeOver.trigger(payment))?;
    Some(Due { at, action: DueAction::Expire })
}

/// A stale decision was overtaken by another, which is as good.
fn stale_is_success(error: CommitError) -> Result<(), SettleError> {
    match error {
        CommitError::Refused(Refusal::Stale) => Ok(()),
        CommitError::Refused(refusal) => Err(failed(refusal.to_string())),
        CommitError::Store(error) => Err(error.into()),
    }
}

fn failed(what: String) -> SettleError {
    SettleError::Store(StoreUnavailable::Failed(what))
}
