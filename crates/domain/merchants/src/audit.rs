//! Who changed what.

use quipu_kernel::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// Who made a change: a member of staff, or the shell of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// The operator's identifier, or `shell`.
    pub id: String,
    /// The operator's name, or the command.
    pub name: String,
}

impl Actor {
    /// Somebody with access to the machine's shell.
    pub fn shell() -> Self {
        Self { id: "shell".to_owned(), name: "command line".to_owned() }
    }
}

/// One line of the append-only audit log, written in the same commit as the change it tells of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRecord {
    /// Identifier (UUID v7, in the order of time).
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What was done, as `noun.verb`: `merchant.create`, `api_key.revoke`, `balance.adjust`.
    pub action: String,
    /// Whom it concerns.
    pub merchant_id: Option<i64>,
    /// The changed thing: `merchant/123`, `api_key/<id>`.
    pub subject: String,
    /// The thing before, without secrets; `null` for something new.
    pub before: Value,
    /// The thing after, without secrets; `null` for something gone.
    pub after: Value,
}
