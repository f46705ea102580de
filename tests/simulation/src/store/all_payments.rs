//! What rails and the operator read.

use async_trait::async_trait;
use quipu_commit::{Aggregate, Contents, Record};
use quipu_kernel::{Page, PaymentId, StoreError, Tenant};
use quipu_merchants::AuditRecord;
use quipu_payments::{
    Alert, AuditLine, CallbackLine, CrossTenantReads, EntryLine, EventLine, Payment, Receipt, ReceiptFilter,
    ReceivedEvent, Refund, SearchFilter, StatusLine, Timeline,
};
use quipu_webhooks::Event;

use super::{
    MemoryStore,
    payments::{matches, paged},
};
use crate::turns::give_way;

#[async_trait]
impl CrossTenantReads for MemoryStore {
    async fn find_payment(&self, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        give_way().await;
        let found = self.payment_of(id);
        give_way().await;
        Ok(found)
    }

    async fn search_payments(
        &self,
        filter: &SearchFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        give_way().await;
        let contents = self.contents();
        let all = contents.all::<Payment>(Aggregate::PAYMENT).filter(|(tenant, payment)| {
            filter.merchant.is_none_or(|merchant| merchant == tenant.merchant())
                && filter.environment.is_none_or(|environment| environment == tenant.environment())
                && filter.rail.as_ref().is_none_or(|rail| *rail == payment.terms().rail)
                && matches(&filter.payment, payment)
        });
        let mut found: Vec<_> = all.map(|(_, payment)| payment.clone()).collect();
        found.sort_by(|one, other| other.id().cmp(one.id()));
        Ok(paged(found, page))
    }

    async fn timeline(&self, payment: &Payment) -> Result<Timeline, StoreError> {
        give_way().await;
        Ok(timeline(&self.contents(), payment))
    }

    async fn has_received(&self, rail: &str, event_id: &str) -> Result<bool, StoreError> {
        give_way().await;
        let contents = self.contents();
        let mut received = contents.rows_of::<ReceivedEvent>();
        Ok(received.any(|(_, received)| received.rail == rail && received.event.id == event_id))
    }

    async fn refunds(&self, tenant: Tenant, id: &PaymentId) -> Result<Vec<Refund>, StoreError> {
        give_way().await;
        let contents = self.contents();
        Ok(rows(&contents, tenant, |refund: &Refund| refund.payment_id == *id).cloned().collect())
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        give_way().await;
        let contents = self.contents();
        let mut all = contents.all::<Receipt>(Aggregate::RECEIPT);
        Ok(all.find(|(_, receipt)| receipt.receipt_id == id).map(|(_, receipt)| receipt.clone()))
    }

    async fn receipts(&self, filter: &ReceiptFilter, page: Page) -> Result<(Vec<Receipt>, u64), StoreError> {
        give_way().await;
        let contents = self.contents();
        let all = contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt);
        let mut found: Vec<_> = all.filter(|receipt| is_wanted(filter, receipt)).cloned().collect();
        found.sort_by(|one, other| other.receipt_id.cmp(&one.receipt_id));
        Ok(paged(found, page))
    }
}

fn is_wanted(filter: &ReceiptFilter, receipt: &Receipt) -> bool {
    let merchant = receipt.tenant.map(Tenant::merchant);
    (filter.merchant.is_none() || filter.merchant == merchant)
        && (filter.payment_id.is_none() || filter.payment_id == receipt.payment_id)
        && filter.resolved.is_none_or(|resolved| resolved == receipt.resolved.is_some())
        && filter.created.contains(receipt.created_at)
}

/// The rows of a tenant and a type that are wanted, in the order of the commits.
fn rows<'c, T: Record>(
    contents: &'c Contents,
    tenant: Tenant,
    wanted: impl Fn(&T) -> bool + 'c,
) -> impl Iterator<Item = &'c T> {
    let mine = contents.rows_of::<T>().filter(move |(owner, _)| *owner == tenant);
    mine.map(|(_, row)| row).filter(move |row| wanted(row))
}

/// Everything but deliveries.
fn timeline(contents: &Contents, payment: &Payment) -> Timeline {
    let (tenant, id) = (payment.terms().tenant, payment.id());
    let of_payment = |found: &Option<PaymentId>| found.as_ref() == Some(id);
    let events = rows(contents, tenant, |event: &Event| of_payment(&event.payment_id));
    let events: Vec<_> = events.map(event_line).collect();
    let entries = contents.entries.iter().filter(|entry| of_payment(&entry.payment_id));
    let entries = entries.map(|posted| EntryLine {
        transaction_id: posted.transaction.to_string(),
        reason: posted.reason.as_str().to_owned(),
        account: posted.entry.account.as_str().to_owned(),
        amount: posted.entry.amount,
        currency: posted.currency.to_string(),
        created_at: posted.at,
    });
    let callbacks = rows(contents, tenant, |received: &ReceivedEvent| of_payment(&received.payment_id));
    let callbacks = callbacks.map(|received| CallbackLine {
        rail: received.rail.clone(),
        event_id: received.event.id.clone(),
        kind: received.event.kind.as_str().to_owned(),
        outcome: received.outcome.to_owned(),
        received_at: received.at,
    });
    let subject = format!("payment/{id}");
    let audit = rows(contents, tenant, |line: &AuditRecord| line.subject == subject);
    let audit = audit.map(|line| AuditLine {
        at: line.at,
        actor: line.actor.name.clone(),
        action: line.action.clone(),
        after: line.after.clone(),
    });
    let receipts = contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt);
    Timeline {
        statuses: StatusLine::of_events(&events),
        deliveries: Vec::new(),
        entries: entries.collect(),
        callbacks: callbacks.collect(),
        receipts: receipts.filter(|receipt| of_payment(&receipt.payment_id)).cloned().collect(),
        refunds: rows(contents, tenant, |refund: &Refund| refund.payment_id == *id).cloned().collect(),
        audit: audit.collect(),
        alerted_at: rows(contents, tenant, |alert: &Alert| alert.payment_id == *id)
            .map(|alert| alert.at)
            .next(),
        events,
    }
}

fn event_line(event: &Event) -> EventLine {
    EventLine {
        id: event.id.as_str().to_owned(),
        kind: event.name.as_str().to_owned(),
        previous_status: event.status.and_then(|status| status.previous).map(str::to_owned),
        status: event.status.map(|status| status.status.to_owned()),
        status_version: event.status.map(|status| status.version),
        created_at: event.at,
    }
}
