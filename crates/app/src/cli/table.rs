//! The form in which people read results on a terminal: a table for a list, a line for each member of a
//! single thing.
//!
//! Programs read JSON. This form may change, and leaves out values that do not fit in a column.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The columns of lists, in order. A list shows those that its rows have.
const COLUMNS: [&str; 70] = [
    "at",
    "actor",
    "merchant_id",
    "operator_id",
    "key_id",
    "credential_id",
    "receipt_id",
    "refund_id",
    "ibanAccountId",
    "transaction_id",
    "payment_id",
    "ticket_id",
    "event_id",
    "endpoint_id",
    "id",
    "name",
    "title",
    "url",
    "role",
    "api_version",
    "environment",
    "book",
    "path",
    "scope",
    "credential",
    "kind",
    "currency",
    "method",
    "type",
    "direction",
    "partner",
    "rail",
    "account",
    "enabled",
    "amount",
    "available",
    "frozen",
    "deposit",
    "withdrawal",
    "commission",
    "adjustment",
    "min_amount",
    "max_amount",
    "previous_status",
    "status",
    "outcome",
    "priority",
    "assignee",
    "author_type",
    "internal",
    "body",
    "action",
    "invariant",
    "subject",
    "detail",
    "reason",
    "rail_reference",
    "provider_reference",
    "resolution",
    "error",
    "merchant_reference",
    "iban",
    "rows",
    "hash",
    "last_used_at",
    "expires_at",
    "revoked_at",
    "next_attempt_at",
    "received_at",
    "created_at",
];

/// A result in this form.
pub(super) fn laid_out(result: &Value) -> String {
    let mut text = String::new();
    match result {
        Value::Object(members) => lay_out_members(&mut text, members),
        Value::Array(rows) => lay_out_rows(&mut text, rows),
        single => lines(&mut text, &[vec![shown(single)]]),
    }
    text
}

/// Writes the plain members first, one a line, and then each list under its name.
fn lay_out_members(text: &mut String, members: &Map<String, Value>) {
    let mut pairs = Vec::new();
    flatten("", members, &mut pairs);
    let place = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap_or(COLUMNS.len());
    pairs.sort_by_key(|(name, _)| place(name));
    let is_list_with_count = members.get("data").is_some_and(Value::is_array);
    if !is_list_with_count {
        lines(text, &pairs.into_iter().map(|(name, value)| vec![name, value]).collect::<Vec<_>>());
    }
    let mut lists = Vec::new();
    collect_lists("", members, &mut lists);
    for (name, rows) in lists.into_iter().filter(|(_, rows)| is_list_with_count || !rows.is_empty()) {
        if !is_list_with_count && members.len() > 1 {
            let _ = writeln!(text, "\n{name}:");
        }
        lay_out_rows(text, rows);
    }
    if is_list_with_count && let Some(total) = members.get("total") {
        let shown = members["data"].as_array().map_or(0, Vec::len);
        let _ = writeln!(text, "{shown} of {total}");
    }
}

/// Collects the lists of objects, including nested ones such as `timeline.statuses`.
fn collect_lists<'a>(prefix: &str, members: &'a Map<String, Value>, lists: &mut Vec<(String, &'a [Value])>) {
    for (name, value) in members {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => collect_lists(&format!("{name}."), inner, lists),
            Value::Array(rows) if rows.iter().all(Value::is_object) => lists.push((name, rows)),
            _ => {}
        }
    }
}

/// Names nested members with a dot: `return_urls.success_url`.
fn flatten(prefix: &str, members: &Map<String, Value>, pairs: &mut Vec<(String, String)>) {
    for (name, value) in members {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => flatten(&format!("{name}."), inner, pairs),
            Value::Array(rows) if !rows.is_empty() && rows.iter().all(Value::is_object) => {}
            single => pairs.push((name, shown(single))),
        }
    }
}

fn lay_out_rows(text: &mut String, rows: &[Value]) {
    let has = |column: &&str| rows.iter().any(|row| !row[*column].is_null());
    let mut columns: Vec<_> = COLUMNS.into_iter().filter(has).collect();
    if columns.is_empty() {
        // Rows of another kind: what their first one has.
        let first = rows.first().and_then(Value::as_object);
        columns = first.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    }
    if columns.is_empty() {
        text.push_str("none\n");
        return;
    }
    let head = columns.iter().map(|column| column.to_uppercase()).collect();
    let cells = |row: &Value| columns.iter().map(|column| shown(&row[*column])).collect();
    let table: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    lines(text, &table);
}

/// The text of a cell. Control characters are removed, so that a merchant's text cannot move the reader's
/// cursor.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        // Who did something is named, and everything else is shown whole.
        Value::Object(members) => members.get("name").map_or_else(|| value.to_string(), shown),
        other => other.to_string(),
    };
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Writes cells in aligned columns, two blanks apart.
fn lines(text: &mut String, table: &[Vec<String>]) {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in table {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to memory cannot fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_a_table_with_the_columns_that_its_rows_have() {
        let list = json!({
            "data": [
                { "merchant_id": 7, "name": "Shop", "status": "active", "return_urls": {} },
                { "merchant_id": 12, "name": "Another shop", "status": "suspended", "return_urls": {} },
            ],
            "total": 9,
        });
        let expected = "MERCHANT_ID  NAME          STATUS\n\
                        7            Shop          active\n\
                        12           Another shop  suspended\n\
                        2 of 9\n";
        assert_eq!(laid_out(&list), expected);
        assert_eq!(laid_out(&json!({ "data": [], "total": 0 })), "none\n0 of 0\n");
    }

    #[test]
    fn a_single_thing_has_a_line_for_each_member() {
        let thing = json!({
            "key_id": "k", "environment": "test", "key": "qp_test_sk_x", "scopes": ["a", "b"],
            "rate_limits": { "standard_per_minute": null }, "name": "evil\u{1b}[2J",
        });
        let expected = "key_id                           k\n\
                        name                             evil [2J\n\
                        environment                      test\n\
                        key                              qp_test_sk_x\n\
                        rate_limits.standard_per_minute  -\n\
                        scopes                           a, b\n";
        assert_eq!(laid_out(&thing), expected);
    }

    #[test]
    fn lists_inside_a_member_stand_below_with_its_name() {
        let thing = json!({
            "transaction_id": "pay_1",
            "timeline": {
                "alerted_at": null,
                "statuses": [{ "previous_status": null, "status": "pending", "at": "t1" }],
                "entries": [{ "reason": "fund", "account": "available", "amount": 5 }],
                "refunds": [{ "refund_id": "ref_1", "amount": 3, "reason": "broken" }],
            },
        });
        let expected = "transaction_id       pay_1\n\
                        timeline.alerted_at  -\n\
                        \n\
                        timeline.entries:\n\
                        ACCOUNT    AMOUNT  REASON\n\
                        available  5       fund\n\
                        \n\
                        timeline.refunds:\n\
                        REFUND_ID  AMOUNT  REASON\n\
                        ref_1      3       broken\n\
                        \n\
                        timeline.statuses:\n\
                        AT  STATUS\n\
                        t1  pending\n";
        assert_eq!(laid_out(&thing), expected);
    }

    #[test]
    fn lists_inside_a_thing_stand_below_it() {
        let thing =
            json!({ "clean": false, "breaches": [{ "invariant": "sum", "subject": "x", "detail": "y" }] });
        let expected = "clean  false\n\nbreaches:\nINVARIANT  SUBJECT  DETAIL\nsum        x        y\n";
        assert_eq!(laid_out(&thing), expected);
        let clean = json!({ "clean": true, "breaches": [] });
        assert_eq!(laid_out(&clean), "breaches\nclean     true\n");
    }
}
