//! Whole worlds keep their promises, and notice where a rule is broken.

use quipu_simulation::{Fault, Plan, Seeds, run_world, shrunk};

/// Worlds in an ordinary run.
const WORLDS: u64 = 300;
/// Seeds in which every planted fault must be found.
const ENOUGH: u64 = 10_000;
/// Seeds in which an ordinary run looks for them.
const A_FEW: u64 = 400;

#[test]
fn worlds_keep_every_promise() {
    for seed in Seeds::of(WORLDS).0 {
        let plan = Plan::of(seed);
        if let Err(broken) = run_world(&plan, None) {
            let (small, least) = shrunk(&plan, None);
            panic!(
                "seed {seed} breaks {broken:#?}\nof its {} deeds these break {least:#?}:\n{small}",
                plan.len()
            );
        }
    }
}

#[test]
fn a_seed_always_comes_to_the_same() {
    for seed in 1..20 {
        let run = || run_world(&Plan::of(seed), None).map(|summary| (summary.payments, summary.turns));
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn every_planted_fault_is_found() {
    let long = std::env::var("QUIPU_EFFORT").is_ok_and(|effort| effort != "1");
    let most = if long { ENOUGH } else { A_FEW };
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        match (1..=most).find(|seed| run_world(&Plan::of(*seed), Some(fault)).is_err()) {
            Some(seed) => {
                println!("{fault:?} is found by seed {seed}");
                // Or it was found in what is broken without it.
                assert_eq!(run_world(&Plan::of(seed), None).err(), None, "seed {seed} without {fault:?}");
            }
            None => missed.push(fault),
        }
    }
    assert_eq!(missed, Vec::new(), "not found in {most} seeds");
}

#[test]
fn a_failing_plan_shrinks_to_what_is_needed() {
    let fault = Some(Fault::CreditLost);
    let seed =
        (1..1_000).find(|seed| run_world(&Plan::of(*seed), fault).is_err()).expect("it fails some time");
    let plan = Plan::of(seed);
    let (small, broken) = shrunk(&plan, fault);
    assert!(small.len() <= 2 && small.len() < plan.len(), "{small:?} of {plan:?}");
    assert!(!broken.is_empty() && run_world(&small, fault).is_err(), "it still fails");
}
