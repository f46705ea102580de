//! `quipu migrate` and `quipu check`.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use quipu_configuration::{LogFormat, Settings};
use quipu_ledger::{CheckReport, LedgerReads};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{answer, session};
use crate::{data_folder::DataFolder, database_file, logging, wire};

const NOT_MADE: &str = "the database has no tables of Quipu's: is `database_url` right? If it is, restore a backup, or run \
    `quipu migrate` to make them";

/// Applies the missing migrations and prints their names. With `existing` it makes no database.
pub(super) fn migrate(settings: &Settings, existing: bool) -> Result<ExitCode> {
    let _logging = logging::start(settings, LogFormat::Text, None)?;
    if existing {
        database_file::require_for_command(settings)?;
    }
    if settings.embedded_database().is_some() {
        DataFolder::open(&settings.data_dir)?;
        database_file::make_private(settings)?;
    }
    let applied = session::runtime()?.block_on(async {
        let store = wire::open_store(settings, Handle::current()).await?;
        let applied = if existing && !store.is_made().await? {
            Err(anyhow!(NOT_MADE))
        } else {
            store.migrate().await.context("the database cannot be migrated")
        };
        store.close().await;
        applied
    })?;
    answer::print(&json!({ "database": database_file::shown(settings), "applied": applied }))?;
    Ok(ExitCode::SUCCESS)
}

/// Verifies the books and prints the report; the exit status is 1 if anything is wrong.
pub(super) fn check(settings: &Settings) -> Result<ExitCode> {
    let _logging = logging::start(settings, LogFormat::Text, None)?;
    database_file::require_for_command(settings)?;
    let report = session::runtime()?.block_on(async {
        let store = wire::open_store(settings, Handle::current()).await?;
        let report = if store.pending_migrations().await? {
            Err(anyhow!(wire::MIGRATE_FIRST))
        } else {
            store.check().await.context("the books cannot be read")
        };
        store.close().await;
        report
    })?;
    session::verdict(session::print(&self::report(&report)), report.is_clean())
}

/// The printed form of a verification's report.
pub(super) fn report(report: &CheckReport) -> Value {
    json!({
        "clean": report.is_clean(),
        "balances": report.balances,
        "transactions": report.transactions,
        "payments": report.payments,
        "breaches": report.breaches,
    })
}
