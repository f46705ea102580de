//! What becomes of waiting deliveries when their endpoint is changed.

use super::*;

#[test]
fn a_disabled_endpoint_is_left_alone_and_a_moved_one_found_at_its_new_address() {
    let mut board = Board::default();
    let endpoint = endpoint(1, 1);
    fill(&mut board, &endpoint, 0);
    let moved = TargetUrl::restore("https://moved.example/".to_owned());
    let moved = Arc::new(Endpoint { url: moved, ..Endpoint::clone(&endpoint) });
    board.changed(&moved);
    // A claim that began before the change may still bring the former address.
    assert!(board.next().is_none());
    for id in board.stale() {
        assert!(board.was_read(&id, Some(&moved)).is_empty());
    }
    assert_eq!(board.next().expect("it goes").owed.endpoint.url, moved.url);
    let mut disabled = Endpoint::clone(&moved);
    disabled.disable(None, NOON);
    board.changed(&Arc::new(disabled));
    assert!(board.next().is_none());
    assert_eq!(board.load(), (1, 0));
}

#[test]
fn what_another_node_has_changed_waits_until_it_was_read_and_then_follows() {
    let (mut board, before) = (Board::default(), endpoint(1, 1));
    fill(&mut board, &before, 0);
    let first = board.next().expect("it goes");
    board.changed_elsewhere(before.id.clone());
    assert!(board.next().is_none());
    assert_eq!(board.stale(), std::slice::from_ref(&before.id));
    assert!(board.next().is_none(), "it is only being read");
    let moved = TargetUrl::restore("https://elsewhere.example/".to_owned());
    let after = Arc::new(Endpoint { url: moved, ..Endpoint::clone(&before) });
    assert!(board.was_read(&before.id, Some(&after)).is_empty());
    assert_eq!(board.next().expect("it goes").owed.endpoint.url, after.url);
    board.ended(&first, QUICKLY, 0);
    board.any_changed_elsewhere();
    let (_, waiting) = board.load();
    let mut disabled = Endpoint::clone(&after);
    disabled.disable(None, NOON);
    assert_eq!(board.stale(), std::slice::from_ref(&before.id));
    assert_eq!(board.was_read(&before.id, Some(&Arc::new(disabled))).len(), waiting);
    assert!(board.next().is_none());
    assert_eq!(board.load(), (1, 0));
}

#[test]
fn an_endpoint_that_is_known_no_more_is_sent_nothing() {
    let (mut board, endpoint) = (Board::default(), endpoint(1, 1));
    let filled = fill(&mut board, &endpoint, 0);
    board.any_changed_elsewhere();
    assert_eq!(board.stale().len(), 1);
    assert_eq!(board.was_read(&endpoint.id, None).len(), filled);
    assert!(board.next().is_none());
}

/// A batch that read the endpoint before the change hands over after it.
#[test]
fn what_comes_as_it_was_before_a_change_waits_until_its_endpoint_was_read() {
    let (mut board, before) = (Board::default(), endpoint(1, 1));
    let moved = TargetUrl::restore("https://moved.example/".to_owned());
    let after = Arc::new(Endpoint { url: moved, ..Endpoint::clone(&before) });
    board.changed(&after);
    assert_eq!(board.stale(), std::slice::from_ref(&before.id));
    assert!(board.was_read(&before.id, Some(&after)).is_empty());
    board.take_in(owed(&after, 0, 0)).expect("room");
    assert!(!board.has_stale(), "that is how it is");
    assert_eq!(board.next().expect("it goes").owed.endpoint.url, after.url);

    board.take_in(owed(&before, 1, 0)).expect("room");
    assert!(board.has_stale() && board.next().is_none());
    assert_eq!(board.stale(), std::slice::from_ref(&before.id));
    assert!(board.was_read(&before.id, Some(&after)).is_empty());
    assert_eq!(board.next().expect("it goes").owed.endpoint.url, after.url);
}

#[test]
fn what_comes_for_an_endpoint_that_was_just_disabled_is_released() {
    for is_here in [true, false] {
        let (mut board, before) = (Board::default(), endpoint(1, 1));
        let mut disabled = Endpoint::clone(&before);
        disabled.disable(None, NOON);
        let disabled = Arc::new(disabled);
        if is_here {
            board.changed(&disabled);
        } else {
            board.changed_elsewhere(before.id.clone());
        }
        for id in board.stale() {
            assert!(board.was_read(&id, Some(&disabled)).is_empty());
        }
        board.take_in(owed(&before, 0, 0)).expect("room");
        assert!(board.next().is_none());
        assert_eq!(board.stale(), std::slice::from_ref(&before.id));
        assert_eq!(board.was_read(&before.id, Some(&disabled)).len(), 1);
        assert_eq!(board.load(), (0, 0));
    }
}

#[test]
fn a_change_of_long_ago_contradicts_nothing() {
    let (mut board, before) = (Board::default(), endpoint(1, 1));
    let moved = TargetUrl::restore("https://moved.example/".to_owned());
    let after = Arc::new(Endpoint { url: moved, ..Endpoint::clone(&before) });
    board.changed(&after);
    for id in board.stale() {
        board.was_read(&id, Some(&after));
    }
    board.forget_old(NOON);
    board.forget_old(NOON.plus(Duration::from_mins(1)));
    board.take_in(owed(&before, 0, 0)).expect("room");
    assert!(!board.has_stale());
}
