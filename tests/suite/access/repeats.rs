//! `Idempotency-Key` under fire: repeats that race each other, and repeats after a crash.

use std::collections::BTreeSet;

use quipu_tests::{Answer, Client, Database, Gateway, draft, on_both_databases, signature::fresh_nonce};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    idempotency::{assert_replayed, create},
    people::text,
};

const AT_ONCE: usize = 20;

on_both_databases!(
    twenty_repeats_at_once_create_one_payment,
    twenty_repeats_of_an_adjustment_adjust_once,
    a_kept_answer_survives_a_crash,
    an_acknowledged_creation_is_never_made_twice_across_crashes,
);

async fn twenty_repeats_at_once_create_one_payment(database: Database) {
    let gateway = Gateway::start(database).await;
    one_payment_for_twenty(&gateway, &[gateway.anonymous()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_repeats_on_two_nodes_create_one_payment() {
    let gateway = Gateway::start(Database::Postgres).await;
    let node = gateway.another_node().await;
    one_payment_for_twenty(&gateway, &[gateway.anonymous(), node.anonymous()]).await;
}

/// Three rounds, because a race is not lost every time.
async fn one_payment_for_twenty(gateway: &Gateway, nodes: &[Client]) {
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10_000).await;
    let key = text(&merchant.issue(&json!({})).await, "key");
    let callers: Vec<_> = nodes.iter().map(|node| node.with_api_key(&key)).collect();
    for round in 1..=3 {
        let draft = draft::steered(draft::withdrawal_ars(100), "hold");
        let key = fresh_nonce();
        let answers = at_once(&callers, &draft, &key).await;
        let (made, others): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        for answer in others {
            answer.refused(409, "IDEMPOTENCY_KEY_IN_USE");
        }
        let bodies: BTreeSet<_> = made.iter().map(|answer| &answer.text).collect();
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        let first = made.iter().filter(|answer| answer.header("Idempotent-Replayed").is_none());
        assert_eq!(first.count(), 1, "one answer is the first");
        for repeat in at_once(&callers, &draft, &key).await {
            assert_replayed(&repeat, made[0]);
        }
        for other in at_once(&callers, &draft::steered(draft::withdrawal_ars(101), "hold"), &key).await {
            other.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
        }
        assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], round);
        assert_eq!(merchant.balance("ARS").await, (10_000 - 100 * round, 100 * round));
    }
    gateway.check();
}

async fn at_once(callers: &[Client], draft: &Value, key: &str) -> Vec<Answer> {
    let mut sending = JoinSet::new();
    for caller in callers.iter().cycle().take(AT_ONCE) {
        let (caller, draft, key) = (caller.clone(), draft.clone(), key.to_owned());
        sending.spawn(async move { create(&caller, &draft, &key).await });
    }
    sending.join_all().await
}

async fn twenty_repeats_of_an_adjustment_adjust_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let body = json!({ "environment": "test", "currency": "ARS", "amount": 7, "reason": "pre-funding" });
    for round in 1..=3 {
        let (mut sending, key) = (JoinSet::new(), fresh_nonce());
        for _ in 0..AT_ONCE {
            let (operator, path) = (gateway.operator(), merchant.operator_path("/adjustments"));
            let (body, key) = (body.clone(), key.clone());
            sending
                .spawn(async move { operator.post_with(&path, &body, &[("Idempotency-Key", &key)]).await });
        }
        let answers = sending.join_all().await;
        let (made, others): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        for answer in others {
            answer.refused(409, "IDEMPOTENCY_KEY_IN_USE");
        }
        let bodies: BTreeSet<_> = made.iter().map(|answer| &answer.text).collect();
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        assert_eq!(merchant.balance("ARS").await, (7 * round, 0));
    }
    gateway.check();
}

async fn a_kept_answer_survives_a_crash(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let key = text(&merchant.issue(&json!({})).await, "key");
    let page = draft::with(draft::deposit_mxn(70), "/type", json!("deposit_pp"));
    let requests =
        [draft::deposit_mxn(70), page, draft::withdrawal_ars(300)].map(|body| (body, fresh_nonce()));
    let mut firsts = Vec::new();
    for (body, idempotency_key) in &requests {
        firsts.push(create(&merchant.api, body, idempotency_key).await);
    }
    assert_eq!(firsts.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 200, 400]);
    gateway.kill();
    gateway.restart().await;
    let caller = gateway.anonymous().with_api_key(&key);
    for ((body, idempotency_key), first) in requests.iter().zip(&firsts) {
        let repeat = create(&caller, body, idempotency_key).await;
        assert_eq!(repeat.header("Idempotent-Replayed"), Some("true"), "{}", repeat.text);
        // The page's address begins with that of the gateway, which took another port; all else is the same.
        let (old, new) = (merchant.api.base_url(), caller.base_url());
        assert_eq!((repeat.status, repeat.text.replace(new, old)), (first.status, first.text.clone()));
    }
}

/// Clients repeat what they got no answer to, as they would: same key, same body, until there is one.
async fn an_acknowledged_creation_is_never_made_twice_across_crashes(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000_000).await;
    let key = text(&merchant.issue(&json!({})).await, "key");
    let requests: Vec<_> =
        (0..40).map(|_| (draft::steered(draft::withdrawal_ars(10), "hold"), fresh_nonce())).collect();
    let mut answered: Vec<Option<Answer>> = vec![None; requests.len()];
    for kill_after in [3, 11, 23] {
        let caller = gateway.anonymous().with_api_key(&key);
        let mut sending = JoinSet::new();
        for (index, (body, idempotency_key)) in requests.iter().enumerate() {
            let (caller, body, key) = (caller.clone(), body.clone(), idempotency_key.clone());
            let bytes = body.to_string().into_bytes();
            sending.spawn(async move {
                let headers = [("Idempotency-Key", key.as_str())];
                let method = reqwest::Method::POST;
                (index, caller.try_send(method, "/api/v1/payments", Some(bytes), &headers).await.ok())
            });
        }
        for _ in 0..kill_after {
            remember(&mut answered, sending.join_next().await.expect("forty were sent").expect("no panic"));
        }
        gateway.kill();
        while let Some(sent) = sending.join_next().await {
            remember(&mut answered, sent.expect("no panic"));
        }
        gateway.restart().await;
    }
    let caller = gateway.anonymous().with_api_key(&key);
    for ((body, idempotency_key), first) in requests.iter().zip(&answered) {
        let last = create(&caller, body, idempotency_key).await;
        last.ok();
        if let Some(first) = first {
            assert_replayed(&last, first);
        }
    }
    assert_eq!(caller.get("/api/v1/payments").await.ok()["total"], requests.len());
    gateway.check();
}

/// Keeps the first answer to each request; a later one must be the same.
#[track_caller]
fn remember(answered: &mut [Option<Answer>], (index, answer): (usize, Option<Answer>)) {
    let Some(answer) = answer else { return };
    assert_eq!(answer.status, 200, "{}", answer.text);
    match &answered[index] {
        Some(first) => assert_replayed(&answer, first),
        None => answered[index] = Some(answer),
    }
}
