//! `quipu merchant adjust`: once, however often it is run under one key.

use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use quipu_commit::{Answer, Audience, IdempotencyKey, IdempotencyRecord, KeptAnswer};
use quipu_kernel::{Currency, Environment, MerchantId, Minor, Tenant};
use quipu_ledger::LedgerReads;
use quipu_merchants::{Actor, StoreUnavailable};
use quipu_payments::{AdjustError, PaymentReads};
use quipu_signing::sha256_hex;
use serde_json::{Value, json};

use super::{session, values};
use crate::wire::Foundation;

#[derive(Debug, Args)]
pub(super) struct Adjustment {
    /// test or live
    #[arg(long)]
    environment: Environment,
    /// Three letters, such as MXN
    #[arg(long)]
    currency: Currency,
    /// Minor units, with a sign where they are taken away
    #[arg(long, allow_negative_numbers = true, value_parser = values::signed_amount)]
    amount: Minor,
    /// Shown in the audit log
    #[arg(long, value_parser = values::reason)]
    reason: String,
    /// Names this adjustment, so that running it again makes it once; one is made up unless given
    #[arg(long, value_name = "KEY", value_parser = IdempotencyKey::from_str)]
    idempotency_key: Option<IdempotencyKey>,
}

/// Makes the adjustment and prints what came of it.
pub(super) async fn run(foundation: &Foundation, id: MerchantId, adjustment: Adjustment) -> Result<()> {
    session::existing(foundation, id).await?;
    let keyed = KeyedAdjustment::new(id, adjustment)?;
    if let Some(answer) = keyed.repeated(foundation).await? {
        return session::print(&answer);
    }
    let Adjustment { currency, amount, reason, .. } = &keyed.adjustment;
    let onboarding = foundation.onboarding();
    let audit = onboarding.audit_of_adjustment(keyed.tenant, *currency, *amount, reason, Actor::shell());
    let record = Some(keyed.record(foundation));
    let made = foundation.adjust().run_recorded(keyed.tenant, *currency, *amount, audit, record).await;
    match made {
        Ok(()) => session::print(&keyed.answer_with_balance(foundation).await),
        Err(AdjustError::IdempotencyKeyUsed) => {
            let answer = keyed.repeated(foundation).await?;
            session::print(&answer.context("the key is in use")?)
        }
        Err(AdjustError::Store(StoreUnavailable::Unknown(cause))) => bail!(
            "{cause}\nIt is not known whether the adjustment was made. Run this, which makes it once, however often it is \
             run:\n  {}",
            keyed.command()
        ),
        Err(error) => Err(anyhow!(error)),
    }
}

/// One adjustment under its key.
struct KeyedAdjustment {
    tenant: Tenant,
    id: MerchantId,
    key: IdempotencyKey,
    adjustment: Adjustment,
}

impl KeyedAdjustment {
    fn new(id: MerchantId, adjustment: Adjustment) -> Result<Self> {
        let made_up = || uuid::Uuid::new_v4().to_string().parse::<IdempotencyKey>();
        let key = adjustment.idempotency_key.clone().map_or_else(made_up, Ok)?;
        Ok(Self { tenant: Tenant::new(id, adjustment.environment), id, key, adjustment })
    }

    /// What the key is bound to: another adjustment under it is refused.
    fn asked(&self) -> String {
        let Adjustment { currency, amount, reason, .. } = &self.adjustment;
        sha256_hex(
            json!(["merchant adjust", self.tenant.to_string(), currency, amount, reason])
                .to_string()
                .as_bytes(),
        )
    }

    fn answer(&self) -> Value {
        json!({
            "merchant_id": self.id,
            "environment": self.adjustment.environment,
            "currency": self.adjustment.currency,
            "amount": self.adjustment.amount,
            "idempotency_key": self.key.as_str(),
        })
    }

    fn record(&self, foundation: &Foundation) -> IdempotencyRecord {
        IdempotencyRecord {
            audience: Audience::Operator,
            key: self.key.clone(),
            body_hash: self.asked(),
            payment_id: None,
            answer: KeptAnswer::Given(Answer { status: 200, body: self.answer().to_string() }),
            expires_at: foundation.clock.now().plus(IdempotencyRecord::KEPT_FOR),
        }
    }

    /// The answer of an earlier run under the same key.
    async fn repeated(&self, foundation: &Foundation) -> Result<Option<Value>> {
        let now = foundation.clock.now();
        let kept = foundation.store.kept_answer(self.tenant, Audience::Operator, &self.key, now).await?;
        let Some(kept) = kept else { return Ok(None) };
        if kept.body_hash != self.asked() {
            bail!("the idempotency key was used for something else");
        }
        let mut answer = self.answer_with_balance(foundation).await;
        answer["replayed"] = json!(true);
        Ok(Some(answer))
    }

    /// The adjustment is made, whether or not its balance can be read.
    async fn answer_with_balance(&self, foundation: &Foundation) -> Value {
        let mut answer = self.answer();
        if let Ok(balance) = foundation.store.balance(self.tenant, self.adjustment.currency).await {
            answer["available"] = json!(balance.available);
            answer["frozen"] = json!(balance.frozen);
        }
        answer
    }

    /// The line that runs it again.
    fn command(&self) -> String {
        let Adjustment { environment, currency, amount, reason, .. } = &self.adjustment;
        format!(
            "quipu merchant adjust {} --environment {} --currency {currency} --amount {amount} --reason {} \
             --idempotency-key {}",
            self.id.0,
            environment.as_str(),
            quoted(reason),
            quoted(self.key.as_str()),
        )
    }
}

/// As a shell reads one word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(amount: i64, reason: &str) -> KeyedAdjustment {
        let adjustment = Adjustment {
            environment: Environment::Test,
            currency: Currency::MXN,
            amount: Minor::new(amount).expect("in range"),
            reason: reason.to_owned(),
            idempotency_key: Some("the-key".parse().expect("a key")),
        };
        KeyedAdjustment::new(MerchantId(7), adjustment).expect("a key")
    }

    #[test]
    fn the_line_that_repeats_an_adjustment_is_the_same_adjustment() {
        assert_eq!(
            once(-5, "it's wrong").command(),
            r"quipu merchant adjust 7 --environment test --currency MXN --amount -5 --reason 'it'\''s wrong' --idempotency-key 'the-key'"
        );
    }

    #[test]
    fn a_key_is_bound_to_what_was_asked() {
        assert_eq!(once(5, "a").asked(), once(5, "a").asked());
        assert_ne!(once(5, "a").asked(), once(6, "a").asked());
        assert_ne!(once(5, "a").asked(), once(5, "b").asked());
    }
}
