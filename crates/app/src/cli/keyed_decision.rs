//! Decisions in the shell that happen once. Every decision has an idempotency key, generated unless it is
//! given; a repeat with the same key prints the first answer.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use clap::Args;
use quipu_commit::{Answer, IdempotencyKey};
use quipu_kernel::{Tenant, base62};
use quipu_merchants::{Actor, AuditRecord};
use quipu_payments::{AttemptError, Recorded, StaffAction, StaffAttempt, StaffCall, StaffRequest, Undecided};
use quipu_signing::sha256_hex;
use serde_json::{Value, json};

use super::answer;
use crate::{shell_word::quoted, standard_error, wire::Foundation};

#[derive(Debug, Args)]
pub(super) struct Key {
    /// The idempotency key of this attempt; generated unless given, and printed before the attempt begins
    #[arg(long, alias = "idempotency-key", value_parser = IdempotencyKey::from_str)]
    key: Option<IdempotencyKey>,
}

/// One decision of the shell.
pub(super) struct KeyedDecision<'a> {
    attempt: StaffAttempt,
    pub(super) key: IdempotencyKey,
    pub(super) action: StaffAction<'a>,
}

impl<'a> KeyedDecision<'a> {
    /// The decision under `key`. `asked` is an array of everything that was asked for, the same for a repeat. A
    /// generated key is told at once: whoever interrupts the command needs it to repeat it.
    pub(super) fn of(
        foundation: &'a Foundation,
        tenant: Tenant,
        call: StaffCall<'_>,
        key: &Key,
        asked: &Value,
    ) -> Result<Self> {
        let made_up = || -> Result<IdempotencyKey> {
            let key: IdempotencyKey = format!("shell-{}", base62(&*foundation.entropy, 22)).parse()?;
            let shown = key.as_str();
            standard_error::write_line(&format!(
                "If this command is interrupted, repeat it with --key {shown}"
            ));
            Ok(key)
        };
        let key = key.key.clone().map_or_else(made_up, Ok)?;
        let (at, entropy) = (foundation.clock.now(), &*foundation.entropy);
        let action = StaffAction { entropy, at, actor: Actor::shell() };
        let request_hash = sha256_hex(asked.to_string().as_bytes());
        let request = StaffRequest { tenant, call, key: &key, request_hash, at };
        let attempt = StaffAttempt::new(foundation.payments(), foundation.commit(), request);
        Ok(Self { attempt, key, action })
    }

    /// What the decision's commit records: this line of the audit log, and the answer under the key.
    pub(super) fn recorded(&self, audit: AuditRecord, data: &Value) -> Recorded {
        Recorded { audit, kept_answer: Some(self.attempt.record(Answer::success(data.to_string()))) }
    }

    /// Makes the decision, unless it was made under this key, and answers what is to be printed: a repeat is the
    /// first answer, marked as `replayed`.
    pub(super) async fn run(
        &self,
        decide: impl AsyncFnOnce() -> Result<Value, Undecided<anyhow::Error>>,
    ) -> Result<Value> {
        let decide = async || Ok(Answer::success(decide().await?.to_string()));
        let answered = self.attempt.run(|_| None, decide).await.map_err(|error| self.explained(error))?;
        let mut answer: Value = serde_json::from_str(&answered.answer.body)?;
        if answered.replayed {
            answer["replayed"] = json!(true);
        }
        Ok(answer)
    }

    fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let key = self.key.as_str();
        match error.downcast_ref() {
            Some(AttemptError::Mismatch) => {
                anyhow!("the key {key} was used for something else; choose another --key")
            }
            Some(AttemptError::InUse) => anyhow!("another command runs under this key; run this one again"),
            _ if answer::is_unknown(&error) => anyhow!(
                "{error}\nThe outcome is unknown. Repeat the command with --key {}, which does it once",
                quoted(key)
            ),
            _ => error,
        }
    }

    /// Prints a new or repeated answer.
    pub(super) fn print(&self, answer: &Value) -> Result<()> {
        answer::print_under(Some(&self.key), answer)
    }
}
