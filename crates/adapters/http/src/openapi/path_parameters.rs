//! The variable segments of paths.

use serde_json::{Value, json};

/// What a segment is, by its name and a part of the path in which it has that meaning, with an example.
const MEANINGS: [(&str, &str, &str, &str); 22] = [
    ("id", "/merchants/{id}", "The merchant's number.", "492409941476218"),
    ("id", "/payments/{id}", PAYMENT, A_PAYMENT),
    ("payment_id", "", PAYMENT, A_PAYMENT),
    ("id", "/tickets/{id}", "The ticket's `ticket_id`.", "01a21dea-7b5a-7b5f-be22-9d716ec03dae"),
    ("id", "/webhooks/{id}", "The webhook's `id`.", "01a21dea-7af5-7ef2-b9b8-af91c5149fb8"),
    ("attachment_id", "", "The attachment's `id`, the `attachment_id` of its upload.", A_FILE),
    ("comment_id", "", "The comment's `id`.", "492409946694190"),
    ("receipt_id", "", "The receipt's `receipt_id`.", "492409946694191"),
    (
        "operator_id",
        "",
        "The `operator_id` of a member of the staff.",
        "2293e6ee-1833-4ae2-9699-05e32af03067",
    ),
    ("key_id", "", "The key's `key_id`.", "2293e6ee-1833-4ae2-9699-05e32af03068"),
    ("credential_id", "", "The credential's `credential_id`.", "2293e6ee-1833-4ae2-9699-05e32af03069"),
    ("rail", "", "The rail's name in the gateway's configuration.", "acme"),
    (
        "token",
        "",
        "The secret part of the page's address, as `payment_page_url` has it.",
        "w3jv9qx2b7lk0tzr5mn8cypfhue",
    ),
    ("name", "/guides/", "The guide's name, as the front page links it.", "api"),
    ("name", "/assets/", "The file's name, as pages link it.", "accent-0f5c63-3a7bd3e2360a.css"),
    ("name", "/logos/", "The logo's name, as pages link it.", "2c26b46b68ffc68ff99b453c1d304134.png"),
    ("file", "", "The file's name, as the reference links it.", "start.js"),
    ("environment", "", "As in the URL that was handed out.", "test"),
    ("merchant", "", "As in the URL that was handed out.", "492409941476218"),
    ("ticket", "", "As in the URL that was handed out.", "01a21dea-7b5a-7b5f-be22-9d716ec03dae"),
    ("attachment", "", "As in the URL that was handed out.", A_FILE),
    ("id", "", "The `id` of what is called.", "1"),
];

const PAYMENT: &str = "The payment's `transaction_id`.";
const A_PAYMENT: &str = "pay_1795798235902_3m2ae4l7tmze";
const A_FILE: &str = "01a21dea-7b6c-76e2-b4fe-51c759dcec95";

/// The variable segments of a path, as parameters.
pub(super) fn of(path: &str) -> impl Iterator<Item = Value> {
    let variables = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    variables.map(move |name| {
        let (mut text, mut example, mut schema) =
            ("", json!(""), json!({ "type": "string", "minLength": 1 }));
        let meant = MEANINGS.iter().find(|(known, part, ..)| *known == name && path.contains(part));
        if let Some((_, _, meaning, value)) = meant {
            (text, example) = (*meaning, json!(value));
        }
        if name == "id" && path.contains("/merchants/{id}") {
            schema = json!({ "type": "integer", "format": "int64", "minimum": 1 });
            example = example.as_str().and_then(|digits| digits.parse::<i64>().ok()).into();
        }
        json!({
            "name": name, "in": "path", "required": true,
            "description": text, "schema": schema, "example": example,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{route_table::route_table, routing::RouteRow};

    #[test]
    fn every_segment_says_what_it_is() {
        for parameter in route_table().flat_map(|row| of(row.path()).collect::<Vec<_>>()) {
            assert!(!parameter["description"].as_str().expect("words").is_empty(), "{parameter}");
        }
        for (name, part, ..) in MEANINGS {
            let named = format!("{{{name}}}");
            let mut paths = route_table().map(RouteRow::path).filter(|path| path.contains(&named));
            assert!(paths.any(|path| path.contains(part)), "no path has {name} {part}");
        }
    }
}
