//! Random histories of one deposit and one withdrawal, against a second, independently written model of
//! status, money and events.
//!
//! The actors: [`Step`](step::Step)s are what may happen; [`Model`](model::Model) says what should come of
//! it, and [`Real`](real::Real) what does, on whatever store. Two steps may happen at the same instant: then
//! one of the two orders must explain what is seen.

mod model;
mod real;
mod step;

use std::collections::BTreeSet;

use quipu_kernel::{Currency, Environment, MerchantId, Tenant};

pub use real::Ports;

use self::{
    model::Model,
    real::{Real, Seen},
    step::{Step, any_step},
};
use crate::{chance::Dice, turns::race};

/// Steps of one history.
const STEPS: u64 = 40;
const DEPOSITED: i64 = 1_000;
const WITHDRAWN: i64 = 500;
const FEE: i64 = 7;
const FUNDED: i64 = 10_000;
const MXN: Currency = Currency::MXN;
/// The merchant of seed 0. Each history has a merchant of its own, so that many fit into one database.
const FIRST_MERCHANT: i64 = 1_000;

/// One history, which follows from its seed but for what the store decides in races. Panics, naming the seed,
/// where model and code disagree.
pub async fn run_history(ports: Ports, seed: u64) {
    let mut dice = Dice::new(seed);
    let number = i64::try_from(seed % (1 << 40)).unwrap_or(0);
    let real = Real::new(ports, Tenant::new(MerchantId(FIRST_MERCHANT + number), Environment::Test), seed);
    real.fund().await;
    let deposit = real.deposit().await;
    let withdrawal = real.withdrawal().await;
    let mut models = [(deposit, Model::new(true)), (withdrawal, Model::new(false))];
    for number in 0..dice.below(STEPS) {
        let chosen = usize::try_from(dice.below(2)).unwrap_or(0);
        let (id, model) = &mut models[chosen];
        let step = any_step(&mut dice, model);
        real.tick();
        if dice.one_in(4) {
            let rival = any_step(&mut dice, model);
            let (one, other) = (real.take(id, model, &step), real.take(id, model, &rival));
            race(&mut dice, Box::pin(one), Box::pin(other)).await;
            let outcome = (real.seen(id).await, real.parked(id).await);
            *model = explained(model, &outcome, &step, &rival).unwrap_or_else(|| {
                panic!("seed {seed}, step {number}: {step:?} at the same time as {rival:?} on {model:?} came to {outcome:?}")
            });
        } else {
            let before = model.clone();
            model.take(&step);
            Box::pin(real.take(id, &before, &step)).await;
            assert_eq!(
                real.seen(id).await,
                model.seen(),
                "seed {seed}, step {number}: {step:?} on {before:?}"
            );
        }
    }
    for (id, model) in &models {
        let told = real.events_of(id).await;
        assert_eq!(told, *model.events(), "seed {seed}: the events of each version of {id}");
        let parked = real.parked(id).await;
        assert_eq!(parked, model.parked_names(), "seed {seed}: what waits for a person about {id}");
        assert_eq!(real.money_of(id).await, model.money(), "seed {seed}: the entries of {id}");
    }
    let moved = models.iter().map(|(_, model)| model.money());
    let (available, frozen) = moved.fold((FUNDED, 0), |sum, money| (sum.0 + money.0, sum.1 + money.1));
    let balance = real.balance().await;
    assert_eq!((balance.available.get(), balance.frozen.get()), (available, frozen), "seed {seed}");
    assert!(balance.is_balanced(), "seed {seed}");
}

/// The model after both steps in the order that explains what is seen.
fn explained(before: &Model, outcome: &(Seen, BTreeSet<String>), one: &Step, other: &Step) -> Option<Model> {
    let orders = [[one, other], [other, one]];
    let mut explanations = orders.into_iter().map(|order| {
        let mut model = before.clone();
        for step in order {
            model.take(step);
        }
        model
    });
    explanations.find(|model| (model.seen(), model.parked_names()) == *outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{seeds::Seeds, store::MemoryStore, turns::finish};

    /// Histories in an ordinary run.
    const RUNS: u64 = 5_000;

    #[test]
    fn random_histories_agree_with_the_model() {
        for seed in Seeds::of(RUNS).0 {
            finish(run_history(Ports::of(&MemoryStore::default()), seed));
        }
    }
}
