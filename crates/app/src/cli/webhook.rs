//! `quipu webhook`: the webhooks that the operator configures for a merchant, from the shell.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Environment, MerchantId, Period, Tenant};
use quipu_merchants::Actor;
use quipu_webhooks::{CreateEndpoint, EndpointDraft, EndpointView, Endpoints, Source};
use serde_json::json;

use super::{
    answer,
    part::{self, Part},
    session, values,
};
use crate::wire::Foundation;

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
        #[arg(long, default_value = "admin", help = "admin (configured) or in_request (named by payments)")]
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
    /// Which events, separated by commas [default: payment.created, payment.completed, payment.failed,
    /// payment.refunded]
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// A note for people
    #[arg(long)]
    description: Option<String>,
    /// A file with the secret to sign with, whsec_ and base64, or - for standard input; generated
    /// unless given
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
    /// The secret itself, which all users of the machine can read while the command runs; prefer
    /// --secret-file
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
                let (found, total) =
                    foundation.store.endpoints(tenant, source, Period::default(), page).await?;
                part::print(&found.iter().map(EndpointView::of).collect::<Vec<_>>(), total)
            }
        })
    }
}

async fn create(foundation: &Foundation, tenant: Tenant, wanted: Wanted) -> Result<()> {
    let Wanted { url, events, description, secret_file, secret } = wanted;
    let secret = secret_file.as_deref().map(secret_in).transpose()?.or(secret);
    let body = json!({ "url": url, "events": events, "description": description, "secret": secret });
    let draft = EndpointDraft::parse(&body, tenant.environment()).map_err(session::explained)?;
    let create = CreateEndpoint::new(
        Arc::new(foundation.store.clone()),
        Arc::clone(&foundation.keyring),
        Arc::clone(&foundation.clock),
        Arc::clone(&foundation.entropy),
    );
    let created = create.run(tenant, draft, Some(Actor::shell())).await;
    let created = answer::explained(created, || {
        let (merchant, environment) = (tenant.merchant(), tenant.environment().as_str());
        format!(
            "a webhook may have been made: quipu webhook list {merchant} --environment {environment} shows it first"
        )
    })?;
    answer::print(&EndpointView::of(&created.endpoint).with_secret(created.secret.expose()))
}

/// The secret in a file, without the end of its line.
fn secret_in(file: &Path) -> Result<String> {
    let text =
        if file == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_file_ends_where_its_line_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        let told = secret_in(&file).expect_err("it is absent").to_string();
        assert!(told.contains("secret cannot be read"), "{told}");
        for text in ["whsec_AAEC", "whsec_AAEC\n", "whsec_AAEC\r\n"] {
            fs::write(&file, text).expect("written");
            assert_eq!(secret_in(&file).expect("read"), "whsec_AAEC");
        }
    }
}
