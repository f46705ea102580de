//! Several moves of one payment in one commit.

use quipu_commit::Changes;
use quipu_kernel::{Amount, Entropy, Minor, Timestamp};

use crate::{
    apply::{Happening, NotMoved},
    payment::{Due, Failure, Payment},
    status::Trigger,
};

/// The circumstances of moves that happen together.
pub(crate) struct Moves<'a> {
    /// When they happen (UTC).
    pub(crate) at: Timestamp,
    /// The source of their events' identifiers.
    pub(crate) entropy: &'a dyn Entropy,
    /// The reason of a move that ends badly.
    pub(crate) failure: Option<Failure>,
    /// The next thing to do with the payment after the last move.
    pub(crate) due: Option<Due>,
    /// The amount that arrived instead of the agreed one, and the fee on it.
    pub(crate) received: Option<(Amount, Minor)>,
    /// The refunded amount, in minor units.
    pub(crate) refund: Option<Amount>,
}

impl<'a> Moves<'a> {
    /// Moves at `at`, without further circumstances.
    pub(crate) fn new(at: Timestamp, entropy: &'a dyn Entropy) -> Self {
        Self { at, entropy, failure: None, due: None, received: None, refund: None }
    }
}

/// The changes that `triggers` make, one after the other: a version, postings and events for each, and one
/// saved payment.
pub(crate) fn chain(payment: Payment, triggers: &[Trigger], how: &Moves<'_>) -> Result<Changes, NotMoved> {
    let mut all = Changes::new(payment.terms().tenant, how.at);
    let mut payment = payment;
    for trigger in triggers {
        let happening = Happening {
            at: how.at,
            entropy: how.entropy,
            failure: how.failure.clone(),
            due: how.due,
            refund: how.refund,
            received: how.received,
        };
        let step = payment.apply(*trigger, happening)?;
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
