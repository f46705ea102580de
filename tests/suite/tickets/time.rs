//! What happens by itself.

use quipu_tests::{Database, Setup, eventually, on_both_databases};
use serde_json::json;

use super::desk::{PIXEL, path, plain, put, sent, ticket_in, upload_url};

on_both_databases!(
    a_resolved_ticket_closes_by_itself,
    activity_puts_the_closing_off,
    an_upload_that_nobody_uses_is_deleted,
);

async fn status(merchant: &quipu_tests::Merchant, id: &str) -> String {
    let ticket = merchant.api.get(&path(id, "")).await.data();
    ticket["status"].as_str().expect("a status").to_owned()
}

async fn a_resolved_ticket_closes_by_itself(database: Database) {
    let mut gateway = Setup::new(database).set("TICKETS__AUTO_CLOSE_AFTER", "1s").start().await;
    let merchant = gateway.merchant().await;
    // The one that closes comes last, so that nothing is told of the other afterwards.
    let waiting = ticket_in(&gateway, &merchant, "on_hold").await;
    let id = ticket_in(&gateway, &merchant, "resolved").await;
    eventually("the ticket to close", async || (status(&merchant, &id).await == "closed").then_some(()))
        .await;
    let told = gateway.query_sql("SELECT type FROM events ORDER BY created_at DESC, id DESC LIMIT 1");
    assert_eq!(told, ["ticket.closed"]);
    assert_eq!(status(&merchant, &waiting).await, "on_hold");
    assert_eq!(gateway.query_sql("SELECT COUNT(*) FROM work WHERE queue = 'ticket_closing'"), ["0"]);
    // What was due when the process was gone is done when it is back.
    let late = ticket_in(&gateway, &merchant, "resolved").await;
    gateway.kill();
    gateway.restart().await;
    let merchant = merchant.moved_to(&gateway);
    eventually("the late one to close", async || (status(&merchant, &late).await == "closed").then_some(()))
        .await;
}

async fn activity_puts_the_closing_off(database: Database) {
    let gateway = Setup::new(database).set("TICKETS__AUTO_CLOSE_AFTER", "1h").start().await;
    let merchant = gateway.merchant().await;
    let due = || gateway.query_sql("SELECT due_at FROM work WHERE queue = 'ticket_closing'");
    let id = ticket_in(&gateway, &merchant, "resolved").await;
    let first = due();
    assert_eq!(first.len(), 1);
    let said = merchant.api.post(&path(&id, "/comments"), &json!({ "body": "wait" })).await;
    assert_eq!((said.status, status(&merchant, &id).await.as_str()), (201, "resolved"));
    assert!(due()[0] > first[0], "{first:?} {:?}", due());
    merchant.api.post_empty(&path(&id, "/reopen")).await.data();
    assert!(due().is_empty(), "an open ticket does not close by itself");
}

async fn an_upload_that_nobody_uses_is_deleted(database: Database) {
    let gateway = Setup::new(database).set("ATTACHMENTS__UPLOAD_EXPIRES_IN", "5s").start().await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let id = plain(api).await;
    let used = sent(api, &id, "a.png", "image/png", PIXEL).await;
    let unused = sent(api, &id, "b.png", "image/png", PIXEL).await;
    let announced = upload_url(api, &id, "c.png", "image/png").await;
    let comment = json!({ "body": "x", "attachments": [used] });
    assert_eq!(api.post(&path(&id, "/comments"), &comment).await.status, 201);
    // A day goes by.
    gateway.execute_sql("UPDATE work SET due_at = 1, due_since = 1 WHERE queue = 'uploads'").expect("done");
    eventually("the clean-up to be done", async || {
        (gateway.query_sql("SELECT COUNT(*) FROM work WHERE queue = 'uploads'") == ["0"]).then_some(())
    })
    .await;
    let late = api.post(&path(&id, "/comments"), &json!({ "body": "x", "attachments": [unused] })).await;
    late.refused(400, "VALIDATION_FAILED");
    assert_eq!(put(&announced["upload_url"], "image/png", PIXEL).await.0.as_u16(), 403);
    let attachment = used["attachment_id"].as_str().expect("an id");
    let links = api.get(&path(&id, &format!("/attachments/{attachment}"))).await.data();
    let kept = super::desk::fetch(&links["download_url"]).await;
    assert_eq!(kept.bytes().await.expect("bytes"), PIXEL);
    let folder = gateway.data_folder().join("attachments/kept");
    let shelves = std::fs::read_dir(folder).expect("a folder").flatten();
    let uploads: usize = shelves.map(|shelf| std::fs::read_dir(shelf.path()).expect("a shelf").count()).sum();
    assert_eq!(uploads, 1, "one folder, of the one that is used");
}
