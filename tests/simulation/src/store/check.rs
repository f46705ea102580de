//! Recomputes from the rows what the store keeps beside them.

use std::collections::{BTreeMap, BTreeSet};

use quipu_commit::{Aggregate, Contents, Holder, Index, Name};
use quipu_kernel::{Currency, Day, PaymentId, Tenant};
use quipu_ledger::{Balance, Breach, CheckReport};
use quipu_payments::{COUNTER, Payment, counter_of_day};
use quipu_webhooks::Event;

/// Everything that is broken, each by the name of its invariant.
pub(super) fn report(contents: &Contents) -> CheckReport {
    let mut report = CheckReport::default();
    sums(contents, &mut report);
    balances(contents, &mut report);
    statuses(contents, &mut report);
    counters(contents, &mut report);
    references(contents, &mut report);
    report
}

fn breach(report: &mut CheckReport, invariant: &'static str, subject: &dyn ToString, detail: String) {
    report.breaches.push(Breach { invariant, subject: subject.to_string(), detail });
}

/// The entries of every transaction sum to zero.
fn sums(contents: &Contents, report: &mut CheckReport) {
    let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
    for posted in &contents.entries {
        *sums.entry(posted.transaction).or_default() += posted.entry.amount.get();
    }
    report.transactions = sums.len() as u64;
    for (transaction, sum) in sums.into_iter().filter(|(_, sum)| *sum != 0) {
        breach(report, "transaction_sums_to_zero", &transaction, format!("its entries sum to {sum}"));
    }
}

/// Every balance is the sum of its entries.
fn balances(contents: &Contents, report: &mut CheckReport) {
    let mut sums: BTreeMap<(Tenant, Currency), Balance> = BTreeMap::new();
    for posted in &contents.entries {
        let key = (posted.tenant, posted.currency);
        let sum = sums.entry(key).or_insert_with(|| Balance::zero(posted.currency));
        if sum.add(posted.reason, posted.entry).is_err() {
            breach(
                report,
                "balance_in_range",
                &posted.tenant,
                format!("beyond the range in {}", posted.currency),
            );
        }
    }
    report.balances = sums.len() as u64;
    for ((tenant, currency), sum) in sums {
        let kept = contents.balance(tenant, currency);
        if kept != sum || !kept.is_balanced() {
            breach(report, "balance_equals_entries", &tenant, format!("{kept:?} is kept of {sum:?}"));
        }
        if kept.available.is_negative() || kept.frozen.is_negative() {
            breach(report, "balance_not_negative", &tenant, format!("{kept:?}"));
        }
    }
}

/// The events of every payment tell of each of its versions, one after the other, up to the one in which it stands.
fn statuses(contents: &Contents, report: &mut CheckReport) {
    let mut told: BTreeMap<&PaymentId, Vec<&Event>> = BTreeMap::new();
    for (_, event) in contents.rows_of::<Event>() {
        if let Some(id) = &event.payment_id
            && event.name.as_str().starts_with("payment.")
        {
            told.entry(id).or_default().push(event);
        }
    }
    for (_, payment) in contents.all::<Payment>(Aggregate::PAYMENT) {
        report.payments += 1;
        let events = told.remove(payment.id()).unwrap_or_default();
        let (mut version, mut status) = (0, None);
        for step in events.iter().filter_map(|event| event.status) {
            if step.version != version + 1 || step.previous != status {
                let detail = format!("version {version} ({status:?}) is followed by {step:?}");
                breach(report, "events_are_gapless", payment.id(), detail);
            }
            (version, status) = (step.version, Some(step.status));
        }
        if (version, status) != (payment.state().version, Some(payment.status().as_str())) {
            let detail = format!("told of {version} ({status:?}), stands at {:?}", payment.state());
            breach(report, "events_tell_the_status", payment.id(), detail);
        }
    }
    for (id, events) in told {
        breach(report, "event_of_a_payment", id, format!("{} events tell of no payment", events.len()));
    }
}

/// The counters are the numbers of payments, of all and of each day.
fn counters(contents: &Contents, report: &mut CheckReport) {
    let mut counts: BTreeMap<(Tenant, String, [String; 4]), i64> = BTreeMap::new();
    for (tenant, payment) in contents.all::<Payment>(Aggregate::PAYMENT) {
        let terms = payment.terms();
        let keys = [
            payment.status().as_str().to_owned(),
            terms.kind.as_str().to_owned(),
            terms.method.as_str().to_owned(),
            terms.currency.to_string(),
        ];
        for name in [COUNTER.to_owned(), counter_of_day(Day::of(terms.created_at))] {
            *counts.entry((tenant, name, keys.clone())).or_default() += 1;
        }
    }
    let kept = contents.counters.iter().filter(|((_, name, _), _)| name.starts_with(COUNTER));
    let kept: BTreeMap<_, _> = kept.map(|(key, count)| (key.clone(), *count)).collect();
    if kept != counts {
        breach(report, "counters_count", &"payments", format!("{kept:?} is kept of {counts:?}"));
    }
}

/// Every reference is held by the payment that may hold it, and by no other.
fn references(contents: &Contents, report: &mut CheckReport) {
    let mut held = BTreeSet::new();
    for (tenant, payment) in contents.all::<Payment>(Aggregate::PAYMENT) {
        let name = Name::new(Index::REFERENCE, payment.terms().merchant_reference.clone());
        let holder = Holder::Text(payment.id().as_str().to_owned());
        let holds = contents.holder(tenant, &name) == Some(&holder);
        if holds != payment.holds_reference() {
            breach(report, "reference_is_held", payment.id(), format!("held: {holds}"));
        }
        if payment.holds_reference() && !held.insert((tenant, name.value.clone())) {
            breach(report, "reference_is_unique", payment.id(), name.value);
        }
    }
}
