//! Every access, kind of answer and family of errors.

use actix_web::{
    body::{BodySize, MessageBody as _},
    test,
};
use serde_json::{Value, json};

use super::{
    table::{ACCESSES, ANSWERS, FAMILIES, Matrix, send},
    world::{Answer, request},
};
use crate::answer::Family;

fn members(body: &Value) -> Vec<&str> {
    body.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn has_shape(answer: &Answer, family: Family, code: (u16, &str)) {
    assert_eq!(answer.status, code.0, "{}", answer.text);
    if family == Family::Page {
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(answer.text.contains(&format!("<small>{}</small>", code.0)), "{}", answer.text);
        assert!(
            answer.header("content-security-policy").expect("a policy").starts_with("default-src 'none'")
        );
        return;
    }
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.code(), code, "{}", answer.text);
    assert_eq!(answer.body["statusCode"], json!(code.0));
    let expected: &[&str] = match (family, code.0) {
        (Family::Ticket, 401 | 403) => &["error", "error_code", "message", "statusCode", "success"],
        (Family::Ticket, _) => &["error", "error_code", "statusCode", "success"],
        (_, 401 | 403) => &["error", "error_code", "message", "statusCode"],
        (_, 400) if code.1 == "VALIDATION_FAILED" => &["error", "error_code", "message", "statusCode"],
        _ => &["error_code", "message", "statusCode", "timestamp"],
    };
    assert_eq!(members(&answer.body), expected, "{}", answer.text);
    assert_eq!(answer.body.get("success").cloned(), (family == Family::Ticket).then_some(json!(false)));
}

#[actix_web::test]
async fn behind_every_door_each_family_answers_in_its_shapes() {
    let matrix = Matrix::new().await;
    let app = matrix.app().await;
    for access in ACCESSES {
        for answer in ANSWERS {
            for (name, family) in FAMILIES {
                let path = matrix.path(access, answer, name);
                if !matches!(access, "public" | "visitor") {
                    let code = match access {
                        "callback" => "SIGNATURE_INVALID",
                        "signed" | "creation" => "SIGNATURE_MISSING",
                        "staff" => "TOKEN_INVALID",
                        _ => "API_KEY_MISSING",
                    };
                    let refused = send(&app, Matrix::without_credentials(answer, &path)).await;
                    has_shape(&refused, family, (401, code));
                    assert!(refused.header("www-authenticate").is_some(), "{path}");
                }
                for (query, code) in [
                    ("fail=validation", (400, "VALIDATION_FAILED")),
                    ("fail=missing", (404, "TICKET_NOT_FOUND")),
                    ("fail=overload", (503, "OVERLOADED")),
                ] {
                    let target = format!("{path}?{query}");
                    let refused = send(&app, matrix.with_credentials(access, answer, &target)).await;
                    has_shape(&refused, family, code);
                }
                let wrong = send(&app, request("DELETE", &path)).await;
                has_shape(&wrong, family, (405, "METHOD_NOT_ALLOWED"));
            }
        }
    }
}

#[actix_web::test]
async fn behind_every_door_a_ticket_and_a_page_are_answered_under_both_paths() {
    let matrix = Matrix::new().await;
    let app = matrix.app().await;
    for access in ACCESSES {
        for (name, _) in FAMILIES {
            for also in ["", "/also"] {
                let path = matrix.path(access, "ticket", name) + also;
                let ticket = send(&app, matrix.with_credentials(access, "ticket", &path)).await;
                let expected = (201, &json!({"success": true, "data": {"a": 1}}));
                assert_eq!((ticket.status, &ticket.body), expected, "{path}: {}", ticket.text);
                let path = matrix.path(access, "page", name) + also;
                let page = send(&app, matrix.with_credentials(access, "page", &path)).await;
                assert_eq!((page.status, page.text.contains("hello")), (200, true), "{path}");
                assert_eq!(page.header("cache-control"), Some("no-store"));
            }
        }
    }
}

#[actix_web::test]
async fn a_caller_without_the_scope_reads_both_shapes_at_once_from_tickets() {
    let matrix = Matrix::new().await;
    let key = matrix.without_scope().await;
    for access in ["key", "token", "scoped"] {
        for (name, family) in FAMILIES {
            let path = matrix.path(access, "ticket", name);
            let refused =
                matrix.app_send(request("POST", &path).insert_header(("X-API-Key", key.as_str()))).await;
            has_shape(&refused, family, (403, "SCOPE_MISSING"));
        }
    }
    let path = matrix.path("key", "ticket", "tickets");
    let refused = matrix.app_send(request("POST", &path).insert_header(("X-API-Key", key))).await;
    assert_eq!(
        refused.body,
        json!({
            "success": false, "statusCode": 403, "message": "the scope tickets.create is required",
            "error": "Forbidden", "error_code": "SCOPE_MISSING",
        })
    );
}

#[actix_web::test]
async fn visitors_and_providers_are_counted_apart() {
    let mut matrix = Matrix::new().await;
    matrix.world.settings.limits.pages_per_minute = 2;
    matrix.world.settings.limits.callbacks_per_minute = 3;
    let page = matrix.path("visitor", "page", "pages");
    for expected in [200, 200, 429] {
        let answer = matrix.app_send(request("GET", &page)).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (expected, Some("2")));
    }
    assert!(matrix.app_send(request("GET", &page)).await.text.contains("Too many requests"));

    let callback = matrix.path("callback", "page", "api");
    for expected in [401, 401, 401, 429, 429] {
        assert_eq!(matrix.app_send(request("GET", &callback)).await.status, expected);
    }
    let verified = async || matrix.app_send(matrix.with_credentials("callback", "page", &callback)).await;
    for expected in [200, 200, 200, 429] {
        let answer = verified().await;
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (expected, Some("3")));
    }
}

#[actix_web::test]
async fn head_is_answered_wherever_get_is_and_options_says_what_is_allowed() {
    let matrix = Matrix::new().await;
    let page = matrix.path("visitor", "page", "pages");
    assert_eq!(matrix.app_send(request("HEAD", &page)).await.status, 200);
    let options = matrix.app_send(request("OPTIONS", &page)).await;
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, OPTIONS")));
    let ticket = matrix.path("key", "ticket", "tickets");
    let wrong = matrix.app_send(request("HEAD", &ticket)).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST, OPTIONS")));
}

#[actix_web::test]
async fn head_names_the_size_of_what_get_would_send_and_sends_nothing() {
    let matrix = Matrix::new().await;
    let app = matrix.app().await;
    let stream = matrix.path("public", "stream", "api");
    let page = matrix.path("public", "page", "api");
    for (path, expected) in [
        (stream.as_str(), BodySize::Stream),
        (&page, BodySize::Sized(b"<!doctype html><p>hello</p>".len() as u64)),
        ("/file", BodySize::Sized(10)),
    ] {
        let answer = test::call_service(&app, request("HEAD", path).to_request()).await;
        assert_eq!(answer.response().body().size(), expected, "{path}");
        assert_eq!(test::read_body(answer).await, "", "{path}");
    }
}
