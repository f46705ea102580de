//! The environment of a command that ends by itself: a runtime, the database, and the printing of results.

use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, anyhow, bail};
use quipu_configuration::{LogFormat, Settings};
use quipu_kernel::{MerchantId, Problems};
use quipu_merchants::{Merchant, Merchants as _};
use serde::Serialize;
use tokio::runtime::Handle;

use super::table;
use crate::{
    data_folder::DataFolder,
    database_file, logging,
    master_key::{self, Start},
    sealed_keys, standard_error, standard_output,
    wire::{self, Foundation},
};

/// Runs `work` on the database of `settings`, whose schema must be up to date.
pub(super) fn run(
    settings: &Settings,
    work: impl AsyncFnOnce(&Foundation) -> Result<()>,
) -> Result<ExitCode> {
    let _logging = logging::start(settings, LogFormat::Text, None)?;
    database_file::require_for_command(settings)?;
    let keyring = master_key::keyring(settings, &DataFolder::at(&settings.data_dir), Start::Command)?;
    runtime()?.block_on(async {
        let foundation = Foundation::open(settings, keyring, Handle::current()).await?;
        if foundation.store.pending_migrations().await? {
            bail!(wire::MIGRATE_FIRST);
        }
        sealed_keys::verify_some(&foundation).await?;
        let outcome = work(&foundation).await;
        foundation.store.clone().close().await;
        outcome.map(|()| ExitCode::SUCCESS)
    })
}

/// The merchant of this number, which must exist.
pub(super) async fn existing(foundation: &Foundation, id: MerchantId) -> Result<Merchant> {
    foundation.store.merchant(id).await?.with_context(|| format!("no merchant has the number {id}"))
}

/// An error that lists these problems.
pub(super) fn explained(problems: Problems) -> anyhow::Error {
    anyhow!("{}", problems.into_messages().join("\n"))
}

/// A runtime for one command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Whether results are printed as JSON even on a terminal.
static JSON_EVERYWHERE: AtomicBool = AtomicBool::new(false);

/// Makes all results be printed as JSON, even on a terminal.
pub(super) fn print_json_everywhere() {
    JSON_EVERYWHERE.store(true, Ordering::Relaxed);
}

/// Prints the result of a read. The result of a change is printed as an [`answer`](super::answer).
pub(super) fn print(result: &impl Serialize) -> Result<()> {
    standard_output::write(&laid_out(result)?)
}

/// A result in its printed form: a table on a terminal, JSON for programs and files.
pub(super) fn laid_out(result: &impl Serialize) -> Result<String> {
    if stdout().is_terminal() && !JSON_EVERYWHERE.load(Ordering::Relaxed) {
        return Ok(table::laid_out(&serde_json::to_value(result)?));
    }
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    Ok(text)
}

/// The exit status of a verification. A bad result determines the status even if the report could not be
/// printed.
pub(super) fn verdict(printed: Result<()>, is_good: bool) -> Result<ExitCode> {
    match printed {
        Err(error) if !is_good => {
            standard_error::write_line(&format!("quipu: {error:#}"));
            Ok(ExitCode::FAILURE)
        }
        printed => printed.map(|()| if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    }
}
