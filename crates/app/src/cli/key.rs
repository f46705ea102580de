//! `quipu key`: API keys from the shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Environment, MerchantId};
use quipu_merchants::{Actor, ApiKeyRecord, Merchants as _, NewApiKey};
use serde::Serialize;
use serde_json::json;

use super::{answer, session, values};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Issue an API key and print it, once
    Create {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// test or live
        #[arg(long)]
        environment: Environment,
        /// A label for people
        #[arg(long, default_value = "command line")]
        name: String,
        /// What it may do, separated by commas; everything unless given
        #[arg(long)]
        scopes: Option<String>,
        /// When it ends by itself, ISO 8601
        #[arg(long)]
        expires_at: Option<String>,
        #[command(flatten)]
        limits: KeyLimits,
    },
    /// List the keys of a merchant, revoked ones included
    List {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
    },
    /// Revoke a key, and with it every bearer token made by it
    Revoke {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// The key's identifier, as `list` shows it
        key_id: String,
    },
}

/// Limits of a key or credential that differ from the configured ones, as a body names them.
#[derive(Debug, Args, Serialize)]
pub(super) struct KeyLimits {
    /// Payment creations in any minute, if not as configured
    #[arg(long, value_name = "NUMBER", value_parser = values::integer)]
    create_per_minute: Option<i64>,
    /// Payment creations in any ten seconds, if not as configured
    #[arg(long, value_name = "NUMBER", value_parser = values::integer)]
    create_per_10s: Option<i64>,
    /// All other calls in any minute, if not as configured
    #[arg(long, value_name = "NUMBER", value_parser = values::integer)]
    standard_per_minute: Option<i64>,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { merchant, environment, name, scopes, expires_at, limits } => {
                let body = json!({
                    "environment": environment,
                    "name": name,
                    "scopes": scopes.as_deref().map(names),
                    "expires_at": expires_at,
                    "rate_limits": limits,
                });
                let new = NewApiKey::parse(merchant, &body, foundation.clock.now());
                create(foundation, new.map_err(session::explained)?).await
            }
            Self::List { merchant } => {
                session::existing(foundation, merchant).await?;
                let keys = foundation.store.api_keys(merchant).await?;
                session::print(&json!({ "data": keys.iter().map(ApiKeyRecord::shown).collect::<Vec<_>>() }))
            }
            Self::Revoke { merchant, key_id } => {
                session::existing(foundation, merchant).await?;
                let onboarding = foundation.onboarding();
                let revoked = onboarding.revoke_api_key(merchant, &key_id, Actor::shell()).await;
                answer::revoked(revoked, "key", &format!("quipu key list {merchant}"))?;
                answer::print(&json!({ "revoked": key_id }))
            }
        })
    }
}

/// The names in a list with commas.
fn names(list: &str) -> Vec<&str> {
    list.split([',', ' ']).filter(|name| !name.is_empty()).collect()
}

async fn create(foundation: &Foundation, new: NewApiKey) -> Result<()> {
    let merchant = new.tenant.merchant();
    session::existing(foundation, merchant).await?;
    let issued = foundation.onboarding().issue_api_key(new, Actor::shell()).await;
    let issued = answer::explained(issued, || {
        format!(
            "a key may have been made, which nobody has: quipu key list {merchant} shows it, and \
             quipu key revoke {merchant} KEY_ID ends it"
        )
    })?;
    let mut answer = issued.record.shown();
    answer["key"] = json!(issued.secret.expose());
    answer::print(&answer)
}
