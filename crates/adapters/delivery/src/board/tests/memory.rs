//! Which deliveries are kept in memory, and which are left to the store.

use super::*;

/// Asserts that what is kept was counted right, and is within its bounds. An endpoint that has become unproven
/// can give up what waits, and not what is in progress.
pub(super) fn assert_bounded(board: &Board) {
    let mut sums: HashMap<MerchantId, Kept> = HashMap::new();
    for (merchant, queue) in board.queues.values() {
        sums.entry(*merchant).or_default().add(queue.kept());
    }
    let mut in_all = Kept::default();
    for (merchant, kept) in sums {
        assert_eq!(board.kept_of(merchant), kept);
        assert!(kept.in_all <= board.places.kept_of_merchant);
        assert!(kept.unproven <= board.places.kept_unproven_of_merchant + board.under_way);
        in_all.add(kept);
    }
    assert_eq!(board.kept, in_all);
    assert!(in_all.in_all <= board.places.kept);
    assert!(in_all.unproven <= board.places.kept_unproven + board.under_way);
}

#[test]
fn memory_is_bounded_and_what_found_no_room_is_fetched_when_there_is_some() {
    let mut board = Board::with_places(Places { kept: 100, ..Places::default() });
    let endpoints: Vec<_> = (0..10).map(|number| endpoint(1, number)).collect();
    let kept: usize = endpoints.iter().map(|endpoint| fill(&mut board, endpoint, 0)).sum();
    assert_eq!(kept, 100);
    let going = all_that_may_go(&mut board);
    assert!(!going.is_empty());
    let fetches = going.iter().filter(|going| board.ended(going, QUICKLY).wants_more).count();
    assert!(fetches >= 1);
}

#[test]
fn dead_endpoints_of_a_merchant_leave_memory_to_its_quick_ones_and_to_other_merchants() {
    let mut board = Board::default();
    let (own, quick, unknown) = (endpoint(1, 0), endpoint(2, 0), endpoint(3, 0));
    warm_up(&mut board, &own);
    warm_up(&mut board, &quick);
    for number in 1..10_000 {
        fill(&mut board, &endpoint(1, number), 0);
    }
    assert_bounded(&board);
    assert!(fill(&mut board, &own, 0) > 1_000);
    assert_eq!(fill(&mut board, &quick, 0), 2_000);
    assert_eq!(fill(&mut board, &unknown, 0), 64);
}

#[test]
fn the_endpoints_of_a_merchant_share_its_memory() {
    let mut board = Board::default();
    let endpoints: Vec<_> = (0..20).map(|number| endpoint(1, number)).collect();
    for endpoint in &endpoints {
        warm_up(&mut board, endpoint);
    }
    let mut served = HashSet::new();
    // The store has more of each than the merchant may keep in all.
    for _ in 0..10 {
        let mut waiting = endpoints.iter().map(|endpoint| (endpoint.tenant, endpoint.id.clone()));
        loop {
            let wanted = board.wanted(&mut waiting, 1_000);
            if wanted.is_empty() {
                break;
            }
            for one in wanted {
                let endpoint = endpoints.iter().find(|endpoint| endpoint.id == one.endpoint).expect("known");
                for number in 0..one.most as usize {
                    board.take_in(owed(endpoint, number, 0)).expect("what was wanted finds room");
                }
            }
        }
        assert_bounded(&board);
        for going in all_that_may_go(&mut board) {
            board.ended(&going, QUICKLY);
            board.recorded(MerchantId(1), 1);
            served.insert(going.owed.endpoint.id.clone());
        }
    }
    assert_eq!(served.len(), endpoints.len(), "none waits behind the others");
}

#[test]
fn an_endpoint_that_hangs_gives_up_all_but_its_next_probe() {
    let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
    let kept = fill(&mut board, &endpoint, 0);
    let going = all_that_may_go(&mut board);
    let given_up: Vec<_> =
        going.iter().map(|going| board.ended(going, Ending::Hung).given_up.len()).collect();
    let rest = kept - FIRST_WINDOW - 1;
    assert_eq!(given_up, [0, 0, rest, 0, 0, 0, 0, 0]);
    assert_eq!(board.load(), (0, 1));
    assert_bounded(&board);
}

#[test]
fn quick_endpoints_that_become_slow_give_up_what_unproven_ones_may_not_keep() {
    let mut board = Board::default();
    let endpoints: Vec<_> = (0..4).map(|number| endpoint(1, number)).collect();
    for endpoint in &endpoints {
        warm_up(&mut board, endpoint);
        fill(&mut board, endpoint, 0);
    }
    let (mut given_up, kept) = (0, board.load().1);
    let going = all_that_may_go(&mut board);
    for going in &going {
        given_up += board.ended(going, SLOWLY).given_up.len();
        assert_bounded(&board);
    }
    assert!(given_up > 1_000);
    assert_eq!(board.load().1, kept - going.len() - given_up);
}
