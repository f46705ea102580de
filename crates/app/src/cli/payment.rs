//! `quipu payment`: what staff do with payments, from the shell.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Currency, CustomerId, Environment, MerchantId, PaymentId};
use quipu_merchants::Method;
use quipu_payments::{
    CrossTenantReads, DecisionNote, ManualDecision, Payment, PaymentFilter, PaymentType, RefundOrder,
    SearchFilter, StaffCall, Status, operator_record, operator_timeline,
};
use serde_json::json;

use super::{
    keyed_decision::{Key, KeyedDecision},
    part::{self, Between, Part},
    session, values,
};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List payments of every merchant, newest first
    List(Filter),
    /// Show one payment and everything that happened to it
    Show {
        /// The payment's identifier
        id: PaymentId,
    },
    /// Record that a withdrawal was handed to the bank
    Submit(DecisionArgs),
    /// Record that a deposit's money arrived, even late, or that a withdrawal was paid
    Complete(DecisionArgs),
    /// Record that a deposit's money will not arrive, or that a withdrawal will not be paid
    Fail(DecisionArgs),
    /// Record that the bank returned a payout
    Return(DecisionArgs),
    /// List the refunds of a deposit, oldest first
    Refunds {
        /// The payment's identifier
        id: PaymentId,
    },
    /// Book a refund of a deposit, in part or in full; the money itself is sent by hand
    Refund {
        /// The payment's identifier
        id: PaymentId,
        /// How much, in minor units
        #[arg(long, value_parser = values::integer)]
        amount: i64,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        /// The ticket that asked for it
        #[arg(long)]
        ticket: Option<String>,
        #[command(flatten)]
        key: Key,
    },
}

#[derive(Debug, Args)]
pub(super) struct Filter {
    /// Of this merchant
    #[arg(long, value_parser = values::merchant)]
    merchant: Option<MerchantId>,
    /// test or live
    #[arg(long)]
    environment: Option<Environment>,
    /// In this status
    #[arg(long)]
    status: Option<Status>,
    /// Of this type
    #[arg(long = "type")]
    kind: Option<PaymentType>,
    /// With this method
    #[arg(long)]
    method: Option<Method>,
    /// In this currency
    #[arg(long)]
    currency: Option<Currency>,
    /// With this `merchant_reference`
    #[arg(long)]
    reference: Option<String>,
    /// Of this customer
    #[arg(long, value_parser = values::customer)]
    customer: Option<CustomerId>,
    /// On this rail: simulator, manual or `http:NAME`
    #[arg(long)]
    rail: Option<String>,
    #[command(flatten)]
    between: Between,
    #[command(flatten)]
    part: Part,
}

#[derive(Debug, Args)]
pub(super) struct DecisionArgs {
    /// The payment's identifier
    id: PaymentId,
    /// Why
    #[arg(long)]
    reason: Option<String>,
    /// The bank's or provider's own reference
    #[arg(long)]
    rail_reference: Option<String>,
    #[command(flatten)]
    key: Key,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::List(filter) => list(foundation, filter).await,
            Self::Show { id } => show(foundation, &id).await,
            Self::Submit(decision) => decide(foundation, ManualDecision::Submit, decision).await,
            Self::Complete(decision) => decide(foundation, ManualDecision::Complete, decision).await,
            Self::Fail(decision) => decide(foundation, ManualDecision::Fail, decision).await,
            Self::Return(decision) => decide(foundation, ManualDecision::Return, decision).await,
            Self::Refunds { id } => {
                let payment = found(foundation, &id).await?;
                let refunds = foundation.store.refunds(payment.terms().tenant, &id).await?;
                part::print(&refunds, refunds.len() as u64)
            }
            Self::Refund { id, amount, reason, ticket, key } => {
                let body = json!({ "amount": amount, "reason": reason, "ticket_id": ticket });
                let order = RefundOrder::parse(&body).map_err(session::explained)?;
                refund(foundation, &id, order, &key).await
            }
        })
    }
}

async fn found(foundation: &Foundation, id: &PaymentId) -> Result<Payment> {
    foundation.store.find_payment(id).await?.with_context(|| format!("no payment has the identifier {id}"))
}

async fn list(foundation: &Foundation, filter: Filter) -> Result<()> {
    let page = filter.part.page()?;
    let filter = SearchFilter {
        merchant: filter.merchant,
        environment: filter.environment,
        rail: filter.rail,
        payment: PaymentFilter {
            status: filter.status,
            kind: filter.kind,
            method: filter.method,
            currency: filter.currency,
            merchant_reference: filter.reference,
            customer_id: filter.customer,
            created: filter.between.period(),
        },
    };
    let (payments, total) = foundation.store.search_payments(&filter, page).await?;
    part::print(&payments.iter().map(operator_record).collect::<Vec<_>>(), total)
}

async fn show(foundation: &Foundation, id: &PaymentId) -> Result<()> {
    let payment = found(foundation, id).await?;
    let timeline = foundation.store.timeline(&payment).await?;
    let mut shown = operator_record(&payment);
    shown["timeline"] = operator_timeline(&timeline);
    session::print(&shown)
}

async fn decide(foundation: &Foundation, decision: ManualDecision, args: DecisionArgs) -> Result<()> {
    let DecisionArgs { id, reason, rail_reference, key } = args;
    let note = DecisionNote::parse(&json!({ "reason": reason, "rail_reference": rail_reference }));
    let note = note.map_err(session::explained)?;
    let payment = found(foundation, &id).await?;
    let call = StaffCall::Decide(decision, &id);
    let asked = json!(["payment", decision.as_str(), id, reason, rail_reference]);
    let keyed = KeyedDecision::of(foundation, payment.terms().tenant, call, &key, &asked)?;
    let answer = keyed.run(async || {
        let record = |before: &_, after: &_| {
            let audit = keyed.action.decided(decision, &note, before, after);
            keyed.recorded(audit, &operator_record(after))
        };
        let decided = foundation.decide().run(&id, decision, note.reason.as_deref(), &record).await?;
        Ok(operator_record(&decided))
    });
    keyed.print(&answer.await?)
}

async fn refund(foundation: &Foundation, id: &PaymentId, order: RefundOrder, key: &Key) -> Result<()> {
    let payment = found(foundation, id).await?;
    let asked = json!(["payment refund", id, order.amount, order.reason, order.ticket_id]);
    let keyed = KeyedDecision::of(foundation, payment.terms().tenant, StaffCall::Refund(id), key, &asked)?;
    let answer = keyed.run(async || {
        let record = |before: &_, after: &_, refund: &_| {
            keyed.recorded(keyed.action.refunded(before, after, refund), &json!(refund))
        };
        let (_, refund) = foundation.refund().run(id, &order, &record).await?;
        Ok(json!(refund))
    });
    keyed.print(&answer.await?)
}
