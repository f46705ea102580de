//! Checks every exchange of the suite against the committed documents of the interface.
//!
//! An answer must have a status that the document names for its operation, the media type and required
//! headers of that answer, and a body that fits its schema and has no other members. An accepted request must
//! conform to the document's query parameters and body.

mod bodies;
mod document;
mod examples;
mod schema;

use reqwest::{Method, header::HeaderMap};
use serde_json::{Map, Value};

use self::document::{Documents, Operation};
pub use self::{
    bodies::{DocumentedBody, Maker},
    examples::faults_of_examples,
};
use crate::Answer;

/// One request with its answer.
struct Exchange<'a> {
    method: &'a Method,
    /// Path with query.
    target: &'a str,
    body: Option<&'a [u8]>,
    answer: &'a Answer,
}

/// Panics unless the exchange conforms to the documents. `target` is the path with its query.
#[track_caller]
pub fn assert_documented(method: &str, target: &str, body: Option<&[u8]>, answer: &Answer) {
    let method = &method.parse().expect("a method");
    if let Err(reason) = check(&Exchange { method, target, body, answer }) {
        let sent = body.map(String::from_utf8_lossy).unwrap_or_default();
        panic!("outside the documents: {reason}\n{method} {target}\nsent: {sent}\ncame: {answer}");
    }
}

/// Panics unless a delivery conforms to the merchants' document for its event.
#[track_caller]
pub(crate) fn assert_documented_event(body: &str) {
    let event: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let schema = match event["type"].as_str().and_then(|name| name.split_once('.')).map(|(of, _)| of) {
        Some("payment") => "PaymentEvent",
        Some("payout") => "PayoutEvent",
        Some("ticket") => "TicketEvent",
        _ => panic!("an event of no known type: {body}"),
    };
    let judged = Documents::get().merchants().judge_answer(&schema::named(schema), &event);
    judged.unwrap_or_else(|reason| panic!("a delivery outside {schema}: {reason}\n{body}"));
}

fn check(exchange: &Exchange<'_>) -> Result<(), String> {
    let path = exchange.target.split('?').next().unwrap_or_default();
    if *exchange.method == Method::OPTIONS {
        return Ok(());
    }
    let documents = Documents::get();
    let method = if *exchange.method == Method::HEAD { &Method::GET } else { exchange.method };
    match documents.operation(method, path) {
        Some(operation) => {
            check_answer(&operation, exchange)?;
            let accepted = (200..300).contains(&exchange.answer.status);
            if accepted { check_request(&operation, exchange) } else { Ok(()) }
        }
        None => check_stray(documents, exchange),
    }
}

fn check_answer(operation: &Operation<'_>, exchange: &Exchange<'_>) -> Result<(), String> {
    let answer = exchange.answer;
    let documented = operation
        .answer(answer.status)
        .ok_or_else(|| format!("the document does not name the status {}", answer.status))?;
    for (name, header) in documented.headers {
        check_header(name, header, &answer.headers)?;
    }
    if *exchange.method == Method::HEAD {
        return Ok(());
    }
    let Some(content) = documented.content else {
        return if answer.text.is_empty() { Ok(()) } else { Err("the answer has a body".to_owned()) };
    };
    let kind = media_type(&answer.headers);
    let wildcard = kind.split_once('/').map(|(family, _)| format!("{family}/*")).unwrap_or_default();
    let schema = content
        .get(kind)
        .or_else(|| content.get(&wildcard))
        .ok_or_else(|| format!("the document does not name the media type {kind:?}"))?;
    if kind != "application/json" {
        return Ok(());
    }
    operation.document.judge_answer(&schema["schema"], &parsed(&answer.text)?)
}

fn check_header(name: &str, header: &Value, headers: &HeaderMap) -> Result<(), String> {
    let Some(value) = headers.get(name) else {
        let is_required = header["required"] == true;
        return if is_required { Err(format!("the header {name} is missing")) } else { Ok(()) };
    };
    let is_integer = header["schema"]["type"] == "integer";
    let fits = !is_integer || value.to_str().is_ok_and(|text| text.parse::<u64>().is_ok());
    if fits { Ok(()) } else { Err(format!("the header {name} is {value:?}")) }
}

fn check_request(operation: &Operation<'_>, exchange: &Exchange<'_>) -> Result<(), String> {
    let query = exchange.target.split_once('?').map_or("", |(_, query)| query);
    for (name, parameter) in operation.query_parameters() {
        let texts: Vec<_> = document::form(query).filter(|(found, _)| *found == name).collect();
        let as_value = |text: &str| text.parse::<i64>().map_or_else(|_| text.into(), Value::from);
        let value = match parameter["schema"]["type"].as_str() {
            _ if texts.is_empty() => continue,
            Some("array") => texts.into_iter().map(|(_, text)| Value::from(text)).collect(),
            Some("integer") => as_value(&texts[0].1),
            _ => Value::from(texts[0].1.clone()),
        };
        let judged = operation.document.judge_request(&parameter["schema"], &value);
        judged
            .map_err(|reason| format!("accepted, though its query is not as documented: {name}: {reason}"))?;
    }
    let Some(body) = operation.request_body() else { return Ok(()) };
    let sent = exchange.body.unwrap_or_default();
    if sent.is_empty() {
        return if body["required"] == true { Err("accepted without a body".to_owned()) } else { Ok(()) };
    }
    let content = &body["content"];
    let (schema, value) = if let Some(json) = content.get("application/json") {
        (
            json,
            serde_json::from_slice(sent)
                .map_err(|error| format!("accepted, though it is no JSON: {error}"))?,
        )
    } else if let Some(form) = content.get("application/x-www-form-urlencoded") {
        let fields: Map<_, _> = document::form(&String::from_utf8_lossy(sent))
            .map(|(name, text)| (name, Value::from(text)))
            .collect();
        (form, Value::Object(fields))
    } else {
        return Ok(());
    };
    let judged = operation.document.judge_request(&schema["schema"], &value);
    judged.map_err(|reason| format!("accepted, though its body is not as documented: {reason}"))
}

/// Checks that a request without a route, by its path or its method, is refused in one of the error shapes.
fn check_stray(documents: &Documents, exchange: &Exchange<'_>) -> Result<(), String> {
    let answer = exchange.answer;
    if ![404, 405].contains(&answer.status) {
        return Err(format!("{} from what is in no document", answer.status));
    }
    if *exchange.method == Method::HEAD || media_type(&answer.headers) == "text/html" {
        return Ok(());
    }
    let body = parsed(&answer.text)?;
    let shape = if body.get("success").is_some() { "TicketError" } else { "BusinessError" };
    documents.merchants().judge_answer(&schema::named(shape), &body)
}

fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the body is no JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, kind: &str, body: &Value) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", kind.parse().expect("a media type"));
        headers.insert("x-request-id", "a".parse().expect("a name"));
        Answer { status, headers, text: body.to_string() }
    }

    fn judged(target: &str, body: Option<&Value>, answer: &Answer) -> Result<(), String> {
        let sent = body.map(|body| body.to_string().into_bytes());
        let method = if body.is_some() { Method::POST } else { Method::GET };
        check(&Exchange { method: &method, target, body: sent.as_deref(), answer })
    }

    #[test]
    fn an_answer_is_held_against_status_media_type_headers_and_schema() {
        let alive = json!({ "status": "ok" });
        assert_eq!(judged("/healthz", None, &answer(200, "application/json", &alive)), Ok(()));
        let more = json!({ "status": "ok", "uptime": 1 });
        let other = json!({ "status": "fine" });
        for wrong in [
            answer(200, "application/json", &more),
            answer(200, "application/json", &other),
            answer(200, "text/plain", &alive),
            answer(418, "application/json", &alive),
            Answer { headers: HeaderMap::new(), ..answer(200, "application/json", &alive) },
        ] {
            assert!(judged("/healthz", None, &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_accepted_is_held_against_query_and_body() {
        let token = json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 900, "scope": "" });
        let mut fine = answer(200, "application/json", &token);
        for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            fine.headers.insert(name, "1".parse().expect("a number"));
        }
        let path = "/api/v1/auth/token";
        assert_eq!(judged(path, Some(&json!({ "expires_in": 60 })), &fine), Ok(()));
        assert_eq!(judged(path, Some(&json!({ "expires_in": null, "colour": "red" })), &fine), Ok(()));
        assert!(judged(path, Some(&json!({ "expires_in": 0 })), &fine).is_err());
        assert!(judged("/api/v1/balance?currency=XXX", None, &fine).is_err());
    }

    #[test]
    fn what_no_route_takes_is_refused_in_a_known_shape() {
        let shape = json!({
            "statusCode": 404, "message": "there is no such path", "error_code": "ROUTE_NOT_FOUND",
            "timestamp": "2026-01-01T00:00:00.000Z",
        });
        assert_eq!(judged("/nowhere", None, &answer(404, "application/json", &shape)), Ok(()));
        assert!(judged("/nowhere", None, &answer(200, "application/json", &shape)).is_err());
        assert!(judged("/nowhere", None, &answer(404, "application/json", &json!({}))).is_err());
    }
}
