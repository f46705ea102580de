//! The dispatcher over a queue in memory and receivers that only pretend, in virtual time.

mod world;

use std::{
    cell::Cell,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use quipu_kernel::{Clock as _, Environment, MerchantId, Tenant};
use quipu_webhooks::{Deliverer as _, DeliveryStatus, Endpoint, EndpointId, Owed, TargetUrl};

use crate::world::{TIRED_AFTER, World};

#[tokio::test(start_paused = true)]
async fn what_is_handed_over_arrives_and_outcomes_share_commits() {
    let world = World::new();
    let endpoint = World::endpoint("healthy");
    world.hand_over(&endpoint, 0..1_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
    assert_eq!(world.receivers.seen.lock().expect("no panic").len(), 1_000, "each was sent once");
    assert!(world.queue.commits.load(Ordering::Relaxed) < 500);
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_hang_drip_and_fail_delay_no_healthy_one() {
    let every = Duration::from_millis(10);
    let mut p99 = Vec::new();
    for others in [&[][..], &["hangs", "drips", "fails"]] {
        let world = World::new();
        for name in others {
            world.hand_over(&World::endpoint(name), 0..1_500);
        }
        let healthy = World::endpoint("healthy");
        let since = world.clock.now();
        for number in 0..1_000 {
            world.hand_over(&healthy, number..number + 1);
            tokio::time::sleep(every).await;
        }
        world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
        let delays = world.delays("healthy", since, every);
        p99.push(delays[delays.len() * 99 / 100]);
    }
    assert!(p99[1] <= 2 * p99[0] + 10, "{p99:?}");
}

#[tokio::test(start_paused = true)]
async fn a_merchant_with_many_dead_endpoints_delays_no_other() {
    let world = World::new();
    for number in 0..320 {
        let id = EndpointId::restore(format!("dead-{number:03}"));
        let dead = Endpoint { id, ..Endpoint::clone(&World::endpoint("hangs")) };
        world.hand_over(&Arc::new(dead), 0..64);
    }
    let tenant = Tenant::new(MerchantId(2), Environment::Test);
    let healthy = Arc::new(Endpoint { tenant, ..Endpoint::clone(&World::endpoint("healthy")) });
    let (every, since) = (Duration::from_millis(10), world.clock.now());
    for number in 0..1_000 {
        world.hand_over(&healthy, number..number + 1);
        tokio::time::sleep(every).await;
    }
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
    let longest = world.delays("healthy", since, every).pop().expect("some");
    assert!(longest <= 20, "{longest} ms");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_breaks_connections_late_gets_few_of_them() {
    let world = World::new();
    let endpoint = World::endpoint("tires");
    for number in 0..10 {
        world.hand_over(&endpoint, number * 200..(number + 1) * 200);
        tokio::time::sleep(TIRED_AFTER / 9).await;
    }
    let attempts = || world.receivers.seen.lock().expect("no panic").len();
    assert!(attempts() > 1_000, "it answered at first");
    tokio::time::sleep(Duration::from_secs(30)).await;
    let before = attempts();
    tokio::time::sleep(Duration::from_secs(28)).await;
    assert_eq!(attempts() - before, 2 * 8);
}

#[tokio::test(start_paused = true)]
async fn waiting_behind_a_probe_uses_no_attempt() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..5_000);
    tokio::time::sleep(Duration::from_mins(3)).await;
    let queue = world.stop().await;
    let rows = queue.rows.lock().expect("no panic");
    let attempts: usize = rows.values().map(|row| row.owed.attempts.len()).sum();
    // Eight at first, then one after the other, each for fifteen seconds.
    assert!((15..=25).contains(&attempts), "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_secret_that_cannot_be_read_uses_no_attempt() {
    let world = World::new();
    world.receivers.has_no_secrets.store(true, Ordering::Relaxed);
    world.hand_over(&World::endpoint("unsigned"), 0..20);
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(world.queue.count(DeliveryStatus::Pending), 20);
    let releases = world.queue.released.lock().expect("no panic").len();
    assert!((2..=20 * 5 * 60).contains(&releases), "{releases} releases in five minutes");
    world.receivers.has_no_secrets.store(false, Ordering::Relaxed);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 20).await;
    let rows = world.queue.rows.lock().expect("no panic");
    assert!(rows.values().all(|row| row.owed.attempts.len() == 1));
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_again_by_the_schedule_and_then_given_up() {
    let world = World::new();
    world.hand_over(&World::endpoint("fails"), 0..1);
    tokio::time::sleep(Duration::from_hours(100)).await;
    assert_eq!(world.queue.count(DeliveryStatus::Failed), 1);
    let seen = world.receivers.seen.lock().expect("no panic");
    let gaps: Vec<_> = seen.windows(2).map(|pair| pair[1].1.since(pair[0].1).as_secs()).collect();
    // The test's randomness gives the shortest gaps, four fifths of the schedule's.
    let expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(|gap| gap * 4 / 5);
    assert_eq!(gaps.len(), expected.len());
    for (gap, expected) in gaps.iter().zip(expected) {
        assert!(gap.abs_diff(expected) <= 1, "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_for_a_while_learns_every_outcome_in_the_end() {
    let world = World::new();
    world.queue.refusals_left.store(5, Ordering::Relaxed);
    world.hand_over(&World::endpoint("healthy"), 0..50);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 50).await;
    assert_eq!(
        world.queue.refusals_left.load(Ordering::Relaxed),
        0,
        "the store refused as often as it was told to"
    );
}

#[tokio::test(start_paused = true)]
async fn more_than_finds_room_is_fetched_later() {
    let world = World::new();
    let endpoint = World::endpoint("healthy");
    for number in 0..6_000 {
        world.queue.add(&world.owed(&endpoint, number), false);
    }
    world.dispatcher.look();
    world.hand_over(&endpoint, 6_000..8_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 8_000).await;
    assert_eq!(world.receivers.seen.lock().expect("no panic").len(), 8_000);
}

#[tokio::test(start_paused = true)]
async fn what_is_due_is_sent_however_many_endpoints_wait_for_later() {
    let world = World::new();
    world.queue.idle_parts.store(100_000, Ordering::Relaxed);
    world.queue.add(&world.owed(&World::endpoint("healthy"), 0), false);
    let since = world.clock.now();
    world.dispatcher.look();
    world.until("delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1).await;
    assert!(world.clock.now().since(since) < Duration::from_secs(3));
    tokio::time::sleep(Duration::from_mins(1)).await;
    let walked = 100_000 - world.queue.idle_parts.load(Ordering::Relaxed);
    assert!(
        (20..100).contains(&walked),
        "{walked} parts in a minute: one in each look, as nothing else is due"
    );
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_cannot_be_claimed_keep_no_other_from_being_sent_to() {
    for (name, count, due) in
        [("a", 1, 1), ("a", 1, 1_200), ("z", 1, 1_200), ("a", 20, 3), ("z", 20, 3), ("a", 20, 100)]
    {
        let world = World::new();
        for place in 0..count {
            let locked = World::endpoint(&format!("{name}-{place:02}"));
            world.queue.unclaimable.lock().expect("no panic").push(locked.id.clone());
            for number in 0..due {
                world.queue.add(&world.owed(&locked, place * 10_000 + number), false);
            }
        }
        world.queue.add(&world.owed(&World::endpoint("healthy"), 999_999), false);
        let since = world.clock.now();
        world.dispatcher.look();
        world.until("delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1).await;
        let took = world.clock.now().since(since);
        assert!(took < Duration::from_mins(2), "{took:?} beside {count} endpoints of {due} each at {name}");
        // Once it is known which they are, they come last.
        let fresh = world.clock.now();
        world.queue.add(&world.owed(&World::endpoint("healthy"), 1_000_000), false);
        world.until("delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 2).await;
        let took = world.clock.now().since(fresh);
        assert!(took < Duration::from_secs(30), "{took:?} beside {count} endpoints of {due} each at {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_node_left_is_sent_as_soon_as_that_is_said() {
    let world = World::new();
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.queue.add(&world.owed(&World::endpoint("healthy"), 0), true);
    world.queue.holder_is_dead.store(true, Ordering::Relaxed);
    let since = world.clock.now();
    world.dispatcher.look();
    world.until("delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1).await;
    assert!(world.clock.now().since(since) < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn what_is_claimed_and_not_here_is_released_and_sent() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..100);
    // As after a failover that lost what this node recorded last.
    world.queue.add(&world.owed(&World::endpoint("healthy"), 0), true);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(world.queue.count(DeliveryStatus::Delivered), 0, "it may be on its way here");
    world.until("delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1).await;
    // The queue refuses outcomes of deliveries that were released while they were attempted, which ends the dispatcher.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(!world.running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn at_the_end_attempts_are_recorded_and_the_rest_is_given_back() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..60);
    world.hand_over(&World::endpoint("healthy"), 0..60);
    world.until("some under way", |world| !world.receivers.seen.lock().expect("no panic").is_empty()).await;
    let queue = world.stop().await;
    assert_eq!(queue.held(), 0);
    let attempted =
        queue.rows.lock().expect("no panic").values().filter(|row| !row.owed.attempts.is_empty()).count();
    assert!(attempted >= 16, "{attempted}");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_end_does_not_keep_the_dispatcher_from_ending() {
    let world = World::new();
    world.hand_over(&World::endpoint("endless"), 0..1);
    world.hand_over(&World::endpoint("hangs"), 0..8);
    let attempts = |world: &World| world.receivers.seen.lock().expect("no panic").len();
    world.until("all under way", |world| attempts(world) == 9).await;
    let begun = tokio::time::Instant::now();
    let queue = world.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    let rows = queue.rows.lock().expect("no panic");
    let recorded = rows.values().filter(|row| !row.owed.attempts.is_empty()).count();
    let held = rows.values().filter(|row| row.held).count();
    assert_eq!((recorded, held), (8, 1), "the claim of the abandoned one ends with its node");
}

#[tokio::test(start_paused = true)]
async fn what_finds_no_room_is_given_back_in_small_portions() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..2_564);
    world.until("what has room is kept", |world| world.queue.held() == 64).await;
    assert_eq!(*world.queue.released.lock().expect("no panic"), [1_000, 1_000, 500]);
}

#[tokio::test(start_paused = true)]
async fn what_was_released_without_anybodys_knowledge_is_not_released_again_once_it_is_claimed() {
    let world = World::new();
    world.queue.releases_are_doubtful.store(true, Ordering::Relaxed);
    // A part of it finds no room, and is claimed when the first answers have come. It would be released once
    // more while it is being sent.
    world.hand_over(&World::endpoint("lags"), 0..100);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 100).await;
    assert_eq!(world.receivers.seen.lock().expect("no panic").len(), 100, "each was sent once");
}

#[tokio::test(start_paused = true)]
async fn what_another_node_has_disabled_or_moved_is_not_sent_where_it_was() {
    let world = World::new();
    let (disabled, moved) = (World::endpoint("hangs"), World::endpoint("drips"));
    for endpoint in [&disabled, &moved] {
        world.hand_over(endpoint, 0..60);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let elsewhere = {
        let mut elsewhere = Endpoint::clone(&disabled);
        elsewhere.disable(None, world.clock.now());
        let url = TargetUrl::restore("https://moved.test".to_owned());
        vec![elsewhere, Endpoint { url, ..Endpoint::clone(&moved) }]
    };
    *world.queue.endpoints.lock().expect("no panic") = elsewhere;
    let named = [&disabled, &moved].map(|endpoint| endpoint.id.clone());
    world.dispatcher.changed_elsewhere(Some(named.to_vec()));
    world.until("all moved", |world| world.queue.count(DeliveryStatus::Delivered) == 52).await;
    let seen = world.receivers.seen.lock().expect("no panic");
    let sent = |name: &str| seen.iter().filter(|(url, _)| *url == format!("https://{name}.test")).count();
    assert_eq!((sent("hangs"), sent("drips"), sent("moved")), (8, 8, 52));
}

#[tokio::test(start_paused = true)]
async fn a_round_that_takes_long_delays_neither_what_is_due_nor_what_was_changed() {
    let world = World::new();
    world.queue.disables_for_ever.store(true, Ordering::Relaxed);
    let endpoint = World::endpoint("healthy");
    tokio::time::sleep(Duration::from_mins(6)).await;
    assert_eq!(world.queue.disabling.load(Ordering::Relaxed), 1, "a round hangs");
    world.queue.add(&world.owed(&endpoint, 0), false);
    world.until("what was due is delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1).await;
    let url = TargetUrl::restore("https://moved.test".to_owned());
    let moved = Endpoint { url, ..Endpoint::clone(&endpoint) };
    world.queue.endpoints.lock().expect("no panic").push(moved.clone());
    world.dispatcher.endpoint_changed(&moved);
    world.hand_over(&Arc::new(moved), 1..2);
    world
        .until("what was moved is delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 2)
        .await;
    world.stop().await;
}

/// Otherwise an outage of our own would disable endpoints whose receivers are well.
#[tokio::test(start_paused = true)]
async fn what_is_due_is_attempted_for_five_minutes_before_an_endpoint_is_disabled() {
    let world = World::new();
    let disabling = || world.queue.disabling.swap(0, Ordering::Relaxed);
    let minutes = |minutes| tokio::time::sleep(Duration::from_mins(minutes));
    minutes(4).await;
    assert_eq!(disabling(), 0, "the gateway has just begun");
    minutes(2).await;
    assert!(disabling() > 0);
    world.queue.is_away.store(true, Ordering::Relaxed);
    minutes(10).await;
    world.queue.is_away.store(false, Ordering::Relaxed);
    let _until_then = disabling();
    minutes(4).await;
    assert_eq!(disabling(), 0, "the database is back since four minutes");
    minutes(2).await;
    assert!(disabling() > 0);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_merchant_whose_rows_are_locked_delays_nobody_elses_outcomes() {
    let world = World::new();
    let (locked, healthy) = (World::endpoint("locked"), World::endpoint("healthy"));
    let others = Tenant::new(MerchantId(2), Environment::Test);
    let healthy = Arc::new(Endpoint { tenant: others, ..Endpoint::clone(&healthy) });
    *world.queue.locked.lock().expect("no panic") = Some(locked.tenant.merchant());
    world.hand_over(&locked, 0..6_000);
    tokio::time::sleep(Duration::from_secs(10)).await;
    world.hand_over(&healthy, 0..1_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_gives_nothing_is_not_asked_for_every_endpoint() {
    let world = World::new();
    world.queue.gives_nothing.store(true, Ordering::Relaxed);
    for number in 0..50 {
        let endpoint = World::endpoint(&format!("endpoint-{number:02}"));
        world.queue.add(&world.owed(&endpoint, number), false);
    }
    world.dispatcher.look();
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Twice a second, by time and in the walk: for all together, and for three by themselves.
    let asked = world.queue.refused_claims.load(Ordering::Relaxed);
    assert!((4..=100).contains(&asked), "{asked}");
    world.queue.gives_nothing.store(false, Ordering::Relaxed);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 50).await;
}

#[tokio::test(start_paused = true)]
async fn a_part_that_panics_ends_the_dispatcher_so_that_it_is_noticed() {
    let World { queue, dispatcher, running, stop, .. } = World::new();
    queue.is_broken.store(true, Ordering::Relaxed);
    dispatcher.look();
    running.await.expect("it ends by itself");
    assert!(stop.is_some(), "nobody told it to stop");
}

#[tokio::test(start_paused = true)]
async fn long_deliveries_are_fetched_a_few_at_a_time_and_all_arrive() {
    const LONG: usize = 256 * 1024;
    let (world, each) = (World::new(), 60);
    let payload: Arc<str> = "x".repeat(LONG).into();
    for number in 0..50 {
        let id = EndpointId::restore(format!("endpoint-{number:02}"));
        let endpoint = Arc::new(Endpoint { id, ..Endpoint::clone(&World::endpoint("healthy")) });
        for number in 0..each {
            world.queue.add(&Owed { payload: Arc::clone(&payload), ..world.owed(&endpoint, number) }, false);
        }
    }
    let most_held = Cell::new(0);
    let arrival = world.until("all delivered", |world| {
        most_held.set(most_held.get().max(world.queue.held() * LONG));
        world.queue.count(DeliveryStatus::Delivered) == 50 * each
    });
    arrival.await;
    let most_held = most_held.get();
    assert!(most_held > 0 && most_held <= 80 * 1024 * 1024, "{most_held} bytes");
}
