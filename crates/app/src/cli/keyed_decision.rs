//! Decisions in the shell that happen once. Every decision has an idempotency key, generated unless it is
//! given; a repeat with the same key prints the first answer.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::Args;
use quipu_commit::{Answer, Audience, IdempotencyKey, IdempotencyRecord, KeptAnswer};
use quipu_kernel::{StoreError, Tenant, base62};
use quipu_merchants::Actor;
use quipu_payments::{AdjustError, DecideError, Doing};
use quipu_signing::sha256_hex;
use serde_json::{Value, json};

use super::answer;
use crate::{shell_word::quoted, wire::Foundation};

#[derive(Debug, Args)]
pub(super) struct Key {
    /// The idempotency key of this attempt; generated unless given, and printed if the outcome is unknown
    #[arg(long, alias = "idempotency-key", value_parser = IdempotencyKey::from_str)]
    key: Option<IdempotencyKey>,
}

/// One decision of the shell.
pub(super) struct KeyedDecision<'a> {
    foundation: &'a Foundation,
    tenant: Tenant,
    pub(super) key: IdempotencyKey,
    asked: String,
    pub(super) doing: Doing<'a>,
}

impl<'a> KeyedDecision<'a> {
    /// Begins a decision. `asked` describes it in words that are the same for a repeat.
    pub(super) fn begin(foundation: &'a Foundation, tenant: Tenant, key: &Key, asked: &str) -> Result<Self> {
        let made_up = || format!("shell-{}", base62(&*foundation.entropy, 22)).parse();
        let key = key.key.clone().map_or_else(made_up, Ok)?;
        let (at, entropy) = (foundation.clock.now(), &*foundation.entropy);
        let doing = Doing { entropy, at, actor: Actor::shell() };
        Ok(Self { foundation, tenant, key, asked: sha256_hex(asked.as_bytes()), doing })
    }

    /// The first answer under this key, marked as `replayed`. It is looked up before the decision is checked,
    /// since the decision may no longer be allowed once it was made.
    pub(super) async fn repeated(&self) -> Result<Option<Value>> {
        let reads = self.foundation.payments();
        let kept = reads.kept_answer(self.tenant, Audience::Operator, &self.key, self.doing.at).await?;
        match kept {
            None => Ok(None),
            Some(kept) if kept.body_hash == self.asked => {
                let body = kept.answer.map(|answer| answer.body).unwrap_or_default();
                let mut answer: Value = serde_json::from_str(&body)?;
                answer["replayed"] = json!(true);
                Ok(Some(answer))
            }
            Some(_) => {
                bail!("the key {} was used for something else; choose another --key", self.key.as_str())
            }
        }
    }

    /// The record that keeps the answer under the key.
    pub(super) fn keeps(&self, data: &Value) -> IdempotencyRecord {
        IdempotencyRecord {
            audience: Audience::Operator,
            key: self.key.clone(),
            body_hash: self.asked.clone(),
            payment_id: None,
            answer: KeptAnswer::Given(Answer { status: 200, body: data.to_string() }),
            expires_at: self.doing.at.plus(IdempotencyRecord::KEPT_FOR),
        }
    }

    /// The answer to print after the decision was tried.
    pub(super) async fn outcome(&self, decided: Result<Value, impl Into<Undecided>>) -> Result<Value> {
        match decided.map_err(Into::into) {
            Ok(data) => Ok(data),
            Err(Undecided::KeyUsed) => {
                self.repeated().await?.context("another command runs under this key; run this one again")
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
