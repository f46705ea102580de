//! `quipu merchant`: onboarding from the shell.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use quipu_kernel::{MerchantId, Page, Secret};
use quipu_merchants::{
    Actor, ApiVersion, Directory, Merchant, MerchantPatch, MerchantStatus, NewMerchant, ReturnUrls,
};
use serde_json::{Value, json};

use super::{session, values};
use crate::{config::Settings, wire::Foundation};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a merchant with the routes of the test environment, and print its webhook secrets
    Create {
        /// The merchant's name
        #[arg(long, value_parser = values::name)]
        name: String,
        /// v1 (API keys) or v2 (signed calls)
        #[arg(long, default_value = "v1")]
        api_version: ApiVersion,
    },
    /// List merchants, newest first
    List {
        /// How many at most, 1 to 100
        #[arg(long, default_value_t = Page::DEFAULT_LIMIT)]
        limit: u32,
        /// After how many others
        #[arg(long, default_value_t = 0)]
        offset: u64,
    },
    /// Show one merchant
    Show {
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Refuse every call of a merchant until it is activated again
    Suspend {
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Let a suspended merchant act again
    Activate {
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Move a merchant to another version: its keys and credentials end, and for v2 new credentials are printed, once
    Switch {
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// v1 or v2
        #[arg(long)]
        to: ApiVersion,
    },
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { name, api_version } => create(foundation, name, api_version).await,
            Self::List { limit, offset } => list(foundation, limit, offset).await,
            Self::Show { id } => {
                let merchant = foundation.store.merchant(id).await?.context("there is no such merchant")?;
                session::print(&shown(&merchant))
            }
            Self::Suspend { id } => set_status(foundation, id, MerchantStatus::Suspended).await,
            Self::Activate { id } => set_status(foundation, id, MerchantStatus::Active).await,
            Self::Switch { id, to } => switch(foundation, id, to).await,
        })
    }
}

async fn create(foundation: &Foundation, name: String, api_version: ApiVersion) -> Result<()> {
    let new = NewMerchant { name, api_version, return_urls: ReturnUrls::default() };
    let (merchant, webhook_secrets) = foundation.onboarding().create_merchant(new, Actor::shell()).await?;
    let mut answer = shown(&merchant);
    let [test, live] = webhook_secrets.each_ref().map(Secret::expose);
    answer["default_webhook_secrets"] = json!({ "test": test, "live": live });
    session::print(&answer)
}

async fn list(foundation: &Foundation, limit: u32, offset: u64) -> Result<()> {
    let page = Page::new(limit, offset).context("--limit must be 1 to 100")?;
    let (merchants, total) = foundation.store.merchants(page).await?;
    let merchants: Vec<_> = merchants.iter().map(shown).collect();
    session::print(&json!({ "data": merchants, "total": total }))
}

async fn set_status(foundation: &Foundation, id: MerchantId, status: MerchantStatus) -> Result<()> {
    let patch = MerchantPatch { status: Some(status), ..MerchantPatch::default() };
    session::print(&shown(&foundation.onboarding().change_merchant(id, patch, Actor::shell()).await?))
}

async fn switch(foundation: &Foundation, id: MerchantId, to: ApiVersion) -> Result<()> {
    let issued = foundation.onboarding().switch(id, to, Actor::shell()).await?;
    let credential = |issued: &quipu_merchants::Issued<quipu_merchants::HmacCredential>| {
        json!({
            "environment": issued.record.tenant.environment(),
            "credential_id": issued.record.credential_id,
            "secret": issued.secret.expose(),
        })
    };
    let credentials: Vec<_> = issued.iter().map(credential).collect();
    session::print(&json!({ "merchant_id": id, "api_version": to, "credentials": credentials }))
}

fn shown(merchant: &Merchant) -> Value {
    json!({
        "merchant_id": merchant.id,
        "name": merchant.name,
        "api_version": merchant.api_version,
        "status": merchant.status,
        "return_urls": merchant.return_urls,
        "created_at": merchant.created_at,
    })
}
