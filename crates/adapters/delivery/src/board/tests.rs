//! The rules of fairness, each on a board of its own.

mod changes;
mod memory;

use std::{collections::HashSet, sync::Arc, time::Duration};

use proptest::prelude::*;
use quipu_kernel::{Environment, EventId, Tenant, Timestamp};
use quipu_webhooks::{Attempt, Attempted, Endpoint, EventName, Response, RetryPolicy, Spread, TargetUrl};

use super::*;
use crate::endpoint_queue::{FIRST_WINDOW, WIDEST_WINDOW};

const QUICKLY: Ending = Ending::Answered(Duration::from_millis(5));
const SLOWLY: Ending = Ending::Answered(Duration::from_secs(9));
const REFUSED: Ending = Ending::Failed(Duration::ZERO);
const FAILED_LATE: Ending = Ending::Failed(Duration::from_secs(14));
const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

fn endpoint(merchant: i64, number: u32) -> Arc<Endpoint> {
    let id = EndpointId::restore(format!("endpoint-{merchant}-{number}"));
    let tenant = Tenant::new(MerchantId(merchant), Environment::Test);
    let url = TargetUrl::restore("https://shop.example/".to_owned());
    Arc::new(Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], NOON))
}

fn owed(endpoint: &Arc<Endpoint>, number: usize, attempts: u32) -> Owed {
    let attempt = |number| Attempt {
        number,
        started_at: NOON,
        duration_ms: 1,
        http_status: Some(500),
        error: None,
        response_excerpt: None,
        next_attempt_at: None,
    };
    Owed {
        endpoint: Arc::clone(endpoint),
        event_id: EventId::restore(format!("evt_{number}")),
        payload: "{}".into(),
        attempts: (1..=attempts).map(attempt).collect(),
        step: attempts,
        due_at: NOON,
    }
}

/// Fills the queue of an endpoint until it has no room.
fn fill(board: &mut Board, endpoint: &Arc<Endpoint>, attempts: u32) -> usize {
    let mut number = 0;
    while board.take_in(owed(endpoint, number, attempts)).is_ok() {
        number += 1;
    }
    number
}

fn all_that_may_go(board: &mut Board) -> Vec<Going> {
    std::iter::from_fn(|| board.next()).collect()
}

/// Lets an endpoint answer quickly until its window is as wide as it gets.
fn warm_up(board: &mut Board, endpoint: &Arc<Endpoint>) {
    for _ in 0..WIDEST_WINDOW {
        board.take_in(owed(endpoint, 0, 0)).expect("room");
        let going = board.next().expect("it goes");
        board.ended(&going, QUICKLY, 0);
    }
}

#[test]
fn an_unknown_endpoint_gets_a_few_places_and_a_quick_one_many() {
    let mut board = Board::default();
    let endpoint = endpoint(1, 1);
    fill(&mut board, &endpoint, 0);
    let going = all_that_may_go(&mut board);
    assert_eq!(going.len(), FIRST_WINDOW);
    for going in going {
        board.ended(&going, QUICKLY, 0);
    }
    fill(&mut board, &endpoint, 0);
    assert_eq!(all_that_may_go(&mut board).len(), 2 * FIRST_WINDOW);
}

#[test]
fn an_endpoint_that_hangs_is_tried_by_one_probe_until_it_answers() {
    let mut board = Board::default();
    let endpoint = endpoint(1, 1);
    fill(&mut board, &endpoint, 0);
    let going = all_that_may_go(&mut board);
    let (last, hung) = going.split_last().expect("some");
    for going in hung {
        board.ended(going, Ending::Hung, 0);
    }
    assert!(board.next().is_none(), "one is still under way");
    board.ended(last, Ending::Hung, 0);
    for _ in 0..5 {
        assert!(board.take_in(owed(&endpoint, 0, 0)).is_err(), "nothing is taken in beside the probe");
        let probe = board.next().expect("a probe");
        assert!(board.next().is_none());
        assert!(board.ended(&probe, Ending::Hung, 0).wants_more);
        board.take_in(owed(&endpoint, 0, 0)).expect("room for the next probe");
    }
    let probe = board.next().expect("a probe");
    board.ended(&probe, QUICKLY, 0);
    fill(&mut board, &endpoint, 0);
    assert!(all_that_may_go(&mut board).len() > 1);
}

#[test]
fn an_endpoint_that_refuses_or_answers_slowly_keeps_the_places_it_began_with() {
    for ending in [REFUSED, FAILED_LATE, SLOWLY] {
        let mut board = Board::default();
        let endpoint = endpoint(1, 1);
        for _ in 0..20 {
            fill(&mut board, &endpoint, 0);
            let going = all_that_may_go(&mut board);
            assert_eq!(going.len(), FIRST_WINDOW, "{ending:?}");
            for going in going {
                board.ended(&going, ending, 0);
            }
        }
    }
}

#[test]
fn a_quick_endpoint_that_begins_to_fail_late_loses_its_many_places() {
    for (ending, places) in [(REFUSED, WIDEST_WINDOW), (FAILED_LATE, FIRST_WINDOW), (SLOWLY, FIRST_WINDOW)] {
        let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
        warm_up(&mut board, &endpoint);
        fill(&mut board, &endpoint, 0);
        for going in all_that_may_go(&mut board) {
            board.ended(&going, ending, 0);
        }
        assert_eq!(all_that_may_go(&mut board).len(), places, "{ending:?}");
    }
}

#[test]
fn dead_endpoints_take_no_places_from_those_that_answer() {
    let mut board = Board::default();
    let healthy = endpoint(1, 1);
    warm_up(&mut board, &healthy);
    let dead: Vec<_> = (0..320).map(|number| endpoint(2 + i64::from(number) / 10, number)).collect();
    for dead in &dead {
        fill(&mut board, dead, 0);
    }
    let going = all_that_may_go(&mut board);
    assert_eq!(going.len(), Places::default().unproven);
    fill(&mut board, &healthy, 0);
    let going = all_that_may_go(&mut board);
    assert_eq!(going.len(), WIDEST_WINDOW);
    assert!(going.iter().all(|going| going.owed.endpoint.id == healthy.id));
}

#[test]
fn dead_endpoints_of_a_merchant_take_no_places_from_its_quick_one() {
    let mut board = Board::default();
    let healthy = endpoint(1, 0);
    warm_up(&mut board, &healthy);
    for number in 1..40 {
        fill(&mut board, &endpoint(1, number), 0);
    }
    let going = all_that_may_go(&mut board);
    assert_eq!(going.len(), Places::default().unproven_of_merchant);
    fill(&mut board, &healthy, 0);
    let quick = all_that_may_go(&mut board);
    assert_eq!(quick.len(), WIDEST_WINDOW);
    assert!(quick.iter().all(|going| going.owed.endpoint.id == healthy.id));
    for going in going {
        board.ended(&going, Ending::Hung, 0);
    }
    let probes = all_that_may_go(&mut board);
    let turns: HashSet<_> = probes.iter().map(|going| &going.owed.endpoint.id).collect();
    assert_eq!(turns.len(), 39, "each of them has its turn");
    assert!(!turns.contains(&healthy.id));
}

#[test]
fn an_endpoint_that_proves_to_be_quick_waits_behind_no_dead_one() {
    let mut board = Board::default();
    let unknown = endpoint(1, 0);
    fill(&mut board, &unknown, 0);
    for number in 1..50 {
        fill(&mut board, &endpoint(1, number), 0);
    }
    let going = all_that_may_go(&mut board);
    let first = going.iter().find(|going| going.owed.endpoint.id == unknown.id).expect("it has its turn");
    board.ended(first, QUICKLY, 0);
    let next: Vec<_> = all_that_may_go(&mut board);
    assert!(next.iter().filter(|going| going.owed.endpoint.id == unknown.id).count() > 1, "{next:?}");
}

#[test]
fn dead_endpoints_of_two_merchants_leave_places_for_unknown_ones() {
    let mut board = Board::default();
    for merchant in [1, 2] {
        for number in 0..40 {
            fill(&mut board, &endpoint(merchant, number), 0);
        }
    }
    all_that_may_go(&mut board);
    let unknown = endpoint(3, 0);
    fill(&mut board, &unknown, 0);
    assert_eq!(all_that_may_go(&mut board).len(), FIRST_WINDOW);
}

#[test]
fn merchants_and_endpoints_take_turns() {
    let mut board = Board::default();
    let (many, few) = (endpoint(1, 1), endpoint(2, 2));
    let third = endpoint(2, 3);
    for endpoint in [&many, &few, &third] {
        warm_up(&mut board, endpoint);
    }
    fill(&mut board, &many, 0);
    for number in 0..2 {
        board.take_in(owed(&few, number, 0)).expect("room");
        board.take_in(owed(&third, number, 0)).expect("room");
    }
    let order: Vec<_> =
        (0..8).filter_map(|_| board.next()).map(|going| going.owed.endpoint.id.clone()).collect();
    let of_second = order.iter().filter(|id| **id != many.id).count();
    assert_eq!(of_second, 4, "{order:?}");
    assert!(order[..4].contains(&few.id) && order[..4].contains(&third.id), "{order:?}");
}

#[test]
fn a_merchant_has_a_bound_of_its_own() {
    let mut board = Board::default();
    let endpoints: Vec<_> = (0..10).map(|number| endpoint(1, number)).collect();
    for endpoint in &endpoints {
        warm_up(&mut board, endpoint);
        fill(&mut board, endpoint, 0);
    }
    let going = all_that_may_go(&mut board);
    assert_eq!(going.len(), Places::default().of_merchant);
    let other = endpoint(2, 0);
    fill(&mut board, &other, 0);
    assert_eq!(all_that_may_go(&mut board).len(), FIRST_WINDOW);
    board.ended(&going[0], QUICKLY, 0);
    assert_eq!(all_that_may_go(&mut board).len(), 1);
}

#[test]
fn fresh_deliveries_go_before_repeated_ones_but_do_not_starve_them() {
    let mut board = Board::default();
    let endpoint = endpoint(1, 1);
    warm_up(&mut board, &endpoint);
    for number in 0..100 {
        board.take_in(owed(&endpoint, number, 1)).expect("room");
    }
    for number in 0..20 {
        board.take_in(owed(&endpoint, number, 0)).expect("room");
    }
    let fresh: Vec<_> = (0..10).filter_map(|_| board.next()).map(|going| going.owed.is_fresh()).collect();
    // The beginning of the run of fresh ones depends on the deliveries before.
    assert!(fresh.windows(5).all(|turns| turns.iter().filter(|fresh| **fresh).count() == 4), "{fresh:?}");
}

proptest! {
    /// Whatever happens, every accepted delivery is attempted once or given up, and no bound is exceeded.
    #[test]
    fn nothing_is_lost_and_no_bound_is_passed(steps in prop::collection::vec((0_u8..4, 0_u32..6, 0_u8..4), 1..400)) {
        let places = Places {
            in_all: 20,
            of_merchant: 12,
            unproven: 9,
            unproven_of_merchant: 6,
            kept: Amount::new(60, 8_000),
            kept_of_merchant: Amount::new(25, 4_000),
            kept_unproven: Amount::new(30, 4_500),
            kept_unproven_of_merchant: Amount::new(12, 2_000),
            ..Places::default()
        };
        let mut board = Board::with_places(places);
        let endpoints: Vec<_> = (0..6).map(|number| endpoint(i64::from(number) / 2, number)).collect();
        let mut under_way: Vec<Going> = Vec::new();
        let (mut taken_in, mut gone) = (0, 0);
        let ending = |kind| match kind {
            0 => QUICKLY,
            1 => SLOWLY,
            2 => REFUSED,
            _ => Ending::Hung,
        };
        for (step, which, kind) in steps {
            match step {
                0 | 1 => taken_in += usize::from(board.take_in(owed(&endpoints[which as usize], 0, kind.into())).is_ok()),
                2 => under_way.extend(board.next()),
                _ if under_way.is_empty() => {}
                _ => {
                    let over = under_way.swap_remove(which as usize % under_way.len());
                    gone += 1 + board.ended(&over, ending(kind), 0).given_up.len();
                }
            }
            let (going, waiting) = board.load();
            prop_assert_eq!(going, under_way.len());
            prop_assert!(going <= places.in_all && going + waiting <= places.kept.deliveries);
            let unproven = || under_way.iter().filter(|going| going.pace == Pace::Unproven);
            prop_assert!(unproven().count() <= places.unproven);
            for merchant in 0..3 {
                let of_merchant = unproven().filter(|going| going.owed.endpoint.tenant.merchant().0 == merchant);
                prop_assert!(of_merchant.count() <= places.unproven_of_merchant);
            }
            memory::assert_bounded(&board);
        }
        loop {
            under_way.extend(all_that_may_go(&mut board));
            let Some(over) = under_way.pop() else { break };
            gone += 1 + board.ended(&over, Ending::Hung, 0).given_up.len();
        }
        prop_assert_eq!((taken_in, board.load()), (gone, (0, 0)));
    }
}

#[test]
fn a_merchant_whose_outcomes_cannot_be_recorded_waits_and_no_other() {
    let places = Places { unrecorded_of_merchant: Amount::new(4, usize::MAX), ..Places::default() };
    let (mut board, stuck, other) = (Board::with_places(places), endpoint(1, 1), endpoint(2, 1));
    fill(&mut board, &stuck, 0);
    for _ in 0..4 {
        let going = board.next().expect("it goes");
        board.ended(&going, QUICKLY, 0);
    }
    assert!(board.next().is_none());
    board.take_in(owed(&other, 0, 0)).expect("room");
    assert_eq!(board.next().expect("it goes").owed.endpoint.id, other.id);
    board.recorded(MerchantId(1), Amount::one(0), &[]);
    assert_eq!(board.next().expect("it goes").owed.endpoint.id, stuck.id);
}

#[test]
fn outcomes_that_wait_are_bounded_in_bytes_too() {
    let places = Places { unrecorded_of_merchant: Amount::new(usize::MAX, 1_000), ..Places::default() };
    let (mut board, endpoint) = (Board::with_places(places), endpoint(1, 1));
    fill(&mut board, &endpoint, 0);
    for _ in 0..2 {
        let going = board.next().expect("it goes");
        board.ended(&going, QUICKLY, 500);
    }
    assert!(board.next().is_none());
    board.recorded(MerchantId(1), Amount::one(500), &[]);
    assert!(board.next().is_some());
}

#[test]
fn a_failure_that_began_before_a_success_of_its_endpoint_is_overtaken() {
    let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
    let outcome = |status, after: u64| {
        let started_at = NOON.plus(Duration::from_millis(after));
        let result = Ok(Response::new(status, None, b""));
        let attempted = Attempted { started_at, duration: Duration::from_millis(5), result };
        owed(&endpoint, 0, 0).after(&attempted, &RetryPolicy::default(), Spread::NONE)
    };
    fill(&mut board, &endpoint, 0);
    let mut is_overtaken = |outcome| {
        let reception = board.compare(outcome).reception;
        matches!(reception, Reception::Failed { overtaken: true, .. })
    };
    assert!(!is_overtaken(outcome(500, 0)), "nothing has succeeded yet");
    assert!(!is_overtaken(outcome(200, 10)));
    assert!(is_overtaken(outcome(500, 0)));
    assert!(!is_overtaken(outcome(500, 15)));
}
