//! Applying a bank's statement.
//!
//! The file is read twice: once to know that it is whole and well-formed, and once to apply it, entry by entry. Every entry
//! is heard like the callback of a provider, once for ever, so that the same file, or another that tells of the same entries,
//! changes nothing. Two entries are two movements of money: what would only repeat an earlier one is parked.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result};
use quipu_bankfiles::{Entry, read_statement};
use quipu_commit::{Changes, Commit as _};
use quipu_merchants::{Actor, AuditRecord};
use quipu_payments::{BankEntry, Heard, MoneyReads, MovementNames, UNKNOWN_TENANT};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer;
use crate::{standard_error, wire::Foundation};

/// The rail of people, whose payments statements tell of.
const RAIL: &str = "manual";
/// Entries that may wait between reading and applying.
const AHEAD: usize = 64;

/// Applies the statement in `file`; one that is malformed changes nothing.
pub(super) async fn import(foundation: &Foundation, file: &Path) -> Result<()> {
    let mut entries = 0_u64;
    read_statement(opened(file)?, |_| entries += 1)
        .with_context(|| format!("{} is not applied", file.display()))?;
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let reader = opened(file)?;
    let reading = tokio::task::spawn_blocking(move || {
        read_statement(reader, |entry| {
            // A receiver that is gone has failed, and tells why.
            let _ = sender.blocking_send(entry);
        })
    });
    let mut naming = MovementNames::default();
    let (mut applied, mut known, mut parked) = (0_u64, 0_u64, 0_u64);
    while let Some(entry) = receiver.recv().await {
        match apply(foundation, &mut naming, entry).await? {
            Heard::Applied => applied += 1,
            Heard::Known => known += 1,
            Heard::Parked(_) => parked += 1,
        }
    }
    reading.await?.context("the file has changed while it was read")?;
    let result = json!({
        "file": file.display().to_string(),
        "entries": entries,
        "applied": applied,
        "known": known,
        "parked": parked,
    });
    note(foundation, file, &result).await?;
    if parked > 0 {
        standard_error::tell(&format!("{parked} of them wait for a person: quipu receipt list"));
    }
    answer::print(&result)
}

/// Writes into the audit log that a file was read, and what came of it. It names no merchant: a file may tell of several.
async fn note(foundation: &Foundation, file: &Path, result: &Value) -> Result<()> {
    let (entropy, at) = (&*foundation.entropy, foundation.clock.now());
    let mut line = AuditRecord::new(entropy, at, Actor::shell(), "bank.import", UNKNOWN_TENANT.merchant());
    line.merchant_id = None;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut changes = Changes::new(UNKNOWN_TENANT, at);
    changes.add(line.about(format!("bank_statement/{name}")).changing(Value::Null, result.clone()));
    foundation.store.commit(changes).await.map(drop).context("the audit log does not tell of the import")
}

fn opened(file: &Path) -> Result<BufReader<File>> {
    let opened = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(BufReader::new(opened))
}

async fn apply(foundation: &Foundation, naming: &mut MovementNames, entry: Entry) -> Result<Heard> {
    let Entry { statement, account, reference, is_credit, is_return, amount, currency, texts, return_reason } =
        entry;
    let entry = BankEntry {
        statement,
        account,
        reference,
        is_credit,
        is_return,
        amount,
        currency,
        texts,
        return_reason,
    };
    let name = naming.name(&entry);
    let named = match entry.names() {
        Some(id) => foundation.store.find_payment(&id).await?,
        None => None,
    };
    let event = entry.event(name, named.as_ref().map(|payment| (payment.id(), payment.terms().kind)));
    Ok(foundation.hear().run_movement(RAIL, &event).await?)
}
