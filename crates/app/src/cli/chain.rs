//! `quipu chain`: prints the heads of the chains, to be written down elsewhere, and compares such heads with
//! the database.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use quipu_configuration::{LogFormat, Settings};
use quipu_kernel::{Environment, MerchantId, Page};
use quipu_ledger::{Book, Chain, ChainHash, Chains, Head};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::session;
use crate::{database_file, logging, wire};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the head of every chain: a few numbers that stand for all entries and lines of the audit log
    Heads {
        /// Those of one merchant
        #[arg(long)]
        merchant: Option<i64>,
    },
    /// Compare heads that were written down with the database; exit status 1 if a chain no longer passes there
    Compare {
        /// What `quipu chain heads` printed at some time
        file: PathBuf,
    },
}

/// Heads in the form in which they were printed.
#[derive(Deserialize)]
struct Published {
    heads: Vec<PublishedHead>,
}

#[derive(Deserialize)]
struct PublishedHead {
    book: String,
    merchant_id: Option<i64>,
    environment: Option<String>,
    rows: u64,
    hash: String,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        // No key is needed: nothing here is sealed by one, and an auditor has none.
        let _logging = logging::start(settings, LogFormat::Text, None)?;
        database_file::require_for_command(settings)?;
        session::runtime()?.block_on(async {
            let store = wire::open_store(settings, Handle::current()).await?;
            let outcome = match store.pending_migrations().await {
                Ok(false) => self.on(&store).await,
                Ok(true) => Err(anyhow!(wire::MIGRATE_FIRST)),
                Err(error) => Err(error.into()),
            };
            store.close().await;
            outcome
        })
    }

    async fn on(self, chains: &dyn Chains) -> Result<ExitCode> {
        match self {
            Self::Heads { merchant } => {
                session::print(&json!({ "heads": all_heads(chains, merchant.map(MerchantId)).await? }))?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Compare { file } => {
                let text = fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
                let published: Published = serde_json::from_str(&text)
                    .with_context(|| format!("{} is not what `quipu chain heads` prints", file.display()))?;
                let mut missed = Vec::new();
                for head in &published.heads {
                    missed.extend(compared(chains, head).await?);
                }
                let compared = published.heads.len();
                let printed = session::print(&json!({ "compared": compared, "missed": missed }));
                session::verdict(printed, missed.is_empty())
            }
        }
    }
}

async fn all_heads(chains: &dyn Chains, merchant: Option<MerchantId>) -> Result<Vec<Head>> {
    let mut all = Vec::new();
    loop {
        let page = Page::new(Page::MAX_LIMIT, all.len() as u64).context("too many chains")?;
        let (heads, total) = chains.heads(merchant, page).await.context("the chains cannot be read")?;
        let was_last = heads.is_empty();
        all.extend(heads);
        if was_last || all.len() as u64 >= total {
            return Ok(all);
        }
    }
}

/// The problem of a head that was written down, if the chain no longer agrees with it.
async fn compared(chains: &dyn Chains, head: &PublishedHead) -> Result<Option<Value>> {
    let book: Book = head.book.parse().context("book")?;
    let environment = head.environment.as_deref().map(str::parse::<Environment>).transpose();
    let environment = environment.map_err(|error| anyhow!("environment {error}"))?;
    let chain = Chain { book, merchant: head.merchant_id.map(MerchantId), environment };
    let published: ChainHash = head.hash.parse().context("hash")?;
    let sealed = chains.sealed(chain, head.rows).await.context("the chains cannot be read")?;
    let detail = match sealed {
        Some(hash) if hash == published => return Ok(None),
        Some(_) => "another hash is sealed there",
        None => "the chain has no such head: it was cut short, or rewritten",
    };
    let (merchant, environment) = (head.merchant_id, &head.environment);
    Ok(Some(json!({
        "book": book, "merchant_id": merchant, "environment": environment, "rows": head.rows, "detail": detail,
    })))
}
