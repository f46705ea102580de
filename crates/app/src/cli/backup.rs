//! `quipu backup` and `quipu restore`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Args;
use quipu_configuration::{FilesAt, LogFormat, Settings};
use quipu_ledger::LedgerReads;
use serde_json::json;
use tokio::runtime::Handle;

use super::{answer, database::report, session};
use crate::{
    data_folder::{DataFolder, ServingLock},
    database_file, logging, wire,
};

/// Where a copy goes.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to make; one that exists is refused
    file: PathBuf,
}

/// Where a copy is.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A file that `quipu backup` made
    file: PathBuf,
}

impl Backup {
    /// Copies the database, while servers go on to write, and prints what was copied and what was not.
    pub(super) fn run(&self, settings: &Settings) -> Result<ExitCode> {
        let _logging = logging::start(settings, LogFormat::Text, None)?;
        database_file::require_for_command(settings)?;
        let runtime = session::runtime()?;
        let bytes = quipu_store::back_up(&wire::store_settings(settings), &self.file, runtime.handle())?;
        let attachments = match &settings.attachments.at {
            FilesAt::Folder(folder) => folder.display().to_string(),
            FilesAt::Bucket { bucket, prefix } => format!("s3://{bucket}/{prefix}"),
        };
        answer::print(&json!({
            "database": database_file::shown(settings),
            "file": self.file.display().to_string(),
            "bytes": bytes,
            "not_included": { "attachments": attachments, "master_key": "keep it elsewhere" },
        }))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Restore {
    /// Makes the database out of a copy, brings it up to date, and verifies the books. If the books are wrong the
    /// database stays in place, and the exit status is 1.
    pub(super) fn run(&self, settings: &Settings) -> Result<ExitCode> {
        let _logging = logging::start(settings, LogFormat::Text, None)?;
        let embedded = settings.embedded_database();
        if embedded.is_some() {
            DataFolder::open(&settings.data_dir)?;
        }
        let lock = embedded.map(ServingLock::of_database).transpose();
        let _lock =
            lock.context("the database cannot be restored while a server uses it, or without its lock")?;
        let runtime = session::runtime()?;
        quipu_store::restore(&wire::store_settings(settings), &self.file, runtime.handle())?;
        let (applied, found) = runtime.block_on(async {
            let store = wire::open_store(settings, Handle::current()).await?;
            let applied = store.migrate().await.context("the restored database cannot be migrated")?;
            let found = store.check().await.context("the restored books cannot be read");
            store.close().await;
            Ok::<_, anyhow::Error>((applied, found?))
        })?;
        let mut printed = report(&found);
        printed["restored"] = json!(self.file.display().to_string());
        printed["database"] = json!(database_file::shown(settings));
        printed["applied"] = json!(applied);
        session::verdict(answer::print(&printed), found.is_clean())
    }
}
