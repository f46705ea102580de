//! What may happen to a payment.

use quipu_payments::{ManualDecision, RailEventKind, Resolution};

use super::{DEPOSITED, model::Model};
use crate::chance::Dice;

/// What may happen to a payment.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Its merchant cancels it.
    Cancel,
    /// A person decides.
    Decide(ManualDecision),
    /// A person pays back so much.
    Refund(i64),
    /// Word of the rail: what, whether of the right amount, and under which of its names.
    Hear(RailEventKind, bool, u64),
    /// Its time is over.
    TimeOver,
    /// A person resolves what was parked under this name, if anything was.
    Resolve(Resolution, Option<String>),
}

/// Anything that may happen to a payment that stands as the model says.
pub(super) fn any_step(dice: &mut Dice, model: &Model) -> Step {
    match dice.below(12) {
        0 => Step::Cancel,
        1..=3 => Step::Decide(*dice.pick(&ManualDecision::ALL)),
        4 | 5 => Step::Refund(*dice.pick(&[1, 60, 400, DEPOSITED])),
        6..=9 => Step::Hear(*dice.pick(&RailEventKind::ALL), dice.below(4) > 0, dice.below(6)),
        10 => Step::TimeOver,
        _ => {
            let resolution = *dice.pick(&[Resolution::Ignore, Resolution::CompleteWithReceivedAmount]);
            Step::Resolve(resolution, model.first_parked())
        }
    }
}

/// The rail's name for an event, which a repeat has too.
pub(super) fn name_of(kind: RailEventKind, right: bool, name: u64) -> String {
    format!("{}-{right}-{name}", kind.as_str())
}
