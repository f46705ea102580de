//! The audit log: who changed what.

use quipu_kernel::{Entropy, MerchantId, Timestamp, uuid_v7};
use serde::Serialize;
use serde_json::Value;

use crate::credential::HmacCredential;

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
    /// When it was done (UTC).
    pub at: Timestamp,
    /// The person or shell that did it.
    pub actor: Actor,
    /// What was done, as `noun.verb`: `merchant.create`, `api_key.revoke`, `balance.adjust`.
    pub action: String,
    /// The number of the merchant that it concerns, if it concerns one.
    pub merchant_id: Option<MerchantId>,
    /// The changed thing: `merchant/123`, `api_key/<id>`.
    pub subject: String,
    /// The thing before, without secrets; `null` for something new.
    pub before: Value,
    /// The thing after, without secrets; `null` for something gone.
    pub after: Value,
}

impl AuditRecord {
    /// A line about one change made at `at`, which concerns `merchant` if any. Its subject is the merchant until
    /// [`about`](Self::about) names another.
    pub fn new(
        entropy: &dyn Entropy,
        at: Timestamp,
        actor: Actor,
        action: &str,
        merchant: Option<MerchantId>,
    ) -> Self {
        Self {
            id: uuid_v7(at, entropy),
            at,
            actor,
            action: action.to_owned(),
            merchant_id: merchant,
            subject: merchant.map(|merchant| format!("merchant/{merchant}")).unwrap_or_default(),
            before: Value::Null,
            after: Value::Null,
        }
    }

    /// The same line, about `subject` instead of the merchant itself.
    pub fn about(mut self, subject: String) -> Self {
        self.subject = subject;
        self
    }

    /// The same line, with the thing before and after; neither may hold secrets.
    pub fn changing(mut self, before: Value, after: Value) -> Self {
        self.before = before;
        self.after = after;
        self
    }

    /// The same line, with one more member of the thing after.
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(members) = &mut self.after {
            members.insert(member.to_owned(), value.into());
        }
        self
    }

    /// The same line for a switch of versions, with the API keys and credentials that it revoked and those
    /// that it issued. Only their identifiers are listed.
    pub fn of_switch(
        self,
        mut ended_keys: Vec<String>,
        mut ended_credentials: Vec<String>,
        issued: &[HmacCredential],
    ) -> Self {
        ended_keys.sort_unstable();
        ended_credentials.sort_unstable();
        let issued: Vec<_> = issued.iter().map(|credential| credential.credential_id.clone()).collect();
        self.with("revoked_api_keys", ended_keys)
            .with("revoked_hmac_credentials", ended_credentials)
            .with("issued_hmac_credentials", issued)
    }
}
