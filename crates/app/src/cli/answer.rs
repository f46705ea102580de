//! The answer of a command that has changed something. The change is valid even if its answer cannot be
//! printed, and the person who typed the command must not take it for refused.

use std::fmt;

use anyhow::{Result, bail};
use quipu_commit::IdempotencyKey;
use quipu_kernel::StoreError;
use quipu_merchants::DirectoryError;
use quipu_payments::DecideError;
use quipu_tickets::TicketError;
use quipu_webhooks::EndpointError;
use serde::Serialize;
use serde_json::{Map, Value};

use super::session;
use crate::{shell_word::quoted, standard_output};

/// The error of a command that succeeded and whose answer could not be written. It names what was made and
/// how to repeat the command, and shows no secret.
#[derive(Debug)]
pub(crate) struct Unanswered {
    ids: Vec<String>,
    key: Option<String>,
}

/// Prints the answer of a successful change.
pub(super) fn print(answer: &impl Serialize) -> Result<()> {
    print_under(None, answer)
}

/// Prints the answer of a successful change that was made under an idempotency key.
pub(super) fn print_under(key: Option<&IdempotencyKey>, answer: &impl Serialize) -> Result<()> {
    let printed = session::laid_out(answer).and_then(|text| standard_output::write_once(&text));
    printed.map_err(|error| error.context(Unanswered::of(key, answer)))
}

impl Unanswered {
    fn of(key: Option<&IdempotencyKey>, answer: &impl Serialize) -> Self {
        let mut ids = Vec::new();
        if let Ok(Value::Object(members)) = serde_json::to_value(answer) {
            add_ids(&members, &mut ids);
        }
        Self { ids, key: key.map(|key| quoted(key.as_str())) }
    }
}

/// Collects the identifiers of an answer, and the files that it names. They are no secrets; its other members may be.
fn add_ids(members: &Map<String, Value>, ids: &mut Vec<String>) {
    let is_id = |name: &str| {
        matches!(name, "id" | "file" | "restored") || name.ends_with("_id") || name.ends_with("Id")
    };
    for (name, value) in members {
        match value {
            Value::String(id) if is_id(name) => ids.push(format!("{name} {id}")),
            Value::Number(id) if is_id(name) => ids.push(format!("{name} {id}")),
            Value::Array(rows) if name == "credentials" => {
                rows.iter().filter_map(Value::as_object).for_each(|row| add_ids(row, ids));
            }
            _ => {}
        }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the command was done, but its answer cannot be written")?;
        if !self.ids.is_empty() {
            write!(f, " ({})", self.ids.join(", "))?;
        }
        match &self.key {
            Some(key) => write!(f, "; repeat it with --key {key}, which does it once and prints the answer"),
            None => Ok(()),
        }
    }
}

/// The outcome of a change that cannot be repeated under a key. If it is unknown, the error says what may have
/// been made, and how to find it.
pub(super) fn explained<T>(
    outcome: Result<T, impl ChangeError>,
    what_may_be: impl FnOnce() -> String,
) -> Result<T> {
    outcome.map_err(|error| {
        let is_unknown = matches!(error.of_store(), Some(StoreError::OutcomeUnknown(_)));
        let error = error.into();
        if is_unknown { error.context(what_may_be()) } else { error }
    })
}

/// The result of revoking a part of an existing merchant, such as a key; fails if the part does not exist. `list` is
/// the command that shows these parts.
pub(super) fn revoked<T>(outcome: Result<T, DirectoryError>, part: &str, list: &str) -> Result<T> {
    match outcome {
        Err(DirectoryError::NotFound) => bail!("the merchant has no such {part}"),
        outcome => explained(outcome, || format!("the {part} may be revoked: {list} shows it")),
    }
}

/// Whether the store could not tell if a decision was made.
pub(super) fn is_unknown(error: &anyhow::Error) -> bool {
    let of_store =
        error.downcast_ref::<StoreError>().or_else(|| error.downcast_ref::<DecideError>()?.of_store());
    matches!(of_store, Some(StoreError::OutcomeUnknown(_)))
}

/// The error of a change, which may be that of the store.
pub(super) trait ChangeError: Into<anyhow::Error> {
    /// The error of the store, if it is one.
    fn of_store(&self) -> Option<&StoreError>;
}

impl ChangeError for StoreError {
    fn of_store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

macro_rules! change_error {
    ($($name:ty),+) => { $(
        impl ChangeError for $name {
            fn of_store(&self) -> Option<&StoreError> {
                if let Self::Store(error) = self { Some(error) } else { None }
            }
        }
    )+ };
}

change_error!(DecideError, DirectoryError, EndpointError, TicketError);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_is_lost_is_told_by_its_identifiers_and_its_key_without_a_secret() {
        let key = "it's one".parse().expect("a key");
        let answer = json!({
            "merchant_id": 7,
            "transaction_id": "pay_1",
            "ticket_id": null,
            "token": "secret",
            "credentials": [{ "credential_id": "hc_1", "secret": "secret" }],
        });
        let told = Unanswered::of(Some(&key), &answer).to_string();
        for part in ["was done", "merchant_id 7", "transaction_id pay_1", "credential_id hc_1"] {
            assert!(told.contains(part), "{told}");
        }
        assert!(told.contains(r"--key 'it'\''s one'"), "{told}");
        assert!(!told.contains("secret") && !told.contains("ticket_id"), "{told}");
    }

    #[test]
    fn only_an_unknown_outcome_is_told_with_what_may_have_been_made() {
        let unknown = || StoreError::OutcomeUnknown("silence".to_owned());
        let of_directory = told(DirectoryError::Store(unknown()));
        let of_webhook = told(EndpointError::Store(unknown()));
        let of_ticket = told(TicketError::Store(unknown()));
        for told in [told(unknown()), of_directory, of_webhook, of_ticket] {
            assert!(told.starts_with("a key may have been made: ") && told.ends_with("silence"), "{told}");
        }
        for told in [told(StoreError::Overloaded), told(DirectoryError::NotFound)] {
            assert!(!told.contains("may have been"));
        }
    }

    fn told(error: impl ChangeError) -> String {
        let refused = explained::<()>(Err(error), || "a key may have been made".to_owned());
        format!("{:#}", refused.expect_err("it stays an error"))
    }
}
