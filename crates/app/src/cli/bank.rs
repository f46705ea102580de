//! `quipu bank`: files for a bank and from it.

use std::{
    fs::Metadata,
    io::{BufWriter, ErrorKind},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use quipu_bankfiles::{Transfers, account_misfit, transfer_misfit, write_transfers};
use quipu_configuration::Settings;
use quipu_kernel::{Currency, Environment, MerchantId, Tenant, locked};
use quipu_merchants::{Actor, AuditRecord, Method, RouteBook};
use quipu_payments::{BankExport, BankReads, Debtor, ExportRoute, Exported, Payment, Status, Transfer};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::{answer, bank_import, session, values};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the submitted withdrawals of a route that are in no file yet as ISO 20022 pain.001.001.09
    Export(Wanted),
    /// Write a file that was made before once more
    Rewrite {
        /// The file's identifier
        id: String,
        /// Where to; IDENTIFIER.xml in the working folder unless given. A file that is there stays as it is
        /// unless it is empty
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Apply the booked entries of a statement, ISO 20022 camt.053 or camt.054; reading a file twice changes nothing
    Import {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// The merchant's number
    #[arg(long, value_parser = values::merchant)]
    merchant: MerchantId,
    /// test or live
    #[arg(long)]
    environment: Environment,
    /// The route's currency
    #[arg(long)]
    currency: Currency,
    /// The route's method
    #[arg(long)]
    method: Method,
    /// The route of partner destinations
    #[arg(long)]
    partner: bool,
    /// Where to; IDENTIFIER.xml in the working folder unless given. A file that is there stays as it is
    /// unless it is empty
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Export(wanted) => export(foundation, wanted).await,
            Self::Rewrite { id, out } => rewrite(foundation, &id, out).await,
            Self::Import { file } => bank_import::import(foundation, &file).await,
        })
    }
}

async fn export(foundation: &Foundation, wanted: Wanted) -> Result<()> {
    let Wanted { merchant, environment, currency, method, partner, out } = wanted;
    out.as_deref().map_or(Ok(()), refuse_existing)?;
    session::existing(foundation, merchant).await?;
    let route = ExportRoute { tenant: Tenant::new(merchant, environment), currency, method, partner };
    // Before anything is taken into a file, so that nothing is in a file that cannot be written.
    let debtor = debtor(foundation, &route).await?;
    let unfinished = unfinished(out.as_deref())?;
    let taking = Mutex::new(None);
    let audit = |export: &BankExport, payments: &[Payment]| {
        locked(&taking).replace(export.export_id.clone());
        audit_line(foundation, merchant, export, payments)
    };
    let exported = foundation.export().run(&route, &fits, &audit).await;
    let Exported { file, left_out } = answer::explained(exported, || {
        let id = taking.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
        format!("{id} may have taken its withdrawals (if it has, quipu bank rewrite {id} writes it)")
    })?;
    let left_out = left_out.iter().map(misfit).collect::<Vec<_>>();
    let Some((export, payments)) = file else {
        let latest = foundation.store.latest_bank_export(&route, None).await?;
        let none = json!({ "export_id": null, "payments": 0, "left_out": left_out });
        return session::print(&with_earlier(none, latest.as_ref()));
    };
    let out = out.unwrap_or_else(|| usual_path(&export.export_id));
    let written = write((&export, &payments, &left_out), &debtor, unfinished, &out)?;
    // Read last, because another command may have made it while this one ran. The file is written whether or not it
    // can be read.
    let before = foundation.store.latest_bank_export(&route, Some(&export)).await;
    let before = before.with_context(|| {
        format!("{} is written, but the file that was made before it cannot be looked up", out.display())
    })?;
    answer::print(&with_earlier(written, before.as_ref()))
}

/// The answer with the file that was made before. If its command was killed, nothing else has told of it.
fn with_earlier(mut answer: Value, earlier: Option<&BankExport>) -> Value {
    answer["earlier_export_id"] = json!(earlier.map(|export| &export.export_id));
    answer["earlier_created_at"] = json!(earlier.map(|export| export.created_at));
    answer
}

fn audit_line(
    foundation: &Foundation,
    merchant: MerchantId,
    export: &BankExport,
    payments: &[Payment],
) -> AuditRecord {
    let ids: Vec<_> = payments.iter().map(|payment| payment.id().as_str()).collect();
    let (entropy, at) = (&*foundation.entropy, export.created_at);
    AuditRecord::new(entropy, at, Actor::shell(), "bank.export", Some(merchant))
        .about(format!("bank_export/{}", export.export_id))
        .changing(json!(null), json!({ "payments": ids }))
}

async fn rewrite(foundation: &Foundation, id: &str, out: Option<PathBuf>) -> Result<()> {
    let out = out.unwrap_or_else(|| usual_path(id));
    refuse_existing(&out)?;
    let unfinished = unfinished(Some(&out))?;
    let found = foundation.store.bank_export(id).await?;
    let (tenant, export, payments) =
        found.with_context(|| format!("no bank file has the identifier {id}"))?;
    let BankExport { currency, method, partner, .. } = export;
    let debtor = debtor(foundation, &ExportRoute { tenant, currency, method, partner }).await?;
    // What has ended meanwhile is paid already, or its money is free again.
    let (open, ended): (Vec<_>, Vec<_>) =
        payments.into_iter().partition(|payment| payment.status() == Status::Processing);
    if open.is_empty() {
        bail!("all withdrawals of {id} have ended, and none is to be paid any more");
    }
    // A file made by an earlier version may hold withdrawals that its format cannot express.
    let (open, unfit): (Vec<_>, Vec<_>) = open.into_iter().partition(fits);
    let left_out = ended.iter().map(over).chain(unfit.iter().map(misfit)).collect::<Vec<_>>();
    if open.is_empty() {
        bail!("no withdrawal of {id} can be written in a file: {}", json!(left_out));
    }
    answer::print(&write((&export, &open, &left_out), &debtor, unfinished, &out)?)
}

fn usual_path(export_id: &str) -> PathBuf {
    Path::new(export_id).with_extension("xml")
}

/// Refuses to write over a file, which may not have reached the bank yet; no other file has its withdrawals.
/// An empty file only reserves the name, as `mktemp` makes it, and may be replaced.
fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(file) if is_empty(&file) => Ok(()),
        Ok(_) => bail!("{} exists already, and nothing is overwritten", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be written", path.display())),
    }
}

/// A file without a name yet, beside the place where the file for the bank is to be. It is removed if nothing
/// comes of it.
fn unfinished(out: Option<&Path>) -> Result<NamedTempFile> {
    let folder = out.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).with_context(|| match out {
        Some(out) => format!("{} cannot be written", out.display()),
        None => "the working folder cannot be written".to_owned(),
    })
}

fn is_empty(file: &Metadata) -> bool {
    file.is_file() && file.len() == 0
}

fn fits(payment: &Payment) -> bool {
    transfer_misfit(&Transfer::of(payment)).is_none()
}

/// A withdrawal that must not be paid any more, and the reason.
fn over(payment: &Payment) -> Value {
    let reason = format!("the withdrawal is {}", payment.status().as_str());
    json!({ "transaction_id": payment.id(), "reason": reason })
}

/// A withdrawal that cannot be written in a file, and the reason.
fn misfit(payment: &Payment) -> Value {
    json!({ "transaction_id": payment.id(), "reason": transfer_misfit(&Transfer::of(payment)) })
}

/// The account that pays, from the `instructions` of the route.
async fn debtor(foundation: &Foundation, route: &ExportRoute) -> Result<Debtor> {
    let ExportRoute { tenant, currency, method, partner } = route;
    let routes = foundation.store.routes(tenant.merchant()).await?;
    let found = routes.iter().find(|found| found.key() == route.key()).with_context(|| {
        let (merchant, environment) = (tenant.merchant(), tenant.environment().as_str());
        let partner = if *partner { ", partner" } else { "" };
        format!(
            "merchant {merchant} has no route for {environment} {currency} {} withdrawal{partner} \
             (quipu merchant routes {merchant} lists its routes)",
            method.as_str()
        )
    })?;
    let debtor = Debtor::of(found).context(
        "the route's instructions must have account_holder and account_number, which name the debtor",
    )?;
    match account_misfit(&debtor.account) {
        Some(misfit) => bail!("the route's instructions cannot name the debtor: {misfit}"),
        None => Ok(debtor),
    }
}

fn write(
    (export, payments, left_out): (&BankExport, &[Payment], &[Value]),
    debtor: &Debtor,
    unfinished: NamedTempFile,
    path: &Path,
) -> Result<Value> {
    let BankExport { export_id, created_at, .. } = export;
    write_to((unfinished, path), export, payments, debtor).with_context(|| {
        format!("export {export_id} holds its withdrawals, but its file was not written: `quipu bank rewrite {export_id}` writes it")
    })?;
    Ok(json!({
        "export_id": export_id,
        "file": path.display().to_string(),
        "payments": payments.len(),
        "left_out": left_out,
        "created_at": created_at,
    }))
}

/// Writes the file under its name completely or not at all: it has its name last, and replaces no other file.
/// Only its owner may read it, since it names customers and their accounts.
fn write_to(
    (unfinished, path): (NamedTempFile, &Path),
    export: &BankExport,
    payments: &[Payment],
    debtor: &Debtor,
) -> Result<()> {
    let transfers: Vec<_> = payments.iter().map(Transfer::of).collect();
    let mut file = BufWriter::new(unfinished);
    let contents = Transfers {
        message_id: &export.export_id,
        created_at: export.created_at,
        currency: export.currency,
        debtor,
        transfers: &transfers,
    };
    write_transfers(&mut file, &contents)?;
    let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    let is_kept_free = path.symlink_metadata().is_ok_and(|file| is_empty(&file));
    let named = if is_kept_free { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Timestamp;
    use quipu_payments::BankAccount;

    use super::*;

    #[test]
    fn a_file_for_the_bank_takes_the_place_of_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("payments.xml");
        let export = BankExport {
            export_id: "E1".to_owned(),
            currency: "MXN".parse().expect("a currency"),
            method: Method::Spei,
            partner: false,
            created_at: Timestamp::from_millis(0),
        };
        let account = BankAccount { number: "646180157000000004".to_owned(), ..BankAccount::default() };
        let debtor = Debtor { name: "Quipu".to_owned(), account };
        refuse_existing(&path).expect("nothing is there");
        std::fs::write(&path, "").expect("made");
        refuse_existing(&path).expect("nothing is in it");
        let write = || write_to((unfinished(Some(&path))?, &path), &export, &[], &debtor);
        write().expect("written");
        std::fs::write(&path, "not sent yet").expect("changed");
        refuse_existing(&path).expect_err("it is there");
        // Somebody may have made it meanwhile.
        write().expect_err("it is there");
        let file = unfinished(Some(&path)).expect("beside it");
        let written = super::write((&export, &[], &[]), &debtor, file, &path);
        let told = format!("{:#}", written.expect_err("it is there"));
        assert!(
            told.contains("E1 holds its withdrawals") && told.contains("quipu bank rewrite E1"),
            "{told}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "not sent yet");
        let link = folder.path().join("link.xml");
        std::os::unix::fs::symlink("nowhere", &link).expect("a link");
        refuse_existing(&link).expect_err("even one that leads nowhere");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }
}
