//! What a disabled endpoint is owed, and what becomes of what was under way.

use quipu_webhooks::{DeliveryStatus, ENDPOINT_DISABLED, EndpointChange, LoggedEvent, RetrySelection};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, logged, opened, record, tell, tell_many},
    fixture::{Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    what_is_owed_to_a_disabled_endpoint_has_failed,
    disabling_fails_nothing_that_happens_once_it_is_enabled_again,
    an_attempt_that_was_under_way_when_its_endpoint_was_disabled_is_kept,
}

mod databases {
    use super::disabling_fails_nothing_that_is_tried_again_once_it_is_enabled;

    crate::fixture::on_both_databases! {
        disabling_fails_nothing_that_is_tried_again_once_it_is_enabled,
    }
}

async fn what_is_owed_to_a_disabled_endpoint_has_failed(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in 1..=4 {
        tell(&store, HEARD, at).await;
    }
    assert_eq!(claim(&store, &hears, 10, 2).await.len(), 2);
    store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11)).await.expect("disabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 4, 4]);
    let failed = logged(&store, &hears, Some(DeliveryStatus::Failed)).await;
    assert!(failed.iter().all(|event| event.error.as_deref() == Some(ENDPOINT_DISABLED)));
    tell(&store, HEARD, 13).await;
    store.change(tenant(1), &hears.id, EndpointChange::Enable, after(14)).await.expect("enabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 4, 4], "nothing is owed of that time");
    let all = store.retry(tenant(1), &hears.id, RetrySelection::default(), after(15)).await.expect("retried");
    assert_eq!((all, claim(&store, &hears, 20, 10).await.len()), (4, 4));
    assert!(logged(&store, &hears, None).await.iter().all(|event| event.error.is_none()));
}

async fn disabling_fails_nothing_that_happens_once_it_is_enabled_again(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_many(&store).await;
    let disable = store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11));
    let enable_and_tell = async {
        let stands = async || store.endpoint(tenant(1), &hears.id).await.expect("read").expect("there");
        while stands().await.is_enabled() {
            tokio::task::yield_now().await;
        }
        store.change(tenant(1), &hears.id, EndpointChange::Enable, after(12)).await.expect("enabled");
        tell(&store, HEARD, 13).await
    };
    let (disabled, later) = tokio::join!(biased; disable, enable_and_tell);
    disabled.expect("disabled");
    let owed = claim(&store, &hears, 20, 10).await;
    assert_eq!(owed.iter().map(|owed| &owed.event_id).collect::<Vec<_>>(), [&later]);
}

/// Somebody enables the endpoint in the moment in which it is disabled, and tries some deliveries again.
async fn disabling_fails_nothing_that_is_tried_again_once_it_is_enabled(fixture: Fixture) {
    let enabled_again = if fixture.is_server() {
        "CREATE FUNCTION enabled_again () RETURNS TRIGGER LANGUAGE plpgsql AS
            $$ BEGIN NEW.enabled := true; RETURN NEW; END $$;
         CREATE TRIGGER enabled_again BEFORE UPDATE ON webhook_endpoints
            FOR EACH ROW EXECUTE FUNCTION enabled_again ()"
    } else {
        "CREATE TRIGGER enabled_again AFTER UPDATE ON webhook_endpoints WHEN NOT NEW.enabled
            BEGIN UPDATE webhook_endpoints SET enabled = 1 WHERE id = NEW.id; END"
    };
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    let mut told = Vec::new();
    for at in 1..=6 {
        told.push(tell(&store, HEARD, at).await);
    }
    assert_eq!(claim(&store, &hears, 10, 3).await.len(), 3);
    fixture.sql(enabled_again).await.expect("made");
    // Of three in hand and of three that wait, one is new, one begins another round, and one was attempted already.
    let again = format!("event_id IN ('{}', '{}')", told[1], told[4]);
    fixture.sql(&format!("UPDATE deliveries SET due_at = due_at + 60000 WHERE {again}")).await.expect("set");
    let attempted = format!("event_id IN ('{}', '{}')", told[2], told[5]);
    let attempted = format!("UPDATE deliveries SET due_at = due_at + 60000, step = 1 WHERE {attempted}");
    fixture.sql(&attempted).await.expect("set");
    store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11)).await.expect("disabled");
    let pending = logged(&store, &hears, Some(DeliveryStatus::Pending)).await;
    assert_eq!(pending.iter().map(|event| &event.id).collect::<Vec<_>>(), [&told[4], &told[1]]);
}

async fn an_attempt_that_was_under_way_when_its_endpoint_was_disabled_is_kept(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in 1..=4 {
        tell(&store, HEARD, at).await;
    }
    let held = claim(&store, &hears, 10, 3).await;
    store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11)).await.expect("disabled");
    record(&store, &held[..1], 200, 12).await;
    record(&store, &held[1..2], 500, 12).await;
    assert_eq!(counts(&store, &hears).await, [0, 1, 3, 4]);
    let standing = |event: &LoggedEvent| {
        let statuses: Vec<_> = event.attempts.iter().filter_map(|attempt| attempt.http_status).collect();
        (event.status, event.error.clone(), statuses)
    };
    let log = logged(&store, &hears, None).await;
    let disabled = Some(ENDPOINT_DISABLED.to_owned());
    assert_eq!(standing(&log[3]), (DeliveryStatus::Delivered, None, vec![200]));
    assert_eq!(standing(&log[2]), (DeliveryStatus::Failed, disabled.clone(), vec![500]));
    assert_eq!(standing(&log[0]), (DeliveryStatus::Failed, disabled, vec![]));

    // A round that somebody has begun meanwhile is another one, though the same node has it in hand.
    store.change(tenant(1), &hears.id, EndpointChange::Enable, after(14)).await.expect("enabled");
    store.retry(tenant(1), &hears.id, RetrySelection::default(), after(15)).await.expect("retried");
    let again = claim(&store, &hears, 20, 10).await;
    assert_eq!(again.len(), 3);
    record(&store, &held[2..], 500, 21).await;
    assert_eq!(counts(&store, &hears).await, [3, 1, 0, 4]);
    record(&store, &again, 200, 22).await;
    assert_eq!(counts(&store, &hears).await, [0, 4, 0, 4]);
}
