//! Doing once what is decided in the shell. Every decision has a key, made up unless it is given; a repeat under the same key
//! shows what was answered first.

use anyhow::{Context, Result, bail};
use clap::Args;
use quipu_commit::{Answer, Audience, IdempotencyKey, IdempotencyRecord, KeptAnswer};
use quipu_kernel::{Tenant, base62};
use quipu_merchants::{Actor, StoreUnavailable};
use quipu_payments::{DecideError, Doing};
use quipu_signing::sha256_hex;
use serde_json::Value;

use super::session;
use crate::wire::Foundation;

#[derive(Debug, Args)]
pub(super) struct Key {
    /// The idempotency key of this attempt; generated unless given, and printed if the outcome is unknown
    #[arg(long = "key", value_name = "KEY")]
    key: Option<String>,
}

/// One decision of the shell.
pub(super) struct KeyedDecision<'a> {
    foundation: &'a Foundation,
    tenant: Tenant,
    key: IdempotencyKey,
    asked: String,
    pub(super) doing: Doing<'a>,
}

impl<'a> KeyedDecision<'a> {
    /// Begins what `asked` says, in words that are the same for a repeat.
    pub(super) fn begin(foundation: &'a Foundation, tenant: Tenant, key: &Key, asked: &str) -> Result<Self> {
        let made_up = || format!("shell-{}", base62(&*foundation.entropy, 22));
        let key = key.key.clone().unwrap_or_else(made_up);
        let key = key.parse().ok().context("--key must be 1 to 255 printable ASCII characters")?;
        let (at, entropy) = (foundation.clock.now(), &*foundation.entropy);
        let doing = Doing { entropy, at, actor: Actor::shell() };
        Ok(Self { foundation, tenant, key, asked: sha256_hex(asked.as_bytes()), doing })
    }

    /// The answer that was given before under this key. The decision may no longer be allowed now that it was made.
    pub(super) async fn repeated(&self) -> Result<Option<Value>> {
        let reads = self.foundation.payments();
        let kept = reads.kept_answer(self.tenant, Audience::Operator, &self.key, self.doing.at).await?;
        match kept {
            None => Ok(None),
            Some(kept) if kept.body_hash == self.asked => {
                let body = kept.answer.map(|answer| answer.body).unwrap_or_default();
                Ok(Some(serde_json::from_str(&body)?))
            }
            Some(_) => bail!("the key {} was used for something else", self.key.as_str()),
        }
    }

    /// What is kept of the answer.
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

    /// Prints what came of it.
    pub(super) async fn end(self, decided: Result<Value, DecideError>) -> Result<()> {
        match decided {
            Ok(data) => session::print(&data),
            Err(DecideError::IdempotencyKeyUsed) => {
                let answer = self.repeated().await?;
                session::print(&answer.context("the key is in use")?)
            }
            Err(error @ DecideError::Store(StoreUnavailable::Unknown(_))) => {
                bail!("{error}\nThe outcome is unknown. Repeat the command with --key {}", self.key.as_str())
            }
            Err(error) => Err(error.into()),
        }
    }
}
