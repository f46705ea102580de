//! Files for a bank.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use quipu_kernel::{Clock, Currency, PaymentId, StoreError, Tenant};
use quipu_merchants::{Actor, AuditRecord, Method};

use super::world::{TENANT, World, ready, withdrawal};
use crate::{BankExport, BankReads, ExportPayouts, ExportRoute, ExportStretch, Exported, Payment, Trigger};

/// Reads a list once as it was, one withdrawal a stretch, and nothing afterwards.
struct ReadBefore(Mutex<VecDeque<Payment>>);

#[async_trait]
impl BankReads for ReadBefore {
    async fn exportable(
        &self,
        _: &ExportRoute,
        after: Option<&PaymentId>,
    ) -> Result<ExportStretch, StoreError> {
        let mut left = self.0.lock().expect("nobody panicked");
        let next = left.pop_front();
        assert!(next.iter().all(|next| after.is_none_or(|after| next.id() > after)), "the next stretch");
        let last = next.as_ref().map(|payment| payment.id().clone());
        Ok(ExportStretch { payments: next.into_iter().collect(), last })
    }

    async fn bank_export(&self, _: &str) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreError> {
        unreachable!("nothing is written again")
    }

    async fn latest_bank_export(
        &self,
        _: &ExportRoute,
        _: Option<&BankExport>,
    ) -> Result<Option<BankExport>, StoreError> {
        unreachable!("nobody asks for the earlier file")
    }
}

fn exported(world: &World, read: Vec<Payment>) -> Option<(BankExport, Vec<Payment>)> {
    exported_if(world, read, |_| true).file
}

fn exported_if(world: &World, read: Vec<Payment>, fit: impl Fn(&Payment) -> bool + Sync) -> Exported {
    let reads: Arc<dyn BankReads> = Arc::new(ReadBefore(Mutex::new(read.into())));
    let export = ExportPayouts::new(world.store.clone(), reads, world.clock.clone(), world.entropy.clone());
    let route = ExportRoute { tenant: TENANT, currency: Currency::MXN, method: Method::Spei, partner: false };
    let audit = |_: &BankExport, _: &[Payment]| {
        let merchant = Some(TENANT.merchant());
        AuditRecord::new(&*world.entropy, world.clock.now(), Actor::shell(), "bank.export", merchant)
    };
    ready(export.run(&route, &fit, &audit)).expect("a file or none")
}

#[test]
fn a_withdrawal_that_fails_while_a_file_is_made_up_is_not_in_it() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let id = world.created(&withdrawal()).id().clone();
    let submitted = world.moved(&id, Trigger::Submit);
    world.moved(&id, Trigger::Fail);
    assert!(exported(&world, vec![submitted]).is_none(), "its money is free again");
}

#[test]
fn a_withdrawal_that_stands_as_it_was_read_is_in_one_file() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let id = world.created(&withdrawal()).id().clone();
    let submitted = world.moved(&id, Trigger::Submit);
    assert!(exported(&world, vec![submitted.clone()]).is_some());
    assert!(exported(&world, vec![submitted]).is_none(), "another file has it");
}

#[test]
fn a_withdrawal_that_no_file_can_name_is_left_out_and_the_others_are_not() {
    let world = World::new();
    world.fund(Currency::MXN, 150_000);
    let all: Vec<_> = (0..3)
        .map(|number| {
            let mut body = withdrawal();
            body["merchant_reference"] = format!("w-{number}").into();
            let id = world.created(&body).id().clone();
            world.moved(&id, Trigger::Submit)
        })
        .collect();
    let fit = |payment: &Payment| payment.id() != all[1].id();
    let Exported { file, left_out } = exported_if(&world, all.clone(), fit);
    let (_, payments) = file.expect("a file");
    assert_eq!(payments.iter().map(Payment::id).collect::<Vec<_>>(), [all[0].id(), all[2].id()]);
    assert_eq!(left_out.iter().map(Payment::id).collect::<Vec<_>>(), [all[1].id()]);
    let Exported { file, left_out } = exported_if(&world, left_out, fit);
    assert_eq!((file, left_out.len()), (None, 1), "it is in no file");
    assert!(exported(&world, vec![all[1].clone()]).is_some(), "and can be in one that names it");
}
