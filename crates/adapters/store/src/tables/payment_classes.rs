//! The class of each payment on PostgreSQL: status, type, method and currency, as lists filter by them.
//!
//! SQLite has an index for this. On PostgreSQL an update that changes an indexed column writes to every index
//! of the table. So no index of `payments` contains the status; the row in this table is updated instead.

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

/// Payments of a batch that change their class. A payment is counted in its class, so the changes of counters
/// name the class before and after.
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
    /// What accepted changes, in their order, do to their payments.
    pub(crate) fn by(accepted: impl Iterator<Item = &'a Changes>) -> Self {
        let mut classed = Self::default();
        accepted.for_each(|changes| classed.follow(changes));
        classed
    }

    fn follow(&mut self, changes: &'a Changes) {
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

    /// What moves payments from one class to another, if there are any.
    pub(crate) fn moved(&self) -> Option<MoveClasses<'a>> {
        let moved = self.steps.iter().filter_map(|(key, step)| match step {
            Step { from: Some(from), to: Some(to) } => Some((key, text_of(from), text_of(to))),
            _ => None,
        });
        let (mut merchants, mut environments, mut ids) = (vec![], vec![], vec![]);
        let (mut from, mut to) = (vec![], vec![]);
        for ((tenant, id), class_before, class) in moved {
            merchants.push(tenant.merchant().0);
            environments.push(tenant.environment().as_str());
            from.push(class_before);
            ids.push(*id);
            to.push(class);
        }
        (!ids.is_empty()).then_some(MoveClasses { merchants, environments, from, ids, to })
    }
}

/// A class as its column has it.
fn text_of(class: &Class) -> String {
    class.join("/")
}

statement! { MoveClasses on Pg {
    "UPDATE payment_classes AS old SET class = moved.class FROM (SELECT UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ") AS merchant_id, UNNEST (" => environments: Vec<&'a str> as Array<Text>,
    ") AS environment, UNNEST (" => from: Vec<String> as Array<Text>,
    ") AS class_before, UNNEST (" => ids: Vec<&'a str> as Array<Text>,
    ") AS id, UNNEST (" => to: Vec<String> as Array<Text> ;
    ") AS class) AS moved
     WHERE old.merchant_id = moved.merchant_id AND old.environment = moved.environment
        AND old.class = moved.class_before AND old.id = moved.id"
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
        let classed = Classed::by(all.iter());
        let steps = classed.moved().expect("moved ones");
        let step = |n: usize| (steps.ids[n], steps.from[n].as_str(), steps.to[n].as_str());
        let found: Vec<_> = (0..steps.ids.len()).map(step).collect();
        let [pending, processing, completed] =
            ["pending", "processing", "completed"].map(|status| format!("{status}/deposit/spei/MXN"));
        let [pending, processing, completed] = [&*pending, &*processing, &*completed];
        assert_eq!(found, [(moved.as_str(), processing, completed), (twice.as_str(), pending, completed)]);
    }
}
