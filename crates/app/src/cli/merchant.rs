//! `quipu merchant`: onboarding from the shell.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Environment, MerchantId, Period, Problems, Secret, Tenant};
use quipu_ledger::{Balance, LedgerReads};
use quipu_merchants::{
    Actor, ApiVersion, Beneficiary, Issued, Merchant, MerchantFilter, MerchantPatch, MerchantStatus,
    Merchants as _, NewBeneficiary, NewMerchant, RouteBook as _, Routing as _, parse_routes,
};
use quipu_payments::Rails;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    adjust, answer,
    part::{self, Between, Part},
    session, values,
};
use crate::wire::{self, Foundation};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a merchant with the routes of the test environment, and print its webhook secrets
    Create {
        /// The merchant's name
        #[arg(long)]
        name: String,
        /// v1 (API keys) or v2 (signed calls)
        #[arg(long, default_value = "v1")]
        api_version: ApiVersion,
        #[command(flatten)]
        return_urls: ReturnTo,
    },
    /// List merchants, newest first
    List {
        /// active or suspended
        #[arg(long)]
        status: Option<MerchantStatus>,
        #[command(flatten)]
        between: Between,
        #[command(flatten)]
        part: Part,
    },
    /// Show one merchant
    Show {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Change a merchant's name
    Rename {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// The new name
        #[arg(long)]
        name: String,
    },
    /// Set the return URLs of a merchant, both at once; one that is left out is removed
    ReturnUrls {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        #[command(flatten)]
        return_urls: ReturnTo,
    },
    /// Refuse every call of a merchant until it is activated again
    Suspend {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Let a suspended merchant act again
    Activate {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
    },
    /// Move a merchant to another version: its keys and credentials end, and for v2 new credentials are printed, once
    Switch {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// v1 or v2
        #[arg(long)]
        to: ApiVersion,
    },
    /// Give a merchant a new default webhook secret in one environment, and print it
    RotateWebhookSecret {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// test or live
        #[arg(long)]
        environment: Environment,
    },
    /// Print the routes of a merchant, or replace all of them
    Routes {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// A file in the shape that this command prints
        #[arg(long, value_name = "FILE")]
        replace_by: Option<PathBuf>,
    },
    /// Print the saved beneficiaries of a merchant, newest first, or add one
    Beneficiaries {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// A file with the body of `POST …/beneficiaries`
        #[arg(long, value_name = "FILE")]
        add: Option<PathBuf>,
        #[command(flatten)]
        part: Part,
    },
    /// Print what a merchant has, in every currency in which anything happened
    Balances {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        /// test or live
        #[arg(long, default_value = "live")]
        environment: Environment,
    },
    /// Add to an available balance, or take from it
    Adjust {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        id: MerchantId,
        #[command(flatten)]
        wanted: adjust::Wanted,
    },
}

/// Where payers go back to, unless a payment says otherwise; as a body names it.
#[derive(Debug, Args, Serialize)]
pub(super) struct ReturnTo {
    /// Where payers go after paying; http or https
    #[arg(long)]
    success_url: Option<String>,
    /// Where payers go if they do not pay; http or https
    #[arg(long)]
    cancel_url: Option<String>,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { name, api_version, return_urls } => {
                let body = json!({ "name": name, "api_version": api_version, "return_urls": return_urls });
                create(foundation, NewMerchant::parse(&body).map_err(session::explained)?).await
            }
            Self::List { status, between, part } => {
                let filter = MerchantFilter { id: None, status, created: between.period() };
                let (merchants, total) = foundation.store.merchants(filter, part.page()?).await?;
                part::print(&merchants.iter().map(shown).collect::<Vec<_>>(), total)
            }
            Self::Show { id } => session::print(&shown(&session::existing(foundation, id).await?)),
            Self::Rename { id, name } => change(foundation, id, &json!({ "name": name })).await,
            Self::ReturnUrls { id, return_urls } => {
                change(foundation, id, &json!({ "return_urls": return_urls })).await
            }
            Self::Suspend { id } => {
                change(foundation, id, &json!({ "status": MerchantStatus::Suspended })).await
            }
            Self::Activate { id } => {
                change(foundation, id, &json!({ "status": MerchantStatus::Active })).await
            }
            Self::RotateWebhookSecret { id, environment } => {
                rotate_webhook_secret(foundation, Tenant::new(id, environment)).await
            }
            Self::Beneficiaries { id, add, part } => {
                beneficiaries(foundation, id, add.as_deref(), &part).await
            }
            Self::Balances { id, environment } => {
                session::existing(foundation, id).await?;
                let balances = foundation.store.balances(Tenant::new(id, environment)).await?;
                let rows: Vec<_> = balances.iter().map(balance).collect();
                session::print(&json!({ "merchant_id": id, "environment": environment, "balances": rows }))
            }
            Self::Adjust { id, wanted } => adjust::run(foundation, id, wanted).await,
            Self::Routes { id, replace_by: None } => {
                session::existing(foundation, id).await?;
                session::print(&json!({ "routes": &foundation.store.routes(id).await?[..] }))
            }
            Self::Routes { id, replace_by: Some(file) } => {
                // Only the names count here; nothing is shown to a payer.
                let rails = wire::rails(foundation, settings, "")?;
                replace_routes(foundation, id, &file, &rails).await
            }
            Self::Switch { id, to } => switch(foundation, id, to).await,
        })
    }
}

/// After a change whose outcome is unknown, and which sets what it names whether or not that is set already.
const AGAIN: &str = "the change may have been made: run the command again, which sets the same once more";

async fn create(foundation: &Foundation, new: NewMerchant) -> Result<()> {
    let created = foundation.onboarding().create_merchant(new, Actor::shell()).await;
    let (merchant, webhook_secrets) = answer::explained(created, || {
        "a merchant may have been made: quipu merchant list shows it first".to_owned()
    })?;
    let mut answer = shown(&merchant);
    let [test, live] = webhook_secrets.each_ref().map(Secret::expose);
    answer["default_webhook_secrets"] = json!({ "test": test, "live": live });
    answer::print(&answer)
}

async fn change(foundation: &Foundation, id: MerchantId, body: &Value) -> Result<()> {
    let merchant = session::existing(foundation, id).await?;
    let patch = MerchantPatch::parse(body, merchant.api_version).map_err(session::explained)?;
    let changed = foundation.onboarding().change_merchant(id, patch, Actor::shell()).await;
    answer::print(&shown(&answer::explained(changed, || AGAIN.to_owned())?))
}

async fn rotate_webhook_secret(foundation: &Foundation, tenant: Tenant) -> Result<()> {
    session::existing(foundation, tenant.merchant()).await?;
    let rotated = foundation.onboarding().rotate_webhook_secret(tenant, Actor::shell()).await;
    let secret = answer::explained(rotated, || {
        let id = tenant.merchant();
        format!(
            "the secret may have been replaced: quipu audit --merchant {id} says so first, and \
             GET /operator/v1/merchants/{id} shows the present one; look before you rotate it again, \
             because nothing is signed with the one that receivers know after that"
        )
    })?;
    answer::print(&json!({
        "merchant_id": tenant.merchant(),
        "environment": tenant.environment(),
        "default_webhook_secret": secret.expose(),
    }))
}

async fn replace_routes(foundation: &Foundation, id: MerchantId, file: &Path, rails: &Rails) -> Result<()> {
    session::existing(foundation, id).await?;
    let routes = read(file, |body| parse_routes(body, |rail| rails.knows(rail)))?;
    let put = foundation.onboarding().put_routes(id, routes.clone(), Actor::shell()).await;
    answer::explained(put, || AGAIN.to_owned())?;
    answer::print(&json!({ "routes": routes }))
}

async fn beneficiaries(
    foundation: &Foundation,
    id: MerchantId,
    add: Option<&Path>,
    part: &Part,
) -> Result<()> {
    session::existing(foundation, id).await?;
    let Some(file) = add else {
        let (saved, total) = foundation.store.beneficiaries(id, Period::default(), part.page()?).await?;
        return part::print(&saved.iter().map(Beneficiary::shown).collect::<Vec<_>>(), total);
    };
    let beneficiary = read(file, |body| NewBeneficiary::parse(id, body, foundation.clock.now()))?;
    let added = foundation.onboarding().add_beneficiary(beneficiary, Actor::shell()).await;
    let added = answer::explained(added, || {
        format!("a beneficiary may have been added: quipu merchant beneficiaries {id} shows it first")
    })?;
    answer::print(&added.shown())
}

/// Reads a JSON file; fails with all its problems.
fn read<T>(file: &Path, parse: impl FnOnce(&Value) -> Result<T, Problems>) -> Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let body = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))?;
    parse(&body)
        .map_err(|problems| anyhow!("{}:\n  {}", file.display(), problems.into_messages().join("\n  ")))
}

async fn switch(foundation: &Foundation, id: MerchantId, to: ApiVersion) -> Result<()> {
    session::existing(foundation, id).await?;
    let switched = foundation.onboarding().switch(id, to, Actor::shell()).await;
    let issued = answer::explained(switched, || {
        format!(
            "the merchant may have been moved, with credentials whose secrets nobody has: quipu merchant show {id} \
             shows its version, and quipu credential list {id} the credentials, which quipu credential revoke ends \
             and quipu credential create replaces"
        )
    })?;
    let credentials: Vec<_> = issued.iter().map(Issued::shown).collect();
    answer::print(&json!({ "merchant_id": id, "api_version": to, "credentials": credentials }))
}

fn balance(balance: &Balance) -> Value {
    json!({
        "currency": balance.currency,
        "available": balance.available,
        "frozen": balance.frozen,
        "deposit": balance.deposit,
        "withdrawal": balance.withdrawal,
        "commission": balance.commission,
    })
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
