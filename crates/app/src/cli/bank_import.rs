//! Applying a bank's statement.
//!
//! The file is read twice: once to know that it is whole and well-formed, and once to apply it, entry by entry. Every entry
//! is applied like the callback of a provider, and only once, so that the same file, or another one with the same entries,
//! changes nothing. Two entries are two movements of money: one that would only repeat what an earlier one did is parked.
//!
//! Each entry is a commit of its own. The audit log has a line before the first and one after the last, so that it also shows
//! an import that did not finish.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, bail};
use quipu_bankfiles::read_statement;
use quipu_commit::{Changes, Commit as _};
use quipu_merchants::{Actor, AuditRecord, MANUAL_RAIL};
use quipu_payments::{BankEntry, CrossTenantReads, MovementNames, RailEventOutcome, filed_under};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer;
use crate::{standard_error, wire::Foundation};

/// Entries that may wait between reading and applying.
const AHEAD: usize = 64;

/// What came of the entries that were applied so far.
#[derive(Debug, Default)]
struct Reached {
    moved: u64,
    known: u64,
    parked: u64,
}

impl Reached {
    fn count(&mut self, outcome: RailEventOutcome) {
        match outcome {
            RailEventOutcome::Applied => self.moved += 1,
            RailEventOutcome::Known => self.known += 1,
            RailEventOutcome::Parked(_) => self.parked += 1,
        }
    }

    fn all(&self) -> u64 {
        self.moved + self.known + self.parked
    }
}

/// Applies the statement in `file`; one that is malformed changes nothing.
pub(super) async fn import(foundation: &Foundation, file: &Path) -> Result<()> {
    let mut entries = 0_u64;
    read_statement(opened(file)?, |_| entries += 1)
        .with_context(|| format!("{} is not applied", file.display()))?;
    write_audit_line(foundation, file, "bank.import.begun", json!({ "entries": entries })).await?;
    let mut reached = Reached::default();
    let outcome = apply_all(foundation, file, &mut reached).await;
    let result = json!({
        "file": file.display().to_string(),
        "entries": entries,
        "applied": reached.moved,
        "known": reached.known,
        "parked": reached.parked,
    });
    let noted = write_audit_line(foundation, file, "bank.import", result.clone()).await;
    if reached.parked > 0 {
        standard_error::write_line(&format!(
            "{} of the entries wait for a person: quipu receipt list",
            reached.parked
        ));
    }
    if let Err(error) = outcome {
        if let Err(error) = noted {
            standard_error::write_line(&format!("quipu: {error:#}"));
        }
        return Err(error.context(format!(
            "{} of {entries} entries of {} were processed; run the command again: it applies the rest and none twice",
            reached.all(),
            file.display()
        )));
    }
    noted?;
    answer::print(&result)
}

/// Applies entry by entry, and counts what came of each.
async fn apply_all(foundation: &Foundation, file: &Path, reached: &mut Reached) -> Result<()> {
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let reader = opened(file)?;
    let reading = tokio::task::spawn_blocking(move || {
        read_statement(reader, |entry| {
            // The receiver is gone because it failed; its own error says why.
            let _ = sender.blocking_send(entry);
        })
    });
    let mut naming = MovementNames::default();
    while let Some(entry) = receiver.recv().await {
        reached.count(apply(foundation, &mut naming, entry).await?);
    }
    reading.await?.context("the file has changed while it was read")
}

/// Writes into the audit log that a file is read, or what came of it. It names no merchant: a file may tell of several.
async fn write_audit_line(foundation: &Foundation, file: &Path, action: &str, after: Value) -> Result<()> {
    let (entropy, at) = (&*foundation.entropy, foundation.clock.now());
    let line = AuditRecord::new(entropy, at, Actor::shell(), action, None);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut changes = Changes::new(filed_under(None), at);
    changes.add(line.about(format!("bank_statement/{name}")).changing(Value::Null, after));
    let noted = foundation.store.commit(changes).await.map(drop);
    noted.with_context(|| format!("the audit log does not tell of {action}"))
}

fn opened(file: &Path) -> Result<BufReader<File>> {
    let unreadable = || format!("{} cannot be read", file.display());
    // A pipe would be empty the second time, and one that nobody writes to is not even opened.
    if !file.metadata().with_context(unreadable)?.is_file() {
        bail!("{} is read twice, so it must be a file", file.display());
    }
    Ok(BufReader::new(File::open(file).with_context(unreadable)?))
}

async fn apply(
    foundation: &Foundation,
    naming: &mut MovementNames,
    entry: BankEntry,
) -> Result<RailEventOutcome> {
    let name = naming.name(&entry);
    let named = match entry.names() {
        Some(id) => foundation.store.find_payment(&id).await?,
        None => None,
    };
    let event = entry.event(name, named.as_ref().map(|payment| (payment.id(), payment.terms().kind)));
    Ok(foundation.rail_events().run_statement_entry(MANUAL_RAIL, &event).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_can_be_read_twice() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(opened(file.path()).is_ok());
        let folder = tempfile::tempdir().expect("a folder");
        let nobody_writes = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&nobody_writes).status().expect("mkfifo").success());
        for other in [folder.path(), &nobody_writes, Path::new("/dev/null")] {
            let told = opened(other).expect_err("no file").to_string();
            assert!(told.contains("must be a file"), "{told}");
        }
    }
}
