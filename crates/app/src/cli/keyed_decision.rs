//! Decisions in the shell that happen once. Every decision has an idempotency key, generated unless it is
//! given; a repeat with the same key prints the first answer.

use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use quipu_commit::{Answer, IdempotencyKey, IdempotencyRecord};
use quipu_kernel::{StoreError, Tenant, base62};
use quipu_merchants::Actor;
use quipu_payments::{
    AdjustError, Answered, AttemptError, DecideError, StaffAction, StaffAttempt, StaffCall, StaffRequest,
};
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
    /// Begins a decision. `asked` describes it in words that are the same for a repeat. A generated key is told
    /// at once: whoever interrupts the command needs it to repeat it.
    pub(super) fn begin(
        foundation: &'a Foundation,
        tenant: Tenant,
        call: StaffCall<'_>,
        key: &Key,
        asked: &str,
    ) -> Result<Self> {
        let made_up = || -> Result<IdempotencyKey> {
            let key: IdempotencyKey = format!("shell-{}", base62(&*foundation.entropy, 22)).parse()?;
            let shown = key.as_str();
            standard_error::tell(&format!("If this command is interrupted, repeat it with --key {shown}"));
            Ok(key)
        };
        let key = key.key.clone().map_or_else(made_up, Ok)?;
        let (at, entropy) = (foundation.clock.now(), &*foundation.entropy);
        let action = StaffAction { entropy, at, actor: Actor::shell() };
        let request =
            StaffRequest { tenant, call, key: &key, request_hash: sha256_hex(asked.as_bytes()), at };
        let attempt = StaffAttempt::new(foundation.payments(), foundation.commit(), request);
        Ok(Self { attempt, key, action })
    }

    /// The first answer under this key, marked as `replayed`.
    pub(super) async fn repeated(&self) -> Result<Option<Value>> {
        self.attempt.repeat().await.map_err(|error| self.told(error))?.as_ref().map(replayed).transpose()
    }

    fn told(&self, error: AttemptError) -> anyhow::Error {
        match error {
            AttemptError::Mismatch => {
                anyhow!("the key {} was used for something else; choose another --key", self.key.as_str())
            }
            AttemptError::InUse => anyhow!("another command runs under this key; run this one again"),
            AttemptError::Store(error) => error.into(),
        }
    }

    /// The record that keeps the answer under the key.
    pub(super) fn keeps(&self, data: &Value) -> IdempotencyRecord {
        self.attempt.record(Answer { status: 200, body: data.to_string() })
    }

    /// The answer to print after the decision was tried.
    pub(super) async fn outcome(&self, decided: Result<Value, impl Into<Undecided>>) -> Result<Value> {
        match decided.map_err(Into::into) {
            Ok(data) => Ok(data),
            Err(Undecided::KeyUsed) => {
                replayed(&self.attempt.answer_of_the_winner().await.map_err(|error| self.told(error))?)
            }
            Err(Undecided::Unknown(cause)) => {
                let key = quoted(self.key.as_str());
                bail!(
                    "{cause}\nThe outcome is unknown. Repeat the command with --key {key}, which does it once"
                )
            }
            // Another command under the same key may have been first.
            Err(Undecided::Refused(error)) => self.repeated().await?.ok_or(error),
        }
    }

    /// Prints the answer after the decision was tried.
    pub(super) async fn end(self, decided: Result<Value, DecideError>) -> Result<()> {
        let answer = self.outcome(decided).await?;
        self.print(&answer)
    }

    /// Prints a new or repeated answer.
    pub(super) fn print(&self, answer: &Value) -> Result<()> {
        answer::print_under(Some(&self.key), answer)
    }
}

fn replayed(first: &Answered) -> Result<Value> {
    let mut answer: Value = serde_json::from_str(&first.answer.body)?;
    answer["replayed"] = json!(true);
    Ok(answer)
}

/// Why the decision has no answer of its own.
pub(super) enum Undecided {
    /// Another command used the key meanwhile.
    KeyUsed,
    /// The decision may have been committed.
    Unknown(String),
    Refused(anyhow::Error),
}

impl From<DecideError> for Undecided {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::IdempotencyKeyUsed => Self::KeyUsed,
            DecideError::Store(StoreError::OutcomeUnknown(_)) => Self::Unknown(error.to_string()),
            _ => Self::Refused(error.into()),
        }
    }
}

impl From<AdjustError> for Undecided {
    fn from(error: AdjustError) -> Self {
        match error {
            AdjustError::IdempotencyKeyUsed => Self::KeyUsed,
            AdjustError::Store(StoreError::OutcomeUnknown(_)) => Self::Unknown(error.to_string()),
            _ => Self::Refused(error.into()),
        }
    }
}
