//! Handing withdrawals of the `manual` rail to a bank by a file, each in one file only.

use std::sync::Arc;

use quipu_commit::{
    Changes, Commit, Decided, Holder, Index, Name, NameChange, Refusal, act_again_if_overtaken,
};
use quipu_kernel::{Clock, Entropy, StoreError, timed_id};
use quipu_merchants::AuditRecord;

use crate::{
    bank::file::{BankExport, ExportRoute, ExportStretch, ExportedPayment},
    payment::{Payment, changes::as_it_stands},
    ports::BankReads,
};

/// The most payments in one file. A second call writes the next file.
const MOST: usize = 5_000;

/// The result of making a file.
#[derive(Debug, Default)]
pub struct Exported {
    /// The file and its withdrawals; `None` if there was nothing to put into one.
    pub file: Option<(BankExport, Vec<Payment>)>,
    /// Older withdrawals that cannot be written in a file. They stay in none, and a person must see to them.
    pub left_out: Vec<Payment>,
}

/// The use case that makes files for banks.
pub struct ExportPayouts {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn BankReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl ExportPayouts {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn BankReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Puts those submitted withdrawals of a route that are in no file yet, and that `fit` into one, into a
    /// new file. Once this answers, no other file will ever contain them; the same file can be written again
    /// at any time. `audit` is given the file and its payments and makes the line of the audit log.
    pub async fn run(
        &self,
        route: &ExportRoute,
        fit: &(dyn Fn(&Payment) -> bool + Sync),
        audit: &(dyn Fn(&BankExport, &[Payment]) -> AuditRecord + Sync),
    ) -> Result<Exported, StoreError> {
        // At the same time another file may take some of them, or a person may fail one, whose money is then
        // free again.
        let is_overtaken = |refusal: &Refusal| matches!(refusal, Refusal::NameTaken { .. } | Refusal::Stale);
        let read = || self.gather(route, fit);
        let decide = |(payments, left_out): (Vec<Payment>, Vec<Payment>)| {
            if payments.is_empty() {
                return Ok(Decided::Stay(Exported { file: None, left_out }));
            }
            let at = self.clock.now();
            let export = BankExport {
                export_id: timed_id("exp", at, &*self.entropy, 12),
                currency: route.currency,
                method: route.method,
                partner: route.partner,
                created_at: at,
            };
            let mut changes = Changes::new(route.tenant, at);
            for payment in &payments {
                changes.expects.push(as_it_stands(payment));
                let name = Name::new(Index::BANK_EXPORT, payment.id().as_str());
                changes.names.push(NameChange::Take(name, Holder::Text(export.export_id.clone())));
                let (payment_id, export_id) = (payment.id().clone(), export.export_id.clone());
                changes.add(ExportedPayment { payment_id, export_id });
            }
            changes.add(export.clone());
            changes.add(audit(&export, &payments));
            Ok(Decided::change(changes, Exported { file: Some((export, payments)), left_out }))
        };
        act_again_if_overtaken(&*self.commit, is_overtaken, None, read, decide).await
    }

    /// The oldest withdrawals that `fit`, as many as go into one file, and the older ones that do not fit.
    async fn gather(
        &self,
        route: &ExportRoute,
        fit: &(dyn Fn(&Payment) -> bool + Sync),
    ) -> Result<(Vec<Payment>, Vec<Payment>), StoreError> {
        let (mut fitting, mut left_out) = (Vec::new(), Vec::new());
        let mut after = None;
        loop {
            let ExportStretch { payments, last } = self.reads.exportable(route, after.as_ref()).await?;
            for payment in payments {
                if !fit(&payment) {
                    left_out.push(payment);
                    continue;
                }
                fitting.push(payment);
                if fitting.len() == MOST {
                    return Ok((fitting, left_out));
                }
            }
            match last {
                Some(last) => after = Some(last),
                None => return Ok((fitting, left_out)),
            }
        }
    }
}
