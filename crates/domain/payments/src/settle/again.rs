//! When a worker attends to a payment again.

use std::time::Duration;

use quipu_commit::{Changes, Decided, WorkChange, WorkInHand, act_on};
use quipu_merchants::{Direction, Method};

use super::{Attended, SettlePayment};
use crate::{
    error::SettleError,
    payment::{Due, DueAction, Payment, changes, status::Trigger},
    rail::Rail,
};

/// When an outcome that the ledger could not book is asked for again; the operator has to make room first.
pub(super) const RETRY_AFTER: Duration = Duration::from_hours(1);

/// The first wait of a withdrawal whose rail has no room; each further wait is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
/// The longest of these waits, and every wait for a question without room or a payment on an unknown rail. It
/// keeps a long queue from occupying the database.
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(4);

impl SettlePayment {
    /// Puts the next question off by the rail's schedule, at the latest until expiry.
    pub(super) async fn ask_again(&self, attended: &Attended<'_>) -> Result<(), SettleError> {
        let Attended { rail, claimed, payment } = attended;
        match Due::earlier(self.next_question(*rail, claimed.attempts), expiry(payment)) {
            Some(due) => self.put_off(claimed, due).await,
            None => self.commit_unless_stale(changes::postponed(payment, self.ports.clock.now(), None)).await,
        }
    }

    /// Puts off a question that could not be sent, at the latest until expiry, without counting it.
    pub(super) async fn put_off_unsent_question(
        &self,
        attended: &Attended<'_>,
        pause: Duration,
    ) -> Result<(), SettleError> {
        let question = Due { at: self.ports.clock.now().plus(pause), action: DueAction::Ask };
        let due = Due::earlier(Some(question), expiry(&attended.payment)).unwrap_or(question);
        self.put_off(&not_begun(attended.claimed), due).await
    }

    /// Puts off a payment on a rail that this node does not know, at the latest until expiry and without counting
    /// the attempt, since another node may be configured for the rail.
    pub(super) async fn leave_to_others(
        &self,
        claimed: &WorkInHand,
        action: DueAction,
        end: Option<Due>,
    ) -> Result<(), SettleError> {
        let again = Due { at: self.ports.clock.now().plus(MAX_BACKOFF), action };
        let due = Due::earlier(Some(again), end).unwrap_or(again);
        self.put_off(&not_begun(claimed), due).await
    }

    /// When the rail is asked next, after `questions_so_far`: the gaps apply in their order, and the last one
    /// repeats.
    pub(super) fn next_question(&self, rail: &dyn Rail, questions_so_far: i32) -> Option<Due> {
        let gaps = rail.questions();
        let step = usize::try_from(questions_so_far).unwrap_or(0);
        let gap = gaps.get(step).or(gaps.last())?;
        Some(Due { at: self.ports.clock.now().plus(*gap), action: DueAction::Ask })
    }

    pub(super) async fn put_off(&self, claimed: &WorkInHand, due: Due) -> Result<(), SettleError> {
        self.commit_unless_stale(self.put_off_change(claimed, due)).await
    }

    /// Like `put_off`, unless the payment has moved since it was read.
    pub(super) async fn put_off_as_it_stands(
        &self,
        attended: &Attended<'_>,
        due: Due,
    ) -> Result<(), SettleError> {
        let mut changes = self.put_off_change(attended.claimed, due);
        changes.expects.push(changes::as_it_stands(&attended.payment));
        self.commit_unless_stale(changes).await
    }

    /// Commits what comes `next` with the rail's own identifier of the payment, if the rail `named` one. If the
    /// payment has changed meanwhile, whoever changed it said what comes next, and only the identifier is kept.
    pub(super) async fn keep(
        &self,
        payment: Payment,
        named: Option<String>,
        next: Changes,
    ) -> Result<(), SettleError> {
        let (tenant, id) = (payment.terms().tenant, payment.id().clone());
        let read = || async { Ok(self.ports.reads.payment(tenant, &id).await?) };
        let mut next = Some(next);
        let decide = |found: Option<Payment>| {
            let Some(payment) = found else { return Ok(Decided::Stay(())) };
            let next = next.take();
            // A name that another node has kept meanwhile may be of a later order.
            let named =
                named.clone().filter(|_| next.is_some() || payment.state().provider_reference.is_none());
            if next.is_none() && named.is_none() {
                return Ok(Decided::Stay(()));
            }
            let mut changes = next.unwrap_or_else(|| Changes::new(tenant, self.ports.clock.now()));
            changes::put_named(&mut changes, payment, named);
            Ok(Decided::change(changes, ()))
        };
        act_on(&*self.ports.commit, Some(payment), read, decide).await
    }

    /// A single change: the claimed work is put off, with the attempts of the claim.
    pub(super) fn put_off_change(&self, claimed: &WorkInHand, due: Due) -> Changes {
        let mut changes = Changes::new(claimed.tenant, self.ports.clock.now());
        let (claim, due, action) = (claimed.clone(), due.at, due.action);
        changes.work.push(match action {
            // A withdrawal waits for its submission, however often there is no room for it.
            DueAction::Submit if claim.action == action.as_str() => WorkChange::HoldUp { claim, due },
            _ => WorkChange::PutOff { claim, due, action: action.as_str() },
        });
        changes
    }

    /// A single change: the claimed work is done. Work that has taken its place since the claim stays.
    pub(super) fn done_change(&self, claimed: &WorkInHand) -> Changes {
        let mut changes = Changes::new(claimed.tenant, self.ports.clock.now());
        changes.work.push(WorkChange::Done(claimed.clone()));
        changes
    }
}

/// The claim of work that could not be begun, without counting this attempt.
pub(super) fn not_begun(claimed: &WorkInHand) -> WorkInHand {
    WorkInHand { attempts: claimed.attempts.saturating_sub(1), ..claimed.clone() }
}

/// The claim of a question. If it takes over a deposit from a node that died before it had the instructions,
/// it comes before the first question of the rail's schedule and does not count as one.
pub(super) fn outside_schedule_if_taken_over(claimed: &WorkInHand, payment: &Payment) -> WorkInHand {
    let is_taken_over = payment.awaits_instructions() && claimed.due <= payment.state().updated_at;
    if is_taken_over { not_begun(claimed) } else { claimed.clone() }
}

/// How long a withdrawal is put off when its rail has no room.
pub(super) fn until_room(claimed: &WorkInHand) -> Duration {
    let earlier = u32::try_from(claimed.attempts).unwrap_or(0).saturating_sub(1);
    FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(earlier)).min(MAX_BACKOFF)
}

/// What the end of its time does to a payment.
pub(super) fn at_expiry(payment: &Payment) -> Trigger {
    let terms = payment.terms();
    let is_redirected_deposit =
        terms.method == Method::RedirectPay && terms.kind.direction() == Direction::Deposit;
    if is_redirected_deposit { Trigger::GiveUp } else { Trigger::Expire }
}

/// When the payment expires, if its status allows that.
pub(super) fn expiry(payment: &Payment) -> Option<Due> {
    payment.status().after(payment.situation(), at_expiry(payment))?;
    payment.terms().expiry()
}
