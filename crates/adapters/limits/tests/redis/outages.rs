//! Redis is killed, stands still or loses its data, and no subject gets more than its limit for it.

use std::time::{Duration, Instant};

use quipu_limits::RedisLimiter;
use quipu_merchants::RateLimiter;
use tokio::time::interval;

use crate::{
    DEADLINE, PATIENT, budget, connect, join, join_all, new_subject, private::PrivateRedis, take_many,
    until_shared,
};

/// So hasty that a Redis that stands still is missed soon.
const HASTY: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_redis_is_replaced_by_local_shares_until_it_is_back() {
    let redis = PrivateRedis::start_in_use().await;
    // Two nodes are what is assumed, and what is there once they have been counted.
    let [_other, limiter] = join_all(&redis.url(), PATIENT).await;
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 4).await, 4);

    let port = redis.kill();
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 1, "half of ten, and four were taken");
    assert!(limiter.probe().await.is_err());

    let _redis = PrivateRedis::start_on(port);
    until_shared(&limiter).await;
    // The new Redis has no memory, but the node has one and told it: five of its ten are taken.
    let verdict = limiter.take(budget, &subject).await;
    assert!(verdict.allowed && verdict.is_judged && verdict.remaining == 4, "{verdict:?}");
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 4);
    let verdict = limiter.take(budget, &subject).await;
    assert!(!verdict.allowed && verdict.retry_after_seconds > 0, "{verdict:?}");
    assert_eq!(take_many(&limiter, budget, &new_subject(), 50).await, 10, "others have all of theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_fall_back_to_a_share_each_and_share_again_when_redis_is_back() {
    let redis = PrivateRedis::start_in_use().await;
    let nodes: [_; 3] = join_all(&redis.url(), PATIENT).await;
    redis.until_counted(3).await;
    let port = redis.kill();
    let (budget, subject) = (budget(12, 3600), new_subject());
    assert_eq!(take_many(&nodes[2], budget, &subject, 50).await, 4, "a third");

    let _redis = PrivateRedis::start_on(port);
    until_shared(&nodes[0]).await;
    until_shared(&nodes[1]).await;
    assert_eq!(take_many(&nodes[0], budget, &subject, 50).await, 8, "four were taken without Redis");
    assert_eq!(take_many(&nodes[1], budget, &subject, 50).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_comes_back_empty_is_told_what_every_node_allowed() {
    let redis = PrivateRedis::start_in_use().await;
    let nodes: [_; 2] = join_all(&redis.url(), PATIENT).await;
    redis.until_counted(2).await;
    let (budget, [even, odd]) = (budget(60, 3600), [new_subject(), new_subject()]);
    for _ in 0..30 {
        assert_eq!(take_many(&nodes[0], budget, &even, 1).await, 1);
        assert_eq!(take_many(&nodes[1], budget, &even, 1).await, 1);
    }
    assert_eq!(take_many(&nodes[0], budget, &odd, 70).await, 60);

    let port = redis.kill();
    // Nobody asks while it is away, but each node finds out.
    for node in &nodes {
        until_away(node).await;
    }
    let redis = PrivateRedis::start_on(port);
    for node in &nodes {
        until_shared(node).await;
    }
    for node in &nodes {
        assert_eq!(take_many(node, budget, &even, 70).await, 0);
        assert_eq!(take_many(node, budget, &odd, 70).await, 0);
    }

    // The same while the connections live.
    redis.flush().await;
    // Each notices by itself, perhaps before anybody looks; afterwards both are known there again.
    redis.until_known(2).await;
    for node in &nodes {
        until_shared(node).await;
        assert_eq!(take_many(node, budget, &even, 70).await, 0);
    }
    assert_eq!(take_many(&nodes[1], budget, &odd, 70).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_comes_back_with_an_old_state_is_told_all() {
    let redis = PrivateRedis::start_in_use().await;
    let [one, other] = join_all(&redis.url(), PATIENT).await;
    let (budget, subject) = (budget(60, 3600), new_subject());
    assert_eq!(take_many(&one, budget, &subject, 20).await, 20);
    redis.save().await;
    assert_eq!(take_many(&one, budget, &subject, 30).await, 30);
    let port = redis.kill();
    until_away(&one).await;
    until_away(&other).await;
    let _redis = PrivateRedis::start_on(port);
    until_shared(&other).await;
    let verdict = other.take(budget, &subject).await;
    assert!(verdict.allowed && verdict.remaining == 9, "neither forgotten nor counted twice: {verdict:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_stood_still_lets_neither_old_nodes_nor_a_new_one_exceed_the_limit() {
    let redis = PrivateRedis::start_in_use().await;
    let nodes: [_; 2] = join_all(&redis.url(), HASTY).await;
    redis.until_counted(2).await;
    let (budget, [even, odd]) = (budget(60, 3600), [new_subject(), new_subject()]);
    let mut allowed = [0, 0];
    for node in &nodes {
        allowed[0] += take_many(node, budget, &even, 1).await;
    }
    redis.signal("-STOP");
    for node in &nodes {
        allowed[0] += take_many(node, budget, &even, 70).await;
    }
    allowed[1] += take_many(&nodes[0], budget, &odd, 70).await;
    assert_eq!(allowed, [60, 30], "a half on each");

    redis.signal("-CONT");
    // All ask all the time, while each comes back when it does.
    let mut nodes = nodes.to_vec();
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    let mut are_shared = false;
    while !are_shared {
        for node in &nodes {
            allowed[0] += take_many(node, budget, &even, 3).await;
            allowed[1] += take_many(node, budget, &odd, 3).await;
        }
        if nodes.len() < 3 {
            nodes.push(connect(&redis.url(), HASTY).await);
        }
        are_shared = true;
        for node in &nodes {
            are_shared &= node.probe().await.is_ok();
        }
        assert!(Instant::now() < deadline, "Redis is not found again");
        looks.tick().await;
    }
    for node in &nodes {
        allowed[0] += take_many(node, budget, &even, 70).await;
        allowed[1] += take_many(node, budget, &odd, 70).await;
    }
    // What Redis was asked while it stood still, it counts too when it goes on.
    assert!(allowed[0] == 60 && (55..=60).contains(&allowed[1]), "{allowed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_when_redis_has_lost_its_data_waits_for_what_others_allowed() {
    let redis = PrivateRedis::start_in_use().await;
    let old = join(&redis.url(), PATIENT).await;
    let (budget, subject) = (budget(60, 3600), new_subject());
    assert_eq!(take_many(&old, budget, &subject, 70).await, 60);
    redis.flush().await;
    let new = connect(&redis.url(), PATIENT).await;
    assert_eq!(take_many(&new, budget, &subject, 70).await, 0);
    let other = new_subject();
    until_shared(&new).await;
    until_shared(&old).await;
    assert_eq!(take_many(&new, budget, &other, 70).await, 60);
    assert_eq!(take_many(&old, budget, &other, 70).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_flushed_gives_nobody_a_share_of_what_others_used() {
    let redis = PrivateRedis::start_in_use().await;
    let nodes: [_; 2] = join_all(&redis.url(), PATIENT).await;
    redis.until_heard(2).await;
    let (budget, [used, fresh]) = (budget(60, 3600), [new_subject(), new_subject()]);
    assert_eq!(take_many(&nodes[0], budget, &used, 70).await, 60);

    redis.flush().await;
    let verdict = nodes[1].take(budget, &used).await;
    assert!(!verdict.allowed && verdict.limit == 60 && verdict.remaining == 0, "{verdict:?}");
    // Once the other node has told what it allowed, the window itself says when there is room again.
    assert!(matches!(verdict.retry_after_seconds, 1 | 3_500..=3_601), "{verdict:?}");
    let mut allowed = 0;
    until(async || {
        assert_eq!(take_many(&nodes[1], budget, &used, 3).await, 0);
        allowed += take_many(&nodes[1], budget, &fresh, 1).await;
        allowed > 0
    })
    .await;
    for node in &nodes {
        until_shared(node).await;
        assert_eq!(take_many(node, budget, &used, 70).await, 0);
        allowed += take_many(node, budget, &fresh, 70).await;
    }
    assert_eq!(allowed, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_alone_goes_on_when_redis_is_flushed() {
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
    redis.until_heard(1).await;
    let (budget, subject) = (budget(60, 3600), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 20).await, 20);
    redis.flush().await;
    assert_eq!(take_many(&limiter, budget, &subject, 70).await, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_was_started_again_is_used_once_the_nodes_that_were_there_have_told() {
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
    redis.announce("another").await;
    redis.until_heard(1).await;
    let port = redis.kill();
    until_away(&limiter).await;
    let budget = budget(60, 3600);
    assert!(limiter.take(budget, &new_subject()).await.allowed, "a share while it is away");

    let redis = PrivateRedis::start_on(port);
    until(async || !limiter.take(budget, &new_subject()).await.allowed).await;
    assert!(limiter.probe().await.is_err());
    redis.tell("another").await;
    until(async || limiter.take(budget, &new_subject()).await.allowed).await;
    until_shared(&limiter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_died_with_the_memory_is_not_waited_for_for_ever() {
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
    redis.announce("another").await;
    redis.until_heard(1).await;
    redis.flush().await;
    let budget = budget(60, 3600);
    let verdict = limiter.take(budget, &new_subject()).await;
    assert!(!verdict.allowed && !verdict.is_judged, "{verdict:?}");
    until(async || limiter.take(budget, &new_subject()).await.allowed).await;
    until_shared(&limiter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_holds_nobody_up() {
    let redis = PrivateRedis::start_in_use().await;
    let limiter = connect(&redis.url(), RedisLimiter::PATIENCE).await;
    until_shared(&limiter).await;
    redis.signal("-STOP");
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert!(take_many(&limiter, budget, &subject, 50).await <= 10);
    assert!(limiter.probe().await.is_err());
    redis.signal("-CONT");
    until_shared(&limiter).await;
}

#[tokio::test]
async fn a_redis_that_was_never_there_is_no_reason_to_refuse() {
    let gone = PrivateRedis::start().kill();
    let limiter = connect(&format!("redis://127.0.0.1:{gone}/"), PATIENT).await;
    assert!(limiter.probe().await.is_err());
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 5, "half, as if there were another node");
}

async fn until_away(limiter: &RedisLimiter) {
    until(async || limiter.probe().await.is_err()).await;
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    while !is_so().await {
        assert!(Instant::now() < deadline, "it does not come");
        looks.tick().await;
    }
}
