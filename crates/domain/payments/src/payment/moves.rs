//! Several moves of one payment in one commit.

use quipu_commit::Changes;

use crate::payment::{
    Payment,
    apply::{NotMoved, TransitionContext},
    changes::Changed,
    status::Trigger,
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
