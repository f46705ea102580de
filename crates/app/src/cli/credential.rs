//! `quipu credential`: HMAC credentials from the shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use quipu_configuration::Settings;
use quipu_kernel::{Environment, MerchantId};
use quipu_merchants::{Actor, CallerBook as _, HmacCredential, NewCredential};
use serde_json::{Value, json};

use super::{answer, key::KeyLimits, session, values};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Issue a credential and print its secret, once; two may be active in each environment. It works for a
    /// merchant on v2 only
    Create {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// test or live
        #[arg(long)]
        environment: Environment,
        #[command(flatten)]
        limits: KeyLimits,
    },
    /// List the credentials of a merchant, revoked ones included
    List {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
    },
    /// Revoke a credential, and with it every bearer token made by it
    Revoke {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// The credential's identifier, as `list` shows it
        credential_id: String,
    },
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { merchant, environment, limits } => {
                let body = json!({ "environment": environment, "rate_limits": limits });
                let new = NewCredential::parse(merchant, &body).map_err(session::explained)?;
                session::existing(foundation, merchant).await?;
                let issued = foundation.onboarding().issue_credential(new, Actor::shell()).await;
                let issued = answer::explained(issued, || may_be_made(merchant))?;
                let mut answer = shown(&issued.record);
                answer["secret"] = json!(issued.secret.expose());
                answer::print(&answer)
            }
            Self::List { merchant } => {
                session::existing(foundation, merchant).await?;
                let credentials = foundation.store.credentials(merchant).await?;
                let rows: Vec<_> = credentials.iter().map(|envelope| shown(&envelope.key)).collect();
                session::print(&json!({ "data": rows }))
            }
            Self::Revoke { merchant, credential_id } => {
                session::existing(foundation, merchant).await?;
                let onboarding = foundation.onboarding();
                let revoked = onboarding.revoke_credential(merchant, &credential_id, Actor::shell()).await;
                answer::revoked(revoked, "credential", &format!("quipu credential list {merchant}"))?;
                answer::print(&json!({ "revoked": credential_id }))
            }
        })
    }
}

/// What is told if the outcome of `create` is unknown.
fn may_be_made(merchant: MerchantId) -> String {
    format!(
        "a credential may have been made, whose secret nobody has: quipu credential list {merchant} shows it, and \
         quipu credential revoke {merchant} CREDENTIAL_ID ends it"
    )
}

fn shown(credential: &HmacCredential) -> Value {
    json!({
        "credential_id": credential.credential_id,
        "environment": credential.tenant.environment(),
        "rate_limits": credential.rate_limits,
        "revoked_at": credential.revoked_at,
        "created_at": credential.created_at,
    })
}
