//! What follows from each step.

use std::time::Duration;

use quipu_merchants::Actor;
use serde_json::json;

use super::world::{World, at, comment, complete, upload};
use crate::{MoveDraft, Priority, Status, Step, parse_assignment};

fn support() -> Actor {
    Actor { id: "op_1".to_owned(), name: "Sam".to_owned() }
}

fn names(change: &crate::TicketChange) -> Vec<&'static str> {
    change.events.iter().map(|event| event.name.as_str()).collect()
}

fn to(status: Status) -> MoveDraft {
    MoveDraft { status, resolution_summary: None }
}

#[test]
fn a_new_ticket_is_open_and_told_of() {
    let change = World::new().opened();
    assert_eq!(names(&change), ["ticket.created"]);
    assert_eq!(change.ticket.status(), Status::Open);
    assert_eq!(change.ticket.priority(), Priority::High);
    assert_eq!((change.before, change.ticket.state().version), (None, 1));
}

#[test]
fn each_move_has_its_one_event() {
    let world = World::new();
    for (from, target, event) in [
        (Status::Open, Status::InProgress, "ticket.updated"),
        (Status::InProgress, Status::WaitingCustomer, "ticket.updated"),
        (Status::InProgress, Status::OnHold, "ticket.updated"),
        (Status::OnHold, Status::Canceled, "ticket.updated"),
        (Status::OnHold, Status::Resolved, "ticket.resolved"),
        (Status::Resolved, Status::Closed, "ticket.closed"),
    ] {
        let change = world.desk(90).set_status(&world.ticket_in(from), to(target)).expect("a move");
        assert_eq!(names(&change), [event], "{from:?} to {target:?}");
        assert_eq!(change.ticket.status(), target);
        let before = change.before.expect("a ticket").state().version;
        assert_eq!(before + 1, change.ticket.state().version);
    }
    let closed = world.desk(90).close(&world.ticket_in(Status::Open), None).expect("a move");
    assert_eq!(names(&closed), ["ticket.closed"]);
    let by_itself = world.desk(90).close_by_itself(&world.ticket_in(Status::Resolved)).expect("a move");
    assert_eq!(names(&by_itself), ["ticket.closed"]);
    let reopened = world.desk(90).reopen(&world.ticket_in(Status::Closed), None).expect("a move");
    assert_eq!(names(&reopened), ["ticket.updated"]);
}

#[test]
fn a_merchants_comment_is_no_event_unless_it_moves_the_ticket() {
    let world = World::new();
    for status in [Status::Open, Status::InProgress, Status::OnHold, Status::Resolved] {
        let change =
            world.desk(90).comment(&world.ticket_in(status), &comment("hello"), vec![]).expect("taken");
        assert!(change.events.is_empty(), "{status:?}");
        assert_eq!(change.ticket.status(), status);
        let state = change.ticket.state();
        assert_eq!((state.last_activity_at, state.updated_at), (at(90), at(60)));
    }
    let change = world.desk(90).comment(&world.ticket_in(Status::WaitingCustomer), &comment("here"), vec![]);
    let change = change.expect("taken");
    assert_eq!(change.ticket.status(), Status::InProgress);
    assert_eq!(names(&change), ["ticket.updated"]);
    for status in [Status::Closed, Status::Canceled] {
        let refused = world.desk(90).comment(&world.ticket_in(status), &comment("hello"), vec![]);
        assert_eq!(refused.expect_err("refused").step, Step::Comment);
    }
}

#[test]
fn a_public_reply_is_told_of_and_a_note_changes_nothing() {
    let world = World::new();
    let ticket = world.ticket_in(Status::InProgress);
    let change = world.desk(90).reply(&ticket, support(), "look".to_owned()).expect("taken");
    assert_eq!(names(&change), ["ticket.comment_added"]);
    assert_eq!(change.ticket.status(), Status::InProgress);
    let note = world.desk(90).note(&ticket, support(), "odd".to_owned());
    assert!(note.id > change.comment.expect("a comment").id);
}

#[test]
fn an_answer_by_a_node_whose_clock_is_behind_comes_after_its_question() {
    let (world, behind) = (World::new(), World::new());
    let asked = world.desk(90).comment(&world.ticket_in(Status::InProgress), &comment("when?"), vec![]);
    let asked = asked.expect("taken");
    let answered = behind.desk(88).reply(&asked.ticket, support(), "now".to_owned()).expect("taken");
    let noted = behind.desk(89).note(&answered.ticket, support(), "done".to_owned());
    let [question, answer] = [asked.comment, answered.comment].map(|comment| comment.expect("a comment"));
    assert!(question.id < answer.id && answer.id < noted.id);
    assert!(question.created_at < answer.created_at && answer.created_at < noted.created_at);
    assert_eq!(answered.ticket.state().last_activity_at, answer.created_at);
}

#[test]
fn resolving_and_opening_again_keep_the_times_right() {
    let world = World::new();
    let draft =
        MoveDraft::parse(&json!({"status": "resolved", "resolution_summary": "sent"})).expect("valid");
    let ticket = world.ticket_in(Status::InProgress);
    let resolved = world.desk(90).set_status(&ticket, draft).expect("a move").ticket;
    assert_eq!(resolved.state().resolved_at, Some(at(90)));
    assert_eq!(resolved.state().resolution_summary.as_deref(), Some("sent"));

    let closed = world.desk(95).close(&resolved, Some("thanks".to_owned())).expect("a move");
    assert_eq!(closed.comment.expect("a comment").body, "thanks");
    assert_eq!(closed.ticket.state().resolved_at, Some(at(90)));

    let again = world.desk(99).reopen(&closed.ticket, None).expect("a move").ticket;
    assert_eq!((again.status(), again.state().resolved_at), (Status::Open, None));
    assert_eq!(again.state().resolution_summary, None);
}

#[test]
fn a_ticket_closes_by_itself_only_if_it_is_resolved_and_after_its_last_activity() {
    let world = World::new();
    let week = Duration::from_hours(7 * 24);
    for status in Status::ALL {
        let closes_at = world.ticket_in(status).closes_at(week);
        assert_eq!(closes_at, (status == Status::Resolved).then(|| at(60).plus(week)), "{status:?}");
    }
    let resolved = world.ticket_in(Status::Resolved);
    let commented = world.desk(500).comment(&resolved, &comment("wait"), vec![]).expect("taken").ticket;
    assert_eq!(commented.closes_at(week), Some(at(500).plus(week)));
}

#[test]
fn files_come_to_the_comment_and_the_ticket_under_the_name_the_comment_gives() {
    let world = World::new();
    let ticket = world.ticket_in(Status::Open);
    let change =
        world.desk(90).comment(&ticket, &comment("see"), vec![complete(upload("a.png"))]).expect("taken");
    let comment = change.comment.expect("a comment");
    assert_eq!(comment.attachments, change.ticket.state().attachments);
    assert_eq!(comment.attachments[0].name, "renamed.png");
    assert_eq!(comment.attachments[0].size, 5);
    assert_eq!((&change.attached[0].object[..], change.attached[0].comment), ("o/1", comment.id));
    assert!(change.uploads[0].spent && change.uploads[0].revision == 2, "nobody uses it again");
}

#[test]
fn an_assignment_is_nothing_a_merchant_sees() {
    let world = World::new();
    let ticket = world.ticket_in(Status::Open);
    let change = world.desk(90).assign(&ticket, Some("Sam".to_owned()));
    assert!(change.events.is_empty());
    assert_eq!(change.ticket.state().assignee.as_deref(), Some("Sam"));
    let (before, after) = (ticket.state(), change.ticket.state());
    assert_eq!(
        (after.updated_at, after.last_activity_at, after.version),
        (before.updated_at, before.last_activity_at, before.version + 1)
    );
    assert_eq!(parse_assignment(&json!({"assignee": null})), Ok(None));
    assert!(parse_assignment(&json!({})).is_err());
}

#[test]
fn a_clock_that_runs_behind_moves_no_time_back() {
    let world = World::new();
    let change =
        world.desk(30).comment(&world.ticket_in(Status::Open), &comment("x"), vec![]).expect("taken");
    let next = at(60).plus(Duration::from_millis(1));
    assert_eq!(change.ticket.state().last_activity_at, next, "the first moment after what happened");
}
