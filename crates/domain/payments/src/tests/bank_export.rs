//! Files for a bank.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use quipu_commit::Commit as _;
use quipu_kernel::{Clock, Currency, PaymentId, Tenant};
use quipu_merchants::{Actor, AuditRecord, Method, StoreUnavailable};

use super::world::{START, TENANT, World, ready, withdrawal};
use crate::{BankExport, BankReads, ExportPayouts, ExportRoute, Happening, Payment, Trigger};

/// Reads a list once as it was, and nothing afterwards.
struct ReadBefore(Mutex<Vec<Payment>>);

#[async_trait]
impl BankReads for ReadBefore {
    async fn exportable(&self, _: &ExportRoute, _: u32) -> Result<Vec<Payment>, StoreUnavailable> {
        Ok(std::mem::take(&mut *self.0.lock().expect("nobody panicked")))
    }

    async fn bank_export(
        &self,
        _: &str,
    ) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreUnavailable> {
        unreachable!("nothing is written again")
    }

    async fn latest_bank_export(&self, _: &ExportRoute) -> Result<Option<BankExport>, StoreUnavailable> {
        unreachable!("nobody asks for the earlier file")
    }
}

fn exported(world: &World, read: Vec<Payment>) -> Option<(BankExport, Vec<Payment>)> {
    let reads: Arc<dyn BankReads> = Arc::new(ReadBefore(Mutex::new(read)));
    let export = ExportPayouts::new(world.store.clone(), reads, world.clock.clone(), world.entropy.clone());
    let route = ExportRoute { tenant: TENANT, currency: Currency::MXN, method: Method::Spei, partner: false };
    let audit = |_: &BankExport, _: &[Payment]| {
        AuditRecord::new(&*world.entropy, world.clock.now(), Actor::shell(), "bank.export", TENANT.merchant())
    };
    ready(export.run(&route, &audit)).expect("a file or none")
}

fn moved(world: &World, id: &PaymentId, trigger: Trigger) -> Payment {
    let how = Happening::new(START, &*world.entropy);
    let changes = world.store.payment(id).apply(trigger, how).expect("a move");
    ready(world.store.commit(changes)).expect("a commit");
    world.store.payment(id)
}

#[test]
fn a_withdrawal_that_fails_while_a_file_is_made_up_is_not_in_it() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let id = world.created(&withdrawal()).id().clone();
    let submitted = moved(&world, &id, Trigger::Submit);
    moved(&world, &id, Trigger::Fail);
    assert!(exported(&world, vec![submitted]).is_none(), "its money is free again");
}

#[test]
fn a_withdrawal_that_stands_as_it_was_read_is_in_one_file() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let id = world.created(&withdrawal()).id().clone();
    let submitted = moved(&world, &id, Trigger::Submit);
    assert!(exported(&world, vec![submitted.clone()]).is_some());
    assert!(exported(&world, vec![submitted]).is_none(), "another file has it");
}
