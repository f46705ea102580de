//! What is said on tickets.

use quipu_tests::{Database, Gateway, on_both_databases};
use serde_json::json;

use super::desk::{created, invalid, path, plain, staff_path};

on_both_databases!(comments_are_listed_oldest_first, no_query_of_a_merchant_finds_a_note);

async fn comments_are_listed_oldest_first(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let comments = path(&id, "/comments");
    let first = created(&merchant.api.post(&comments, &json!({ "body": "0" })).await);
    let number = first["id"].as_i64().expect("an integer");
    let expected = json!({
        "id": number, "author_type": "merchant", "body": "0", "attachments": [],
        "created_at": first["created_at"], "updated_at": first["created_at"],
    });
    assert_eq!(first, expected);
    for body in 1..25 {
        created(&merchant.api.post(&comments, &json!({ "body": body.to_string() })).await);
    }
    let staff = staff_path(&id, "/comments");
    let reply = gateway.operator().post(&staff, &json!({ "body": "reply" })).await.data();
    assert_eq!((&reply["author_type"], &reply["internal"]), (&json!("admin"), &json!(false)));

    let list = merchant.api.get(&comments).await.ok();
    let pagination = json!({ "total": 26, "limit": 20, "offset": 0, "total_pages": 2 });
    assert_eq!((&list["total"], &list["pagination"]), (&json!(26), &pagination));
    let bodies: Vec<_> =
        list["data"].as_array().expect("a list").iter().map(|it| it["body"].clone()).collect();
    assert_eq!(bodies, (0..20).map(|body| json!(body.to_string())).collect::<Vec<_>>());
    let rest = merchant.api.get(&format!("{comments}?limit=100&offset=24")).await.ok()["data"].clone();
    assert_eq!((&rest[0]["body"], &rest[1]["body"]), (&json!("24"), &json!("reply")));
    assert_eq!((&rest[1]["author_type"], rest[1].get("author")), (&json!("admin"), None));
    for (query, field) in [("limit=0", "limit"), ("limit=101", "limit"), ("offset=-1", "offset")] {
        invalid(&merchant.api.get(&format!("{comments}?{query}")).await, field);
    }
    for (body, field) in
        [(json!({}), "body"), (json!({ "body": " " }), "body"), (json!({ "body": 7 }), "body")]
    {
        invalid(&merchant.api.post(&comments, &body).await, field);
    }
}

async fn no_query_of_a_merchant_finds_a_note(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let id = plain(&merchant.api).await;
    let before = merchant.api.get(&path(&id, "")).await.data();
    let note = json!({ "body": "a suspicious zebra", "internal": true });
    let note = operator.post(&staff_path(&id, "/comments"), &note).await.data();
    operator.post(&staff_path(&id, "/assign"), &json!({ "assignee": "Sam Zebra" })).await.data();
    assert_eq!(merchant.api.get(&path(&id, "")).await.data(), before, "not even its times tell");
    for seen in [
        path(&id, ""),
        path(&id, "/comments?limit=100"),
        "/api/v1/tickets".to_owned(),
        "/api/v1/tickets?search=zebra".to_owned(),
        path(&id, &format!("/comments/{}/attachments/019aa3b5-ec00-7fff-bfff-ffffffffffff", note["id"])),
    ] {
        let answer = merchant.api.get(&seen).await;
        assert!(!answer.text.to_lowercase().contains("zebra"), "{seen}: {answer}");
    }
    let events = gateway.query_sql("SELECT payload FROM events");
    assert!(!events.iter().any(|payload| payload.to_lowercase().contains("zebra")), "{events:?}");
    let whole = operator.get(&staff_path(&id, "")).await.data();
    assert_eq!(whole["assignee"], "Sam Zebra");
    assert_eq!(
        (&whole["comments"][0]["body"], &whole["comments"][0]["internal"]),
        (&note["body"], &json!(true))
    );
}
