//! What outsiders will do in a world, drawn from its seed before it begins. Leaving deeds out changes nothing
//! about the others, so that a failing plan can be shrunk.

use std::time::Duration;

use quipu_payments::{ManualDecision, Resolution};

use crate::chance::Dice;

/// How a creation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A deposit over the bank, which tells by itself.
    SpeiDeposit,
    /// A withdrawal over the bank.
    SpeiWithdrawal,
    /// A withdrawal over the bank, whose recipient says on its page where the money goes.
    SpeiForm,
    /// A deposit by redirect, over the bank.
    Redirect,
    /// A deposit into an account that people look at.
    DeskDeposit,
    /// A withdrawal that people carry out.
    DeskWithdrawal,
}

/// What the payer of a deposit does. The recipient of a withdrawal fills in its page or stays away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payer {
    /// Pays what was asked for.
    Pays,
    /// Pays less.
    PaysShort,
    /// Has no money, and the bank says so.
    IsDeclined,
    /// Never pays.
    StaysAway,
}

/// A request to create a payment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// The position of the merchant in the world.
    pub(crate) merchant: usize,
    /// How.
    pub(crate) way: Way,
    /// Minor units.
    pub(crate) amount: i64,
    /// The merchant's reference.
    pub(crate) reference: u64,
    /// Which of the merchant's customers.
    pub(crate) customer: u64,
    /// Whether it goes under an idempotency key.
    pub(crate) keyed: bool,
    /// Whether its signature burns a nonce.
    pub(crate) signed: bool,
    /// How often the very same request is sent again, at the same time.
    pub(crate) copies: u64,
    /// Whether it names a webhook of its own.
    pub(crate) hooked: bool,
    /// What the payer does, and how long after.
    pub(crate) payer: (Payer, Duration),
}

/// What outsiders do. Payments are named by the number of the wish that asked for them.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    /// A merchant asks for a payment.
    Create(u64, Wish),
    /// A merchant cancels.
    Cancel(u64),
    /// A person pays back so much of a hundred.
    Refund(u64, i64),
    /// A person decides.
    Decide(u64, ManualDecision),
    /// A person resolves the oldest receipt that is open.
    Resolve(Resolution),
    /// A person corrects a balance.
    Adjust(u64, usize, i64),
    /// An endpoint is disabled or enabled.
    Switch(usize, bool),
}

/// What is against whoever lives in the world.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is switched off by itself when a plan is made smaller"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weather {
    /// Nodes die between any two steps.
    pub(crate) deaths: bool,
    /// The store refuses, or does not tell.
    pub(crate) outages: bool,
    /// The bank is slow, silent, and repeats itself.
    pub(crate) moody_bank: bool,
    /// Receivers fail.
    pub(crate) deaf_receivers: bool,
}

impl Weather {
    /// Nothing is against anybody.
    pub(crate) const CALM: Self =
        Self { deaths: false, outages: false, moody_bank: false, deaf_receivers: false };
    const ROUGH: Self = Self { deaths: true, outages: true, moody_bank: true, deaf_receivers: true };
    /// Only nodes die, and they die young.
    const DEADLY: Self = Self { deaths: true, ..Self::CALM };

    /// Whether whatever does not come about has a dead node for its reason.
    pub(crate) const fn harms_only_nodes(self) -> bool {
        self.deaths && !self.outages && !self.moody_bank
    }
}

/// A whole plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the chance of everything that is not planned follows from.
    pub(crate) seed: u64,
    /// What is against everybody.
    pub(crate) weather: Weather,
    /// Who does what, and when after the beginning.
    pub(crate) deeds: Vec<(Duration, Deed)>,
}

/// Merchants of a world.
pub(crate) const MERCHANTS: u64 = 2;
/// Endpoints of each merchant, beside those that payments name.
pub(crate) const ENDPOINTS: u64 = 2;
/// Wishes of a world, at most.
const WISHES: u64 = 16;
/// Moments at which outsiders do something: few, so that much happens at once.
const MOMENTS: u64 = 10;

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.weather)?;
        for (at, deed) in &self.deeds {
            writeln!(f, "after {} min: {deed:?}", at.as_secs() / 60)?;
        }
        Ok(())
    }
}

impl Plan {
    /// The plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut deeds = Vec::new();
        let wishes = 4 + dice.below(WISHES - 3);
        for number in 0..wishes {
            let at = moment(&mut dice);
            deeds.push((at, Deed::Create(number, wish(&mut dice, number))));
            if dice.one_in(3) {
                // What is done to a payment right away meets whatever its creation began.
                let after = Duration::from_mins(dice.below(3));
                deeds.push((at + after, to_a_payment(&mut dice, number)));
            }
        }
        for number in 0..wishes {
            let about = dice.below(wishes);
            let deed = match dice.below(8) {
                0 => {
                    let resolution = [Resolution::Ignore, Resolution::CompleteWithReceivedAmount];
                    Deed::Resolve(*dice.pick(&resolution))
                }
                1 => Deed::Adjust(number, merchant(&mut dice), 1 + number_of(dice.below(5_000))),
                2 => {
                    let endpoint = usize::try_from(dice.below(MERCHANTS * ENDPOINTS)).unwrap_or(0);
                    Deed::Switch(endpoint, dice.below(3) > 0)
                }
                _ => to_a_payment(&mut dice, about),
            };
            deeds.push((moment(&mut dice), deed));
        }
        deeds.sort_by_key(|(at, _)| *at);
        let weather = *dice.pick(&[
            Weather::CALM,
            Weather::DEADLY,
            Weather::ROUGH,
            Weather::ROUGH,
            Weather::ROUGH,
            Weather::ROUGH,
        ]);
        Self { seed, weather, deeds }
    }

    /// How many deeds there are.
    pub fn len(&self) -> usize {
        self.deeds.len()
    }

    /// Whether nobody does anything.
    pub fn is_empty(&self) -> bool {
        self.deeds.is_empty()
    }
}

fn moment(dice: &mut Dice) -> Duration {
    Duration::from_hours(3) * u32::try_from(dice.below(MOMENTS)).unwrap_or(0)
}

fn merchant(dice: &mut Dice) -> usize {
    usize::try_from(dice.below(MERCHANTS)).unwrap_or(0)
}

fn number_of(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn wish(dice: &mut Dice, number: u64) -> Wish {
    let way = match dice.below(10) {
        0..=2 => Way::SpeiDeposit,
        3..=5 => Way::SpeiWithdrawal,
        6 => Way::SpeiForm,
        7 => Way::Redirect,
        8 => Way::DeskDeposit,
        _ => Way::DeskWithdrawal,
    };
    let payer = match dice.below(8) {
        0 => Payer::StaysAway,
        1 => Payer::PaysShort,
        2 => Payer::IsDeclined,
        _ => Payer::Pays,
    };
    // Some come when the payment has expired or was given up.
    let after = match dice.below(6) {
        0 => Duration::from_hours(24),
        1 => Duration::from_hours(30),
        2 => Duration::from_hours(8),
        _ => Duration::from_mins(dice.below(60)),
    };
    Wish {
        merchant: merchant(dice),
        way,
        amount: 100 + number_of(dice.below(20_000)),
        reference: if dice.one_in(5) { dice.below(number + 1) } else { number },
        customer: dice.below(3),
        keyed: dice.below(3) > 0,
        signed: dice.one_in(2),
        copies: if dice.one_in(3) { 1 + dice.below(2) } else { 0 },
        hooked: dice.one_in(4),
        payer: (payer, after),
    }
}

fn to_a_payment(dice: &mut Dice, number: u64) -> Deed {
    match dice.below(9) {
        0..=2 => Deed::Cancel(number),
        3..=5 => Deed::Refund(number, [30, 60, 100][usize::try_from(dice.below(3)).unwrap_or(0)]),
        _ => Deed::Decide(number, *dice.pick(&ManualDecision::ALL)),
    }
}
