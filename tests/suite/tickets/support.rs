//! Support's side.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

use super::desk::{id_of, opened, path, plain, set_status, staff_path};

on_both_databases!(
    the_queue_is_sorted_by_priority_and_age,
    the_queue_is_narrowed,
    a_ticket_is_shown_with_its_payment_and_all_that_was_said,
    what_support_changes_is_in_the_audit_log,
);

async fn queue(gateway: &Gateway, query: &str) -> (Vec<String>, Value) {
    let list = gateway.operator().get(&format!("/operator/v1/tickets{query}")).await.ok();
    let ids = list["data"].as_array().expect("a list").iter().map(id_of).collect();
    (ids, list)
}

async fn the_queue_is_sorted_by_priority_and_age(database: Database) {
    let gateway = Gateway::start(database).await;
    let (one, two) = (gateway.merchant().await, gateway.merchant().await);
    let normal = plain(&one.api).await;
    let urgent = opened(&two.api, json!({ "title": "x", "category": "payment_issue" })).await;
    let later = opened(&one.api, json!({ "title": "x", "category": "question" })).await;
    let refund = opened(&one.api, json!({ "title": "x", "category": "refund_request" })).await;
    let (ids, list) = queue(&gateway, "").await;
    assert_eq!(ids, [urgent.clone(), refund.clone(), normal.clone(), later.clone()]);
    assert_eq!(list["pagination"]["total"], 4);
    let first = &list["data"][0];
    assert_eq!((&first["priority"], &first["merchant_id"]), (&json!("high"), &json!(two.id)));
    assert_eq!((&first["environment"], &list["data"][3]["priority"]), (&json!("test"), &json!("normal")));
    set_status(&gateway, &urgent, "canceled").await;
    assert_eq!(queue(&gateway, "").await.0, [refund, normal, later, urgent], "what is over stands last");
}

async fn the_queue_is_narrowed(database: Database) {
    let gateway = Gateway::start(database).await;
    let (one, two) = (gateway.merchant().await, gateway.merchant().await);
    let live = two.key(&json!({ "environment": "live" })).await;
    let payment = one.create(&draft::deposit_mxn(500)).await;
    let mine = opened(&one.api, json!({ "title": "x", "category": "bug", "payment_id": payment })).await;
    let theirs = opened(&two.api, json!({ "title": "x", "category": "payment_issue" })).await;
    let in_live = plain(&live).await;
    set_status(&gateway, &mine, "in_progress").await;
    let assignment = json!({ "assignee": "Sam" });
    gateway.operator().post(&staff_path(&theirs, "/assign"), &assignment).await.data();
    let tomorrow = quipu_tests::instant_in(std::time::Duration::from_hours(24));
    for (query, expected) in [
        (format!("?merchant_id={}", one.id), vec![&mine]),
        (format!("?merchant_id={}&environment=live", two.id), vec![&in_live]),
        ("?status=in_progress".to_owned(), vec![&mine]),
        ("?status=in_progress&status=open&environment=test".to_owned(), vec![&theirs, &mine]),
        ("?category=bug".to_owned(), vec![&mine]),
        ("?priority=high".to_owned(), vec![&theirs]),
        ("?assignee=Sam".to_owned(), vec![&theirs]),
        (format!("?payment_id={payment}"), vec![&mine]),
        (format!("?created_at_from={tomorrow}"), vec![]),
        ("?limit=1&offset=1".to_owned(), vec![&mine]),
    ] {
        assert_eq!(queue(&gateway, &query).await.0.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let nobody = format!("assignee={}", "x".repeat(256));
    for (query, field) in [
        ("status=gone", "status"),
        ("priority=low", "priority"),
        ("limit=0", "limit"),
        (nobody.as_str(), "assignee"),
    ] {
        gateway.operator().get(&format!("/operator/v1/tickets?{query}")).await.invalid(field);
    }
}

async fn a_ticket_is_shown_with_its_payment_and_all_that_was_said(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let payment = merchant.create(&draft::deposit_mxn(500)).await;
    let id = opened(&merchant.api, json!({ "title": "x", "payment_id": payment })).await;
    merchant.api.post(&path(&id, "/comments"), &json!({ "body": "question" })).await;
    for (body, internal) in [("note", true), ("answer", false)] {
        let said = json!({ "body": body, "internal": internal });
        operator.post(&staff_path(&id, "/comments"), &said).await.data();
    }
    let whole = operator.get(&staff_path(&id, "")).await.data();
    let said = whole["comments"].as_array().expect("a list").iter();
    let said: Vec<_> = said.map(|it| (it["body"].clone(), it["internal"].clone())).collect();
    assert_eq!(
        said,
        [("question", false), ("note", true), ("answer", false)].map(|(b, i)| (json!(b), json!(i)))
    );
    assert_eq!(
        (&whole["payment"]["transaction_id"], &whole["merchant_id"]),
        (&json!(payment), &json!(merchant.id))
    );
    let timeline = &whole["payment"]["timeline"];
    let alone = operator.get(&format!("/operator/v1/payments/{payment}")).await.data();
    assert_eq!(timeline["events"][0]["type"], "payment.created", "{timeline}");
    let names = |of: &Value| of.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&whole["payment"]), names(&alone), "as among the payments");
    let page = operator.get(&staff_path(&id, "/comments?limit=2&offset=1")).await.ok();
    assert_eq!((&page["total"], &page["data"][0]["body"]), (&json!(3), &json!("note")));
    operator
        .get(&staff_path("019aa3b5-ec00-7fff-bfff-ffffffffffff", ""))
        .await
        .refused(404, "TICKET_NOT_FOUND");
}

async fn what_support_changes_is_in_the_audit_log(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let id = plain(&merchant.api).await;
    operator.post(&staff_path(&id, "/assign"), &json!({ "assignee": "Sam" })).await.data();
    set_status(&gateway, &id, "in_progress").await;
    operator.post(&staff_path(&id, "/comments"), &json!({ "body": "what was said" })).await.data();
    let note = json!({ "body": "what was said", "internal": true });
    operator.post(&staff_path(&id, "/comments"), &note).await.data();
    operator.post(&staff_path(&id, "/assign"), &json!({ "assignee": null })).await.data();
    let log = operator.get(&format!("/operator/v1/audit-log?merchant_id={}&limit=100", merchant.id)).await;
    let list = log.ok();
    let about = format!("ticket/{id}");
    let lines: Vec<_> =
        list["data"].as_array().expect("a list").iter().filter(|line| line["subject"] == about).collect();
    let actions: Vec<_> =
        lines.iter().rev().map(|line| line["action"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        actions,
        ["ticket.assign", "ticket.move", "ticket.comment", "ticket.comment", "ticket.assign"]
    );
    assert_eq!(lines[3]["before"]["status"], "open");
    assert_eq!(lines[3]["after"]["status"], "in_progress");
    assert!(!log.text.contains("what was said"), "{log}");
    for (rest, body, field) in [
        ("/assign", json!({}), "assignee"),
        ("/status", json!({}), "status"),
        ("/comments", json!({ "internal": true }), "body"),
    ] {
        operator.post(&staff_path(&id, rest), &body).await.invalid(field);
    }
}
