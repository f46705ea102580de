//! Opening tickets, talking about them and sending files, for the scenarios beside this file.

use std::time::Duration;

use quipu_tests::{Answer, Client, Gateway, Merchant, http_client};
use reqwest::StatusCode;
use serde_json::{Value, json};

/// A PNG of one pixel.
pub(super) const PIXEL: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\x0d\
IDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";

/// The body of an answer that must be 201.
#[track_caller]
pub(super) fn created(answer: &Answer) -> Value {
    assert_eq!(answer.status, 201, "{answer}");
    let body = answer.json();
    assert_eq!(body["success"], true, "{body}");
    body["data"].clone()
}

/// An error in the shape of ticket endpoints: `success`, `error`, `statusCode` and `error_code`, and nothing else.
#[track_caller]
pub(super) fn refused(answer: &Answer, status: u16, code: &str) -> String {
    let body = answer.refused(status, code);
    assert_eq!(body["success"], false, "{body}");
    assert_eq!(body.as_object().expect("an object").len(), 4, "{body}");
    body["error"].as_str().expect("a text").to_owned()
}

/// A validation error that names this field.
#[track_caller]
pub(super) fn invalid(answer: &Answer, field: &str) {
    let told = refused(answer, 400, "VALIDATION_FAILED");
    let named = told.split("; ").any(|problem| problem.starts_with(&format!("{field} ")));
    assert!(named, "{field} is not named: {answer}");
}

/// A new ticket that only has a title.
pub(super) async fn plain(api: &Client) -> String {
    opened(api, json!({ "title": "Where is it?" })).await
}

/// A new ticket; its identifier. The next one is younger.
pub(super) async fn opened(api: &Client, body: Value) -> String {
    let id = id_of(&created(&api.post("/api/v1/tickets", &body).await));
    next_millisecond().await;
    id
}

/// Lets the clock go on: what happens in one millisecond stands in any order.
pub(super) async fn next_millisecond() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

#[track_caller]
pub(super) fn id_of(ticket: &Value) -> String {
    ticket["ticket_id"].as_str().expect("a ticket_id").to_owned()
}

pub(super) fn path(id: &str, rest: &str) -> String {
    format!("/api/v1/tickets/{id}{rest}")
}

pub(super) fn staff_path(id: &str, rest: &str) -> String {
    format!("/operator/v1/tickets/{id}{rest}")
}

/// Support moves a ticket, which must be possible.
pub(super) async fn set_status(gateway: &Gateway, id: &str, status: &str) -> Value {
    gateway.operator().post(&staff_path(id, "/status"), &json!({ "status": status })).await.data()
}

/// A new ticket that was brought to this status.
pub(super) async fn ticket_in(gateway: &Gateway, merchant: &Merchant, status: &str) -> String {
    let id = plain(&merchant.api).await;
    let way: &[&str] = match status {
        "open" => &[],
        "in_progress" | "canceled" => &[status],
        "resolved" | "waiting_customer" | "on_hold" => &["in_progress", status],
        "closed" => &["in_progress", "resolved", "closed"],
        other => panic!("{other}"),
    };
    for step in way {
        set_status(gateway, &id, step).await;
    }
    id
}

/// The answer to a request for an upload URL.
pub(super) async fn upload_url(api: &Client, ticket: &str, filename: &str, kind: &str) -> Value {
    let body = json!({ "filename": filename, "content_type": kind });
    api.post(&path(ticket, "/upload-url"), &body).await.data()
}

/// Sends bytes to an upload URL.
pub(super) async fn put(url: &Value, kind: &str, bytes: &[u8]) -> (StatusCode, Value) {
    let url = url.as_str().expect("an upload_url");
    let request = http_client().put(url).header("content-type", kind).body(bytes.to_vec());
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    let text = answer.text().await.expect("UTF-8");
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// What a comment says of an upload.
pub(super) fn named(url: &Value, filename: &str, kind: &str) -> Value {
    json!({ "attachment_id": url["attachment_id"], "key": url["key"], "filename": filename, "content_type": kind })
}

/// A file that was sent, as a comment names it.
pub(super) async fn sent(api: &Client, ticket: &str, filename: &str, kind: &str, bytes: &[u8]) -> Value {
    let url = upload_url(api, ticket, filename, kind).await;
    let (status, body) = put(&url["upload_url"], kind, bytes).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    named(&url, filename, kind)
}

/// Comments with files.
pub(super) async fn comment_with(api: &Client, ticket: &str, files: &[Value]) -> Answer {
    api.post(&path(ticket, "/comments"), &json!({ "body": "see", "attachments": files })).await
}

/// What is at a signed URL.
pub(super) async fn fetch(url: &Value) -> reqwest::Response {
    let url = url.as_str().expect("a URL");
    http_client().get(url).send().await.expect("an answer")
}
