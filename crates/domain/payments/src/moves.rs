//! Several moves of one payment in one commit.

use quipu_commit::Changes;

use crate::{
    apply::{Happening, NotMoved},
    payment::Payment,
    status::Trigger,
};

/// The changes that `triggers` make, one after the other: a version, postings and events for each, and one
/// saved payment.
pub(crate) fn chain(
    payment: Payment,
    triggers: &[Trigger],
    happening: &Happening<'_>,
) -> Result<Changes, NotMoved> {
    let mut all = Changes::new(payment.terms().tenant, happening.at);
    let mut payment = payment;
    for trigger in triggers {
        let step = payment.apply(*trigger, happening.clone())?;
        let moved = step.saved::<Payment>().cloned();
        payment = moved.unwrap_or_else(|| unreachable!("a move saves its payment"));
        all = then(all, step);
    }
    Ok(all)
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
