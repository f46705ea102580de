//! Requests, read whole.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{named, upload};
use crate::{
    Category, CommentDraft, MoveDraft, ReplyDraft, TicketDraft, UploadDraft, parse_assignment,
    parse_closing_comment,
};

fn problems<T: std::fmt::Debug>(read: Result<T, quipu_kernel::Problems>) -> Vec<String> {
    read.map_or_else(quipu_kernel::Problems::into_messages, |_| Vec::new())
}

#[test]
fn a_ticket_needs_a_title_and_nothing_else() {
    let draft = TicketDraft::parse(&json!({"title": "x", "unknown": 1, "description": null})).expect("valid");
    assert_eq!((draft.category, draft.requires_refund), (Category::Other, false));
    let long = |length: usize| "ñ".repeat(length);
    for (body, problem) in [
        (json!({}), "title is required"),
        (json!({"title": " "}), "title must not be empty"),
        (json!({"title": 7}), "title must be a string"),
        (json!({"title": long(201)}), "title must be at most 200 characters"),
        (json!({"title": "a\u{0}b"}), "title must not contain control characters"),
        (json!({"title": "x", "description": long(10_001)}), "description must be at most 10000 characters"),
        (json!({"title": "x", "sub_category": long(256)}), "sub_category must be at most 255 characters"),
        (json!({"title": "x", "transaction_id": long(256)}), "transaction_id must be at most 255 characters"),
        (json!({"title": "x", "reference": "a\rb"}), "reference must not contain control characters"),
        (json!({"title": "x", "reference": []}), "reference must be a string"),
        (json!({"title": "x", "payment_id": "pay_1"}), "payment_id must name one of your payments"),
        (json!({"title": "x", "requires_refund": "yes"}), "requires_refund must be true or false"),
        (json!([]), "body must be a JSON object"),
    ] {
        assert_eq!(problems(TicketDraft::parse(&body)), [problem], "{body}");
    }
    let all = problems(TicketDraft::parse(&json!({"category": "bugs", "requires_refund": 1})));
    assert_eq!(all.len(), 3, "{all:?}");
    let longest =
        json!({"title": long(200), "description": "two\nlines\tand a tab", "category": "refund_request"});
    assert!(TicketDraft::parse(&longest).is_ok());
    let two = "two\nlines\tand a tab";
    let texts = json!({"title": two, "sub_category": two, "transaction_id": two, "reference": two});
    assert!(TicketDraft::parse(&texts).is_ok());
}

#[test]
fn a_comment_names_each_upload_once_and_completely() {
    let named = named(&upload("a.png"));
    let item = json!({"attachment_id": named.id.as_str(), "key": named.key, "filename": "a.png", "content_type": "image/png"});
    let draft = CommentDraft::parse(&json!({"body": "x", "attachments": [item]})).expect("valid");
    assert_eq!(draft.uploads(), [named]);
    for (body, problem) in [
        (json!({}), "body is required"),
        (json!({"body": "\n"}), "body must not be empty"),
        (json!({"body": "x".repeat(10_001)}), "body must be at most 10000 characters"),
        (json!({"body": "x", "attachments": {}}), "attachments must be an array of objects"),
        (
            json!({"body": "x", "attachments": vec![item.clone(); 21]}),
            "attachments must have at most 20 items",
        ),
        (json!({"body": "x", "attachments": [&item, &item]}), "attachments.1.attachment_id is named twice"),
    ] {
        assert_eq!(problems(CommentDraft::parse(&body)), [problem], "{body}");
    }
    // An item that cannot be read takes a place as well.
    let third = problems(CommentDraft::parse(&json!({"body": "x", "attachments": [{}, &item, &item]})));
    assert_eq!(third.last().map(String::as_str), Some("attachments.2.attachment_id is named twice"));
    let missing =
        problems(CommentDraft::parse(&json!({"body": "x", "attachments": [{"attachment_id": "7"}]})));
    let expected = [
        "attachments.0.attachment_id must be an attachment identifier",
        "attachments.0.key is required",
        "attachments.0.filename is required",
        "attachments.0.content_type is required",
    ];
    assert_eq!(missing, expected);
}

#[test]
fn an_upload_is_of_a_supported_type_and_size_and_its_name_is_no_path() {
    let with = |members: Value| {
        let mut body = json!({"filename": "a.png", "content_type": "image/png"});
        body.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        problems(UploadDraft::parse(&body))
    };
    for accepted in [json!({}), json!({"file_size": 10_485_760}), json!({"filename": "n".repeat(255)})] {
        assert!(with(accepted).is_empty());
    }
    for (members, problem) in [
        (json!({"filename": null}), "filename is required"),
        (json!({"filename": "n".repeat(256)}), "filename must be at most 255 characters"),
        (json!({"filename": "../../etc/passwd"}), "filename must be the name of a file, without a path"),
        (json!({"filename": "C:\\fakepath\\a.png"}), "filename must be the name of a file, without a path"),
        (json!({"filename": ".."}), "filename must be the name of a file, without a path"),
        (json!({"filename": "a\u{0}.png"}), "filename must not contain control characters"),
        (json!({"content_type": null}), "content_type is required"),
        (json!({"file_size": 10_485_761}), "file_size must be from 1 to 10485760"),
        (json!({"file_size": 0}), "file_size must be from 1 to 10485760"),
        (json!({"file_size": -1}), "file_size must be from 1 to 10485760"),
        (json!({"file_size": 1.5}), "file_size must be an integer"),
    ] {
        assert_eq!(with(members.clone()), [problem], "{members}");
    }
    for other in ["image/svg+xml", "text/html", "IMAGE/PNG", "image/png; x=y", ""] {
        assert_eq!(with(json!({"content_type": other})).len(), 1, "{other}");
    }
}

#[test]
fn closing_may_say_something() {
    assert_eq!(parse_closing_comment(&json!({})), Ok(None));
    assert_eq!(parse_closing_comment(&json!({"comment": ""})), Ok(None));
    assert_eq!(parse_closing_comment(&json!({"comment": "bye"})), Ok(Some("bye".to_owned())));
    assert!(parse_closing_comment(&json!({"comment": 7})).is_err());
}

#[test]
fn support_says_where_to_and_what_it_found() {
    for (given, taken) in [("sent", Some("sent")), ("", None), (" ", None)] {
        let draft = MoveDraft::parse(&json!({"status": "resolved", "resolution_summary": given}));
        assert_eq!(draft.expect("valid").resolution_summary.as_deref(), taken);
    }
    assert_eq!(problems(MoveDraft::parse(&json!({}))), ["status is required"]);
    assert_eq!(
        problems(MoveDraft::parse(&json!({"status": "on_hold", "resolution_summary": "x"}))),
        ["resolution_summary is only for status resolved, closed or canceled"]
    );
    assert!(!ReplyDraft::parse(&json!({"body": "x"})).expect("valid").internal);
    assert_eq!(problems(ReplyDraft::parse(&json!({"internal": 1}))).len(), 2);
    assert!(parse_assignment(&json!({"assignee": ""})).is_err());
}

proptest! {
    #[test]
    fn no_body_whatever_breaks_a_reader(text in "\\PC{0,40}", number in any::<i64>(), flag in any::<bool>()) {
        for value in [json!(text), json!(number), json!(flag), json!([text]), json!({"title": text}), json!(null)] {
            let body = json!({
                "title": value, "body": value, "attachments": [value], "filename": value, "content_type": value,
                "file_size": value, "status": value, "payment_id": value, "assignee": value, "comment": value,
            });
            let _ = (TicketDraft::parse(&body), CommentDraft::parse(&body), UploadDraft::parse(&body));
            let _ = (MoveDraft::parse(&body), ReplyDraft::parse(&body), parse_assignment(&body));
            let _ = parse_closing_comment(&body);
        }
    }
}
