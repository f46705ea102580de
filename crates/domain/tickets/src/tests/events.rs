//! The bytes that merchants are told in.

use quipu_merchants::Actor;
use serde_json::{Value, json};

use super::world::{TENANT, World, comment, complete, upload};
use crate::{Comment, CommentRecord, Entry, EntryRecord, Note, Status, SupportTicket};

fn payload(change: &crate::TicketChange) -> Value {
    serde_json::from_str(&change.events[0].payload).expect("JSON")
}

#[test]
fn an_event_carries_the_whole_ticket_and_nothing_of_support() {
    let world = World::new();
    let opened = world.opened();
    let told = payload(&opened);
    let expected = json!({
        "id": opened.events[0].id.as_str(), "type": "ticket.created", "created_at": "2025-11-21T00:00:00.000Z",
        "merchant_id": TENANT.merchant().0, "environment": "test",
        "data": {"ticket": {
            "ticket_id": opened.ticket.id().as_str(), "title": "Where is it?", "description": null, "status": "open",
            "category": "payment_issue", "sub_category": null, "payment_id": null, "transaction_id": null,
            "reference": "order 7", "requires_refund": false, "resolution_summary": null, "attachments": [],
            "created_at": "2025-11-21T00:00:00.000Z", "updated_at": "2025-11-21T00:00:00.000Z",
            "resolved_at": null, "last_activity_at": "2025-11-21T00:00:00.000Z",
        }},
    });
    assert_eq!(told, expected);
}

#[test]
fn a_reply_is_told_with_its_comment() {
    let world = World::new();
    let actor = Actor { id: "op_1".to_owned(), name: "Sam Secret".to_owned() };
    let ticket =
        world.desk(1).assign(&world.ticket_in(Status::InProgress), Some("Sam Secret".to_owned())).ticket;
    let change = world.desk(90).reply(&ticket, actor, "look".to_owned()).expect("taken");
    let comment = &payload(&change)["data"]["comment"];
    let id = change.comment.as_ref().expect("a comment").id;
    let expected = json!({
        "id": id, "author_type": "admin", "body": "look", "attachments": [],
        "created_at": "2025-11-21T00:01:30.000Z", "updated_at": "2025-11-21T00:01:30.000Z",
    });
    assert_eq!(*comment, expected);
    assert!(!change.events[0].payload.contains("Secret"), "merchants see no names of support");
    let support = serde_json::to_value(SupportTicket::of(&change.ticket)).expect("JSON");
    assert_eq!((&support["assignee"], &support["priority"]), (&json!("Sam Secret"), &json!("high")));
}

#[test]
fn a_comments_files_are_shown_by_what_merchants_may_know_of_them() {
    let world = World::new();
    let upload = upload("a.png");
    let change = world.desk(90).comment(
        &world.ticket_in(Status::WaitingCustomer),
        &comment("see"),
        vec![complete(upload.clone())],
    );
    let change = change.expect("taken");
    let said: &Comment = change.comment.as_ref().expect("a comment");
    let expected = json!([{"id": upload.id.as_str(), "name": "renamed.png", "type": "image/png", "size": 5}]);
    assert_eq!(serde_json::to_value(CommentRecord::of(said)).expect("JSON")["attachments"], expected);
    assert_eq!(payload(&change)["data"]["ticket"]["attachments"], expected);
    assert_eq!(payload(&change)["data"].get("comment"), None);
}

#[test]
fn support_tells_comments_and_notes_apart() {
    let world = World::new();
    let actor = Actor { id: "op_1".to_owned(), name: "Sam".to_owned() };
    let note: Note = world.desk(5).note(&world.opened().ticket, actor, "odd".to_owned());
    let shown = serde_json::to_value(EntryRecord::of(&Entry::Note(note))).expect("JSON");
    assert_eq!((&shown["internal"], &shown["author"]), (&json!(true), &json!("Sam")));
}
