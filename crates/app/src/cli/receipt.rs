//! `quipu receipt`: parked receipts, from the shell.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use quipu_configuration::Settings;
use quipu_kernel::{MerchantId, PaymentId};
use quipu_payments::{CrossTenantReads, ReceiptFilter, Resolution, StaffCall, filed_under, operator_receipt};
use serde_json::json;

use super::{
    keyed_decision::{Key, KeyedDecision},
    part::{self, Between, Part},
    session, values,
};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List receipts, newest first
    List {
        /// Include resolved receipts
        #[arg(long)]
        all: bool,
        /// Of this merchant
        #[arg(long, value_parser = values::merchant)]
        merchant: Option<MerchantId>,
        /// About this payment
        #[arg(long)]
        payment: Option<PaymentId>,
        #[command(flatten)]
        between: Between,
        #[command(flatten)]
        part: Part,
    },
    /// Decide about a parked receipt
    Resolve {
        /// The receipt's identifier
        id: String,
        #[arg(long, help = "complete_with_received_amount or ignore")]
        action: Resolution,
        #[command(flatten)]
        key: Key,
    },
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::List { all, merchant, payment, between, part } => {
                let page = part.page()?;
                let filter = ReceiptFilter {
                    merchant,
                    payment_id: payment,
                    resolved: (!all).then_some(false),
                    created: between.period(),
                };
                let (receipts, total) = foundation.store.receipts(&filter, page).await?;
                part::print(&receipts.iter().map(operator_receipt).collect::<Vec<_>>(), total)
            }
            Self::Resolve { id, action, key } => resolve(foundation, &id, action, &key).await,
        })
    }
}

async fn resolve(foundation: &Foundation, id: &str, action: Resolution, key: &Key) -> Result<()> {
    let receipt =
        foundation.store.receipt(id).await?.with_context(|| format!("no receipt has the identifier {id}"))?;
    let asked = json!(["receipt resolve", id, action.as_str()]);
    let tenant = filed_under(receipt.tenant);
    let keyed = KeyedDecision::of(foundation, tenant, StaffCall::Resolve(id), key, &asked)?;
    let answer = keyed.run(async || {
        let record = |before: &_, after: &_| {
            keyed.recorded(keyed.action.resolved(before, after), &operator_receipt(after))
        };
        Ok(operator_receipt(&foundation.resolve().run(id, action, &record).await?))
    });
    keyed.print(&answer.await?)
}
