//! Which deliveries are kept in memory, and which are left to the store.

use super::*;

/// The bytes of a delivery with three attempts, which is the longest of those that come here by chance.
const LONGEST: usize = 500;
/// The payload of a ticket with as many files as one may have.
const LONG: usize = 256 * 1024;

/// A delivery with a long payload.
fn long(endpoint: &Arc<Endpoint>, number: usize) -> Owed {
    Owed { payload: "x".repeat(LONG).into(), ..owed(endpoint, number, 0) }
}

/// Asserts that what is kept was counted right, and is within its bounds; one delivery may pass a bound in bytes. An
/// endpoint that has become unproven can give up what waits, and not what is in progress.
pub(super) fn assert_bounded(board: &Board) {
    let mut sums: HashMap<MerchantId, Kept> = HashMap::new();
    for (merchant, queue) in board.queues.values() {
        sums.entry(*merchant).or_default().add(queue.kept());
    }
    let mut in_all = Kept::default();
    for (merchant, kept) in sums {
        assert_eq!(board.kept_of(merchant), kept);
        assert_within(kept.in_all, board.places.kept_of_merchant, 0);
        assert_within(kept.unproven, board.places.kept_unproven_of_merchant, board.under_way);
        in_all.add(kept);
    }
    assert_eq!(board.kept, in_all);
    assert_within(in_all.in_all, board.places.kept, 0);
    assert_within(in_all.unproven, board.places.kept_unproven, board.under_way);
}

/// Asserts that an amount is within a bound, beside so many in progress.
fn assert_within(amount: Amount, bound: Amount, in_progress: usize) {
    assert!(amount.deliveries <= bound.deliveries + in_progress, "{amount:?}");
    assert!(amount.bytes <= bound.bytes + (1 + in_progress) * LONGEST, "{amount:?}");
}

#[test]
fn memory_is_bounded_and_what_found_no_room_is_fetched_when_there_is_some() {
    let mut board = Board::with_places(Places { kept: Amount::new(100, usize::MAX), ..Places::default() });
    let endpoints: Vec<_> = (0..10).map(|number| endpoint(1, number)).collect();
    let kept: usize = endpoints.iter().map(|endpoint| fill(&mut board, endpoint, 0)).sum();
    assert_eq!(kept, 100);
    let going = all_that_may_go(&mut board);
    assert!(!going.is_empty());
    let fetches = going.iter().filter(|going| board.ended(going, QUICKLY, 0).wants_more).count();
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
            board.ended(&going, QUICKLY, 0);
            board.recorded(MerchantId(1), Amount::one(0), &[]);
            served.insert(going.owed.endpoint.id.clone());
        }
    }
    assert_eq!(served.len(), endpoints.len(), "none waits behind the others");
}

#[test]
fn no_more_is_fetched_than_what_fits_by_the_length_of_the_former_ones() {
    let mut board =
        Board::with_places(Places { kept_of_merchant: Amount::new(5_000, 64 * LONG), ..Places::default() });
    let endpoint = endpoint(1, 1);
    warm_up(&mut board, &endpoint);
    let asked = |board: &mut Board| -> Vec<u32> {
        let mut waiting = std::iter::once((endpoint.tenant, endpoint.id.clone()));
        board.wanted(&mut waiting, 1_000).iter().map(|wanted| wanted.most).collect()
    };
    for number in 0..16 {
        board.take_in_wanted(long(&endpoint, number)).expect("room");
    }
    let most = asked(&mut board);
    assert!(matches!(most[..], [16..=20]), "half of what is left: {most:?}");
}

#[test]
fn an_endpoint_that_hangs_gives_up_all_but_its_next_probe() {
    let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
    let kept = fill(&mut board, &endpoint, 0);
    let going = all_that_may_go(&mut board);
    let given_up: Vec<_> =
        going.iter().map(|going| board.ended(going, Ending::Hung, 0).given_up.len()).collect();
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
        given_up += board.ended(going, SLOWLY, 0).given_up.len();
        assert_bounded(&board);
    }
    assert!(given_up > 1_000);
    assert_eq!(board.load().1, kept - going.len() - given_up);
}

#[test]
fn long_deliveries_are_bounded_in_bytes() {
    let (mut board, places) = (Board::default(), Places::default());
    let mut taken_in = 0;
    for merchant in 1..=20 {
        let of_merchant = |board: &Board| board.kept_of(MerchantId(merchant)).in_all.bytes;
        for number in 0..50 {
            let endpoint = endpoint(merchant, number);
            while board.take_in(long(&endpoint, taken_in)).is_ok() {
                taken_in += 1;
            }
        }
        assert!(of_merchant(&board) <= places.kept_unproven_of_merchant.bytes + LONG);
        assert_eq!(
            of_merchant(&board) > 0,
            merchant <= 4,
            "four merchants fill the half for unproven endpoints"
        );
    }
    assert!(board.kept.in_all.bytes <= places.kept_unproven.bytes + LONG);
    let going = all_that_may_go(&mut board);
    let fetches = going.iter().filter(|going| board.ended(going, REFUSED, 0).wants_more).count();
    assert!(fetches >= 1, "what found no room is fetched when there is some");
    assert_eq!(going.len() + board.clear().len(), taken_in);
    assert_eq!(board.kept, Kept::default());
}

#[test]
fn what_is_wanted_together_is_bounded_in_bytes_and_finds_room_however_long_it_is() {
    let places = Places { kept_unproven_of_merchant: Amount::new(2_500, 10), ..Places::default() };
    let mut board = Board::with_places(places);
    let (first, second) = (endpoint(1, 1), endpoint(1, 2));
    let ask = |board: &mut Board| {
        let mut waiting =
            [&first, &second].into_iter().map(|endpoint| (endpoint.tenant, endpoint.id.clone()));
        board.wanted(&mut waiting, 1_000).into_iter().map(|wanted| wanted.bytes).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut board), [5, 3]);
    board.take_in_wanted(long(&first, 0)).expect("it was wanted");
    assert_eq!(ask(&mut board), [0; 0]);
    assert!(board.take_in(owed(&second, 0, 0)).is_err());
    board.take_in_wanted(long(&second, 0)).expect("it was wanted together with the first");
    for going in all_that_may_go(&mut board) {
        board.ended(&going, REFUSED, 0);
    }
    assert_eq!(ask(&mut board), [5, 3]);
}

#[test]
fn a_quick_endpoint_with_long_deliveries_that_becomes_slow_gives_up_what_is_too_much() {
    let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
    warm_up(&mut board, &endpoint);
    for number in 0..200 {
        board.take_in_wanted(long(&endpoint, number)).expect("room");
    }
    let going = board.next().expect("it goes");
    let given_up = board.ended(&going, SLOWLY, 0).given_up.len();
    assert_eq!(given_up, 199 - Places::default().kept_unproven_of_merchant.bytes / LONG);
    assert_eq!(board.load().1, 199 - given_up);
}
