//! In which class each payment is, on PostgreSQL: status, type, method and currency, as lists filter by them.
//!
//! SQLite has an index for this. On PostgreSQL an update that changes an indexed column writes to every index of the table, so
//! the status is in none of those of payments, and a row here moves instead.

use std::{borrow::Cow, collections::BTreeMap};

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use quipu_commit::Changes;
use quipu_kernel::Tenant;
use quipu_payments::COUNTER;

use crate::statement::statement;

/// A class: its status, type, method and currency.
type Class = [Cow<'static, str>; 4];

/// Payments of a batch that come into a class, and those that change theirs. A payment is counted in the class that it is in, so
/// its counters tell both.
#[derive(Default)]
pub(crate) struct Classed<'a> {
    steps: BTreeMap<(Tenant, &'a str), Step<'a>>,
}

/// The class that a payment was in before the batch and the one that it is in now.
#[derive(Default)]
struct Step<'a> {
    from: Option<&'a Class>,
    to: Option<&'a Class>,
}

impl<'a> Classed<'a> {
    /// Follows the payment of an accepted change.
    pub(crate) fn follow(&mut self, changes: &'a Changes) {
        let Some(payment) = &changes.payment_id else { return };
        for tally in changes.tallies.iter().filter(|tally| tally.name == COUNTER) {
            let step = self.steps.entry((changes.tenant, payment.as_str())).or_default();
            if tally.by > 0 {
                step.to = Some(&tally.keys);
            } else if step.to.take().is_none() {
                step.from = Some(&tally.keys);
            }
        }
    }

    /// What puts new payments into their classes, if there are any.
    pub(crate) fn put(&self) -> Option<PutClasses<'a>> {
        let mut put = PutClasses {
            merchants: Vec::new(),
            environments: Vec::new(),
            statuses: Vec::new(),
            kinds: Vec::new(),
            methods: Vec::new(),
            currencies: Vec::new(),
            ids: Vec::new(),
        };
        for ((tenant, id), step) in &self.steps {
            let Step { from: None, to: Some([status, kind, method, currency]) } = step else { continue };
            put.merchants.push(tenant.merchant().0);
            put.environments.push(tenant.environment().as_str());
            put.statuses.push(status);
            put.kinds.push(kind);
            put.methods.push(method);
            put.currencies.push(currency);
            put.ids.push(id);
        }
        (!put.ids.is_empty()).then_some(put)
    }

    /// What moves payments to the class of another status, if any have one. Nothing else of a class ever changes.
    pub(crate) fn moved(&self) -> Option<MoveClasses<'a>> {
        let mut moved = MoveClasses {
            merchants: Vec::new(),
            environments: Vec::new(),
            statuses: Vec::new(),
            kinds: Vec::new(),
            methods: Vec::new(),
            currencies: Vec::new(),
            ids: Vec::new(),
            to: Vec::new(),
        };
        for ((tenant, id), step) in &self.steps {
            let Step { from: Some([status, kind, method, currency]), to: Some([to, ..]) } = step else {
                continue;
            };
            moved.merchants.push(tenant.merchant().0);
            moved.environments.push(tenant.environment().as_str());
            moved.statuses.push(status);
            moved.kinds.push(kind);
            moved.methods.push(method);
            moved.currencies.push(currency);
            moved.ids.push(id);
            moved.to.push(to);
        }
        (!moved.ids.is_empty()).then_some(moved)
    }
}

statement! { PutClasses on Pg {
    "INSERT INTO payment_classes (merchant_id, environment, status, type, method, currency, id) SELECT UNNEST ("
    => merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" => environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" => statuses: Vec<&'a str> as Array<Text>, "), UNNEST (" => kinds: Vec<&'a str> as Array<Text>,
    "), UNNEST (" => methods: Vec<&'a str> as Array<Text>, "), UNNEST (" => currencies: Vec<&'a str> as Array<Text>,
    "), UNNEST (" => ids: Vec<&'a str> as Array<Text> ; ")"
} }

statement! { MoveClasses on Pg {
    "UPDATE payment_classes AS old SET status = moved.to_status FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => statuses: Vec<&'a str> as Array<Text>,
    ", " => kinds: Vec<&'a str> as Array<Text>, ", " => methods: Vec<&'a str> as Array<Text>,
    ", " => currencies: Vec<&'a str> as Array<Text>, ", " => ids: Vec<&'a str> as Array<Text>,
    ", " => to: Vec<&'a str> as Array<Text> ;
    ") AS moved (merchant_id, environment, status, type, method, currency, id, to_status)
     WHERE old.merchant_id = moved.merchant_id AND old.environment = moved.environment AND old.status = moved.status
        AND old.type = moved.type AND old.method = moved.method AND old.currency = moved.currency AND old.id = moved.id"
} }

#[cfg(test)]
mod tests {
    use quipu_commit::Tally;
    use quipu_kernel::{Environment, MerchantId, PaymentId, Timestamp};

    use super::*;

    fn tally(status: &'static str, by: i64) -> [Tally; 2] {
        let keys = [status, "deposit", "spei", "MXN"].map(Cow::Borrowed);
        ["payments/2026-01-31", COUNTER].map(|name| Tally {
            name: Cow::Borrowed(name),
            keys: keys.clone(),
            by,
        })
    }

    fn changes(id: &str, tallies: &[(&'static str, i64)]) -> Changes {
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let mut changes = Changes::new(tenant, Timestamp::from_millis(0));
        changes.payment_id = Some(id.parse::<PaymentId>().expect("an identifier"));
        changes.tallies.extend(tallies.iter().flat_map(|(status, by)| tally(status, *by)));
        changes
    }

    #[test]
    fn a_payment_goes_from_its_class_before_the_batch_to_the_one_behind_it() {
        let [made, moved, both, twice] =
            [1, 2, 3, 4].map(|last| format!("pay_176372640000{last}_abcdefghijkl"));
        let all = [
            changes(&made, &[("processing", 1)]),
            changes(&moved, &[("processing", -1), ("completed", 1)]),
            changes(&both, &[("pending", 1)]),
            changes(&both, &[("pending", -1), ("cancelled", 1)]),
            changes(&twice, &[("pending", -1), ("processing", 1), ("processing", -1), ("completed", 1)]),
        ];
        let mut classed = Classed::default();
        for changes in &all {
            classed.follow(changes);
        }
        let put = classed.put().expect("new ones");
        let found: Vec<_> = put.ids.iter().zip(&put.statuses).map(|(id, status)| (*id, *status)).collect();
        assert_eq!(found, [(made.as_str(), "processing"), (both.as_str(), "cancelled")]);
        let steps = classed.moved().expect("moved ones");
        let found: Vec<_> =
            (0..steps.ids.len()).map(|n| (steps.ids[n], steps.statuses[n], steps.to[n])).collect();
        assert_eq!(
            found,
            [(moved.as_str(), "processing", "completed"), (twice.as_str(), "pending", "completed")]
        );
    }
}
