//! `quipu webhook`: the webhooks that the operator configures for a merchant, from the shell.

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use clap::{Args, Subcommand};
use quipu_kernel::{Environment, MerchantId, Tenant};
use quipu_merchants::Actor;
use quipu_webhooks::{CreateEndpoint, EndpointDraft, EndpointView, Endpoints, Source};
use serde_json::json;

use super::{
    answer,
    part::{self, Part},
    session, values,
};
use crate::{config::Settings, wire::Foundation};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a webhook for a merchant, and print its secret, once
    Create {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// test or live
        #[arg(long)]
        environment: Environment,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// List the webhooks of a merchant in one environment, newest first
    List {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        /// test or live
        #[arg(long, default_value = "live")]
        environment: Environment,
        /// admin (configured on purpose) or `in_request` (named by payments)
        #[arg(long, default_value = "admin")]
        source: Source,
        #[command(flatten)]
        part: Part,
    },
}

#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// Where deliveries go
    #[arg(long)]
    url: String,
    /// Which events, separated by commas; the four usual ones unless given
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// A note for people
    #[arg(long)]
    description: Option<String>,
    /// The secret to sign with, whsec_ and base64; one is made up unless given
    #[arg(long)]
    secret: Option<String>,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { merchant, environment, wanted } => {
                session::existing(foundation, merchant).await?;
                create(foundation, Tenant::new(merchant, environment), wanted).await
            }
            Self::List { merchant, environment, source, part } => {
                let page = part.page()?;
                session::existing(foundation, merchant).await?;
                let tenant = Tenant::new(merchant, environment);
                let (found, total) = foundation.store.endpoints(tenant, source, page).await?;
                part::print(&found.iter().map(EndpointView::of).collect::<Vec<_>>(), total)
            }
        })
    }
}

async fn create(foundation: &Foundation, tenant: Tenant, wanted: Wanted) -> Result<()> {
    let Wanted { url, events, description, secret } = wanted;
    let body = json!({ "url": url, "events": events, "description": description, "secret": secret });
    let draft = EndpointDraft::parse(&body, tenant.environment()).map_err(session::explained)?;
    let create = CreateEndpoint::new(
        Arc::new(foundation.store.clone()),
        Arc::clone(&foundation.keyring),
        Arc::clone(&foundation.clock),
        Arc::clone(&foundation.entropy),
    );
    let created = create.run(tenant, draft, Some(Actor::shell())).await?;
    answer::print(&EndpointView::of(&created.endpoint).with_secret(created.secret.expose()))
}
