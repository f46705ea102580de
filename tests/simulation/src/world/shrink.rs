//! Makes a failing plan smaller: leaves deeds and kinds of bad weather out as long as it still fails.

use super::{
    fault::Fault,
    plan::{Plan, Weather},
    run_world,
};

/// The smallest plan found that still fails, and how it fails.
pub fn shrunk(plan: &Plan, fault: Option<Fault>) -> (Plan, Vec<String>) {
    let fails = |plan: &Plan| run_world(plan, fault).err();
    let mut best = plan.clone();
    let mut broken = fails(&best).unwrap_or_default();
    let mut better = |best: &mut Plan, candidate: Plan| {
        let Some(why) = fails(&candidate) else { return false };
        (*best, broken) = (candidate, why);
        true
    };
    for change in [
        |weather: &mut Weather| weather.deaths = false,
        |weather: &mut Weather| weather.outages = false,
        |weather: &mut Weather| weather.moody_bank = false,
        |weather: &mut Weather| weather.deaf_receivers = false,
    ] {
        let mut candidate = best.clone();
        change(&mut candidate.weather);
        better(&mut best, candidate);
    }
    // Halves first, then quarters, and at last one by one, until nothing can go.
    let mut portion = best.deeds.len();
    while portion > 0 {
        let mut from = 0;
        let mut went = false;
        while from < best.deeds.len() {
            let mut candidate = best.clone();
            candidate.deeds.drain(from..(from + portion).min(best.deeds.len()));
            if better(&mut best, candidate) {
                went = true;
            } else {
                from += portion;
            }
        }
        if portion > 1 {
            portion /= 2;
        } else if !went {
            break;
        }
    }
    (best, broken)
}
