//! Examples of whole bodies, made from the examples of the schemas in them.

use serde_json::{Value, json};

use super::schemas;
use crate::{answer::ErrorCode, routing::Shows};

/// The example of a schema.
pub(super) fn of(name: &str) -> Option<&'static Value> {
    schemas::named(name)?.get("example")
}

/// A body that shows the example of a schema in this way.
pub(super) fn shown(shows: Shows) -> Option<Value> {
    match shows {
        Shows::Data(name) => Some(json!({ "success": true, "data": of(name)? })),
        Shows::List(name) => list(name, &json!({ "limit": 20, "offset": 0, "total_pages": 1 })),
        Shows::CountedList(name) => {
            list(name, &json!({ "total": 1, "limit": 20, "offset": 0, "total_pages": 1 }))
        }
        Shows::Members(name) => {
            let mut body = of(name)?.clone();
            body.as_object_mut()?.insert("success".to_owned(), true.into());
            Some(body)
        }
        Shows::Plain(name) => of(name).cloned(),
        Shows::Media(_) | Shows::Nothing => None,
    }
}

fn list(name: &str, pagination: &Value) -> Option<Value> {
    Some(json!({ "success": true, "data": [of(name)?], "total": 1, "pagination": pagination }))
}

/// The refusal of this schema with another code and message.
pub(super) fn refusal(schema: &str, code: ErrorCode, message: &str) -> Option<Value> {
    let mut body = of(schema)?.clone();
    body["statusCode"] = code.status().into();
    body["error_code"] = code.as_str().into();
    // Tickets and files have their message in `error`.
    let member = if body.get("message").is_some() { "message" } else { "error" };
    body[member] = message.into();
    if code.status() == 403 {
        body["error"] = "Forbidden".into();
    }
    Some(body)
}
