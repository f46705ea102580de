//! What a command that ends by itself works with.

use std::process::ExitCode;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::{
    config::{LogFormat, Settings},
    data_folder::DataFolder,
    logging,
    master_key::{self, Start},
    wire::Foundation,
};

/// Runs `work` on the database of `settings`, whose schema must be up to date.
pub(super) fn run(
    settings: &Settings,
    work: impl AsyncFnOnce(&Foundation) -> Result<()>,
) -> Result<ExitCode> {
    logging::start(settings, LogFormat::Text)?;
    let folder = DataFolder::open(&settings.data_dir)?;
    let keyring = master_key::keyring(settings, &folder, Start::Command)?;
    runtime()?.block_on(async {
        let foundation = Foundation::lay(settings, keyring).await?;
        if foundation.store.pending_migrations().await? {
            bail!("the database lacks migrations: run `quipu migrate` first");
        }
        let outcome = work(&foundation).await;
        foundation.store.clone().close().await;
        outcome.map(|()| ExitCode::SUCCESS)
    })
}

/// A runtime for one command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Prints a result: JSON, so that it can be piped.
pub(super) fn print(result: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(result)?);
    Ok(())
}
