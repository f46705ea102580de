//! `quipu page`: what hosted pages show of a merchant, from the shell.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Fields, MerchantId, Problems};
use quipu_merchants::{Actor, MerchantPage, PageStore};
use quipu_pages::redraw;
use quipu_signing::sha256_hex;
use serde_json::{Value, json};

use super::{answer, session, values};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what was set
    Show {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
    },
    /// Set all of it; what is left out is the gateway's own again
    Set {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
        #[command(flatten)]
        look: Look,
    },
    /// Unset all of it
    Unset {
        /// The merchant's number
        #[arg(value_parser = values::merchant)]
        merchant: MerchantId,
    },
}

#[derive(Debug, Args)]
pub(super) struct Look {
    /// The name that payers know, instead of the merchant's own
    #[arg(long)]
    name: Option<String>,
    /// Its colour, #rrggbb
    #[arg(long)]
    accent: Option<String>,
    /// A PNG or WebP picture of at most 64 KiB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Show { merchant } => {
                session::existing(foundation, merchant).await?;
                let page = foundation.store.merchant_page(merchant).await?;
                session::print(&shown(merchant, page.unwrap_or_default()))
            }
            Self::Set { merchant, look: Look { name, accent, logo } } => {
                let page = look_of(&json!({ "name": name, "accent": accent })).map_err(session::explained)?;
                let picture = logo.as_deref().map(draw).transpose()?;
                let page = MerchantPage { logo: picture.as_deref().map(sha256_hex), ..page };
                set(foundation, merchant, Some((page, picture))).await
            }
            Self::Unset { merchant } => set(foundation, merchant, None).await,
        })
    }
}

fn look_of(body: &Value) -> Result<MerchantPage, Problems> {
    let mut problems = Problems::new();
    let page = MerchantPage::read(&Fields::of_body(body)?, &mut problems);
    problems.into_result().map(|()| page)
}

fn draw(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    redraw(&bytes).map_err(|problem| anyhow!("{} {problem}", file.display()))
}

async fn set(
    foundation: &Foundation,
    merchant: MerchantId,
    page: Option<(MerchantPage, Option<Vec<u8>>)>,
) -> Result<()> {
    session::existing(foundation, merchant).await?;
    let after = page.as_ref().map(|(page, _)| page);
    let set = after.cloned().unwrap_or_default();
    let audit = foundation.onboarding().audit_of_page(merchant, after, Actor::shell());
    let outcome = foundation.store.set_merchant_page(merchant, page, audit).await;
    answer::explained(outcome, || {
        format!("the change may have been made: quipu page show {merchant} shows what is set")
    })?;
    answer::print(&shown(merchant, set))
}

fn shown(merchant: MerchantId, page: MerchantPage) -> Value {
    json!({
        "merchant_id": merchant,
        "name": page.name,
        "accent": page.accent,
        "logo": page.logo.map(|hash| format!("/logos/{hash}.png")),
    })
}
