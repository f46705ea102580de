//! The requests of support about tickets.

use quipu_kernel::{Fields, Problems, unless_blank};
use serde_json::Value;

use crate::{
    draft::{MAX_BODY, MAX_TEXT},
    status::Status,
};

/// Reads the member of support who shall work on a ticket; `null` means nobody.
pub fn parse_assignment(body: &Value) -> Result<Option<String>, Problems> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    if body.get("assignee").is_some_and(Value::is_null) {
        return Ok(None);
    }
    let assignee = fields.required_text("assignee", MAX_TEXT, &mut problems);
    problems.admit(assignee.map(|assignee| Some(assignee.to_owned())))
}

/// A valid request to move a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveDraft {
    pub(crate) status: Status,
    pub(crate) resolution_summary: Option<String>,
}

impl MoveDraft {
    /// Reads the body of a request, or answers all its problems. Only a status that ends the ticket may have
    /// a summary.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let status = fields.required_parsed("status", &mut problems);
        let summary = fields.long_text("resolution_summary", MAX_TEXT, &mut problems);
        let ends = matches!(status, None | Some(Status::Resolved | Status::Closed | Status::Canceled));
        if summary.is_some() && !ends {
            problems.add("resolution_summary", "is only for status resolved, closed or canceled");
        }
        let summary = summary.and_then(unless_blank).map(str::to_owned);
        let draft = status.map(|status| Self { status, resolution_summary: summary });
        problems.admit(draft)
    }
}

/// A valid comment or note of support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyDraft {
    pub(crate) body: String,
    pub(crate) internal: bool,
}

impl ReplyDraft {
    /// Reads the body of a request, or answers all its problems.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let text = fields.required_long_text("body", MAX_BODY, &mut problems);
        let internal = fields.boolean("internal", &mut problems).unwrap_or(false);
        problems.admit(text.map(|text| Self { body: text.to_owned(), internal }))
    }
}
