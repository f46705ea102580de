//! Several moves of one payment in one commit.

use quipu_commit::Changes;
use quipu_kernel::{Amount, Minor};
use quipu_merchants::Direction;

use crate::payment::{
    Payment,
    apply::{NotMoved, TransitionContext},
    changes::Changed,
    status::{Status, Trigger},
};

/// The moves that `triggers` make, one after the other: a version, postings and events for each, and the
/// payment saved once.
pub(crate) fn chain(
    payment: Payment,
    triggers: &[Trigger],
    context: &TransitionContext<'_>,
) -> Result<Changed, NotMoved> {
    let changes = Changes::new(payment.terms().tenant, context.at);
    let mut moved = Changed { payment, changes };
    for trigger in triggers {
        let step = moved.payment.apply(*trigger, context.clone())?;
        moved = Changed { payment: step.payment, changes: then(moved.changes, step.changes) };
    }
    Ok(moved)
}

impl Payment {
    /// The moves that complete it, one after the other: a withdrawal that nobody submitted is submitted first,
    /// and a deposit that had ended completes late. Whether the transition table allows them is found out when
    /// they are applied.
    pub fn completion(&self) -> &'static [Trigger] {
        match (self.terms().kind.direction(), self.status()) {
            (Direction::Withdrawal, Status::Pending) => &[Trigger::Submit, Trigger::Confirm],
            (Direction::Deposit, Status::Expired | Status::Cancelled) => &[Trigger::ArriveLate],
            _ => &[Trigger::Confirm],
        }
    }

    /// Completes a deposit with the amount that arrived instead of the agreed one, and the fee on it.
    pub fn complete_with(
        mut self,
        received: Amount,
        fee: Minor,
        context: &TransitionContext<'_>,
    ) -> Result<Changed, NotMoved> {
        self.state.received_amount = Some(received);
        self.state.fee = fee;
        let completion = self.completion();
        chain(self, completion, context)
    }
}

/// Two steps of the same payment as one change.
fn then(first: Changes, mut second: Changes) -> Changes {
    let began_at = first.saves.first().map(|save| save.from);
    let Changes { names, tallies, transactions, rows, .. } = first;
    for save in &mut second.saves {
        save.from = began_at.unwrap_or(save.from);
    }
    second.names.splice(..0, names);
    second.tallies.splice(..0, tallies);
    second.transactions.splice(..0, transactions);
    second.rows.splice(..0, rows);
    second
}
