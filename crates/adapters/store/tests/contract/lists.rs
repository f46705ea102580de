//! Pages of payments, and how many there are.

use std::cell::Cell;

use futures_util::{FutureExt as _, future::join_all};
use quipu_commit::{CommitError, Refusal};
use quipu_kernel::{Currency, Page, PaymentId, Period};
use quipu_merchants::Method;
use quipu_payments::{Payment, PaymentFilter, PaymentType, Status};

use crate::{
    fixture::{AnyStore, Fixture, on_every_store},
    sample::{Sample, after, customer, move_to, tenant},
};

on_every_store! {
    every_filter_finds_exactly_what_matches,
    pages_cover_everything_once_newest_first,
    a_range_of_time_includes_both_ends,
    who_asks_for_the_same_page_as_others_sees_what_was_committed_before,
}

async fn history(store: &AnyStore) -> Vec<Payment> {
    let methods = [Method::Spei, Method::BankTransfer, Method::Card];
    let mut all = Vec::new();
    for number in 0..60_i64 {
        let index = usize::try_from(number).expect("small");
        let email = format!("c{}@example.com", number % 4);
        let sample = Sample {
            kind: if number % 3 == 0 { PaymentType::DepositPp } else { PaymentType::Deposit },
            method: methods[index % 3],
            currency: if number % 2 == 0 { Currency::MXN } else { Currency::ARS },
            reference: format!("ref-{}", number % 50),
            customer: customer(Some(&email), None),
            at: after(number * 10),
            ..Sample::deposit(tenant(1), 100)
        };
        let made = match store.commit(sample.create()).await {
            // Some references come twice.
            Err(CommitError::Refused(Refusal::NameTaken { .. })) => continue,
            made => made.expect("created"),
        };
        let mut payment = made.into_saved::<Payment>().expect("a payment");
        if number % 5 == 0 {
            let moved = store.commit(move_to(&payment, Status::Failed, after(number * 10 + 1))).await;
            payment = moved.expect("moved").into_saved::<Payment>().expect("a payment");
        }
        all.push(*payment);
    }
    store.commit(Sample::deposit(tenant(2), 1).create()).await.expect("somebody else's");
    all.sort_by(|a, b| b.id().cmp(a.id()));
    all
}

pub(crate) fn matches(payment: &Payment, filter: &PaymentFilter) -> bool {
    let terms = payment.terms();
    filter.status.is_none_or(|status| payment.status() == status)
        && filter.kind.is_none_or(|kind| terms.kind == kind)
        && filter.method.is_none_or(|method| terms.method == method)
        && filter.currency.is_none_or(|currency| terms.currency == currency)
        && filter.merchant_reference.as_ref().is_none_or(|reference| terms.merchant_reference == *reference)
        && filter.customer_id.is_none_or(|id| terms.customer.id == id)
        && filter.created.contains(terms.created_at)
}

async fn every_filter_finds_exactly_what_matches(fixture: Fixture) {
    let store = fixture.any().await;
    let all = history(&store).await;
    let mut filters = vec![PaymentFilter::default()];
    let since_200 = Period { from: Some(after(200)), to: None };
    let until = |millis| Period { from: None, to: Some(after(millis)) };
    let somebody = all[7].terms().customer.id;
    for status in [None, Some(Status::Failed), Some(Status::Processing), Some(Status::Refunded)] {
        for kind in [None, Some(PaymentType::DepositPp)] {
            for method in [None, Some(Method::Spei)] {
                for currency in [None, Some(Currency::ARS)] {
                    let plain = PaymentFilter { status, kind, method, currency, ..PaymentFilter::default() };
                    filters.push(PaymentFilter { customer_id: Some(somebody), ..plain.clone() });
                    filters.push(PaymentFilter { created: since_200, ..plain.clone() });
                    filters.push(PaymentFilter { created: until(300), ..plain.clone() });
                    let referenced =
                        PaymentFilter { merchant_reference: Some("ref-5".to_owned()), ..plain.clone() };
                    filters.push(PaymentFilter { created: since_200, ..referenced.clone() });
                    filters.push(PaymentFilter { created: until(200), ..referenced.clone() });
                    filters.push(PaymentFilter { customer_id: Some(somebody), ..referenced.clone() });
                    filters.push(referenced);
                    filters.push(plain);
                }
            }
        }
    }
    let page = Page::new(100, 0).expect("a page");
    // All at once, those that wait longest for a connection could be refused.
    for filters in filters.chunks(20) {
        let asked = filters.iter().map(|filter| store.payments(tenant(1), filter, page));
        for (answer, filter) in join_all(asked).await.into_iter().zip(filters) {
            let expected: Vec<_> = all.iter().filter(|payment| matches(payment, filter)).cloned().collect();
            let (found, total) = answer.expect("read");
            assert_eq!(total, expected.len() as u64, "{filter:?}");
            assert_eq!(found, expected, "{filter:?}");
        }
    }
}

async fn pages_cover_everything_once_newest_first(fixture: Fixture) {
    let store = fixture.any().await;
    let all = history(&store).await;
    for filter in
        [PaymentFilter::default(), PaymentFilter { status: Some(Status::Processing), ..Default::default() }]
    {
        let expected: Vec<PaymentId> = all
            .iter()
            .filter(|payment| matches(payment, &filter))
            .map(|payment| payment.id().clone())
            .collect();
        for limit in [1, 7, 20] {
            let mut seen = Vec::new();
            loop {
                let page = Page::new(limit, seen.len() as u64).expect("a page");
                let (found, total) = store.payments(tenant(1), &filter, page).await.expect("read");
                assert_eq!(total, expected.len() as u64);
                if found.is_empty() {
                    break;
                }
                seen.extend(found.into_iter().map(|payment| payment.id().clone()));
            }
            assert_eq!(seen, expected);
        }
    }
}

async fn a_range_of_time_includes_both_ends(fixture: Fixture) {
    let store = fixture.any().await;
    for millis in [9, 10, 11, 20, 21] {
        let sample = Sample { at: after(millis), ..Sample::deposit(tenant(1), 5) };
        store.commit(sample.create()).await.expect("committed");
    }
    let filter = PaymentFilter {
        created: Period { from: Some(after(10)), to: Some(after(20)) },
        ..PaymentFilter::default()
    };
    let (found, total) = store.payments(tenant(1), &filter, Page::default()).await.expect("read");
    let times: Vec<_> = found.iter().map(|payment| payment.terms().created_at).collect();
    assert_eq!((total, times), (3, vec![after(20), after(11), after(10)]));
}

async fn who_asks_for_the_same_page_as_others_sees_what_was_committed_before(fixture: Fixture) {
    const CALLERS: i64 = 8;
    const ROUNDS: i64 = 20;
    let store = fixture.any().await;
    let committed = Cell::new(0);
    let (filter, page) = (PaymentFilter::default(), Page::new(1, 0).expect("a page"));
    let calls = (0..CALLERS).map(async |caller| {
        for round in 0..ROUNDS {
            let reference = format!("{caller}-{round}");
            let sample = Sample { reference, ..Sample::deposit(tenant(1), 5) };
            store.commit(sample.create()).await.expect("committed");
            committed.set(committed.get() + 1);
            // Some ask and go away at once.
            if round % 3 == 0 {
                let _gone = store.payments(tenant(1), &filter, page).now_or_never();
            }
            let before = committed.get();
            let (found, total) = store.payments(tenant(1), &filter, page).await.expect("read");
            assert_eq!(found.len(), 1);
            assert!(total >= before, "{total} of {before}");
        }
    });
    join_all(calls).await;
    let (_, total) = store.payments(tenant(1), &filter, page).await.expect("read");
    assert_eq!(i64::try_from(total), Ok(CALLERS * ROUNDS));
}
