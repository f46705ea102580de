//! `quipu receipt`: parked receipts, from the shell.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use quipu_kernel::Page;
use quipu_payments::{MoneyReads, ReceiptFilter, Resolution, UNKNOWN_TENANT, operator_receipt};
use serde_json::json;

use super::{
    once::{Key, Once},
    session,
};
use crate::{config::Settings, wire::Foundation};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List receipts, newest first
    List {
        /// Those that were resolved too
        #[arg(long)]
        all: bool,
        /// How many at most, 1 to 100
        #[arg(long, default_value_t = Page::DEFAULT_LIMIT)]
        limit: u32,
        /// After how many others
        #[arg(long, default_value_t = 0)]
        offset: u64,
    },
    /// Decide about a parked receipt
    Resolve {
        /// The receipt's identifier
        id: String,
        /// `complete_with_received_amount` or ignore
        #[arg(long)]
        action: Resolution,
        #[command(flatten)]
        key: Key,
    },
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::List { all, limit, offset } => list(foundation, all, limit, offset).await,
            Self::Resolve { id, action, key } => resolve(foundation, &id, action, &key).await,
        })
    }
}

async fn list(foundation: &Foundation, all: bool, limit: u32, offset: u64) -> Result<()> {
    let page = Page::new(limit, offset).context("--limit must be from 1 to 100")?;
    let filter = ReceiptFilter { resolved: (!all).then_some(false), ..ReceiptFilter::default() };
    let (receipts, total) = foundation.store.receipts(&filter, page).await?;
    let rows: Vec<_> = receipts.iter().map(operator_receipt).collect();
    session::print(&json!({ "data": rows, "total": total }))
}

async fn resolve(foundation: &Foundation, id: &str, action: Resolution, key: &Key) -> Result<()> {
    let receipt = foundation.store.receipt(id).await?.context("there is no such receipt")?;
    let words = format!("receipt resolve {id} {}", action.as_str());
    let once = Once::begin(foundation, receipt.tenant.unwrap_or(UNKNOWN_TENANT), key, &words)?;
    let decided = {
        let record = |before: &_, after: &_| {
            (once.doing.resolved(before, after), Some(once.keeps(&operator_receipt(after))))
        };
        foundation.resolve().run(id, action, &record).await
    };
    once.end(decided.map(|receipt| operator_receipt(&receipt))).await
}
