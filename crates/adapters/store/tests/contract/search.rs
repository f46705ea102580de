//! What staff find among the payments of all merchants.

use futures_util::future::join_all;
use quipu_commit::Commit as _;
use quipu_kernel::{Currency, Environment, MerchantId, Page, Period, Tenant};
use quipu_merchants::{Merchants as _, Method, Route};
use quipu_payments::{CrossTenantReads as _, Payment, PaymentFilter, PaymentType, SearchFilter, Status};
use quipu_store::Store;

use crate::{
    directory::{audit, merchant},
    fixture::{Fixture, on_both_databases},
    lists::matches,
    sample::{Sample, after, customer, move_to, tenant},
};

on_both_databases! {
    staff_find_exactly_what_matches,
    pages_of_a_merchant_cover_both_environments_newest_first,
}

/// Payments of two merchants in both environments, newest first. References and customers repeat in each.
async fn history(store: &Store) -> Vec<Payment> {
    for id in 1..=2 {
        let routes = Route::of_new_merchant();
        store.add_merchant(merchant(id), routes, audit("merchant.create")).await.expect("added");
    }
    let live = |merchant| Tenant::new(MerchantId(merchant), Environment::Live);
    let tenants = [tenant(1), live(1), tenant(2), live(2)];
    let mut all = Vec::new();
    for number in 0..120_i64 {
        let index = usize::try_from(number).expect("small");
        let email = format!("c{}@example.com", number % 5);
        let sample = Sample {
            kind: if number % 3 == 0 { PaymentType::DepositPp } else { PaymentType::Deposit },
            method: [Method::Spei, Method::Card][index % 2],
            currency: if number % 7 == 0 { Currency::ARS } else { Currency::MXN },
            reference: format!("ref-{}", number / 4 % 20),
            customer: customer(Some(&email), None),
            at: after(number * 10),
            ..Sample::deposit(tenants[index % 4], 100)
        };
        let Ok(made) = store.commit(sample.create()).await else { continue };
        let mut payment = made.into_saved::<Payment>().expect("a payment");
        if number % 3 == 0 {
            let moved = store.commit(move_to(&payment, Status::Failed, after(number * 10 + 1))).await;
            payment = moved.expect("moved").into_saved::<Payment>().expect("a payment");
        }
        all.push(*payment);
    }
    all.sort_by(|one, other| other.id().cmp(one.id()));
    all
}

fn is_wanted(payment: &Payment, filter: &SearchFilter) -> bool {
    let terms = payment.terms();
    filter.merchant.is_none_or(|merchant| terms.tenant.merchant() == merchant)
        && filter.environment.is_none_or(|environment| terms.tenant.environment() == environment)
        && filter.rail.as_ref().is_none_or(|rail| terms.rail == *rail)
        && matches(payment, &filter.payment)
}

async fn staff_find_exactly_what_matches(fixture: Fixture) {
    let store = fixture.open().await;
    let all = history(&store).await;
    let somebody = all[7].terms().customer.id;
    let mut filters = Vec::new();
    for merchant in [None, Some(MerchantId(1)), Some(MerchantId(9))] {
        for environment in [None, Some(Environment::Live)] {
            for rail in [None, Some("manual".to_owned()), Some("other".to_owned())] {
                let within = |payment| SearchFilter { merchant, environment, rail: rail.clone(), payment };
                for reference in [None, Some("ref-5".to_owned())] {
                    for customer_id in [None, Some(somebody)] {
                        let few = PaymentFilter {
                            merchant_reference: reference.clone(),
                            customer_id,
                            ..PaymentFilter::default()
                        };
                        let classed = PaymentFilter {
                            status: Some(Status::Failed),
                            kind: Some(PaymentType::DepositPp),
                            method: Some(Method::Spei),
                            currency: Some(Currency::MXN),
                            ..few.clone()
                        };
                        let timed = PaymentFilter {
                            created: Period { from: Some(after(150)), to: Some(after(1_000)) },
                            ..few.clone()
                        };
                        filters.extend([within(few), within(classed), within(timed)]);
                    }
                }
            }
        }
    }
    let page = Page::new(100, 0).expect("a page");
    // All at once, those that wait longest for a connection could be refused.
    for filters in filters.chunks(20) {
        let asked = filters.iter().map(|filter| store.search_payments(filter, page));
        for (answer, filter) in join_all(asked).await.into_iter().zip(filters) {
            let expected: Vec<_> = all.iter().filter(|payment| is_wanted(payment, filter)).cloned().collect();
            let (found, total) = answer.expect("read");
            assert_eq!(total, expected.len() as u64, "{filter:?}");
            assert_eq!(found, expected[..expected.len().min(100)], "{filter:?}");
        }
    }
}

async fn pages_of_a_merchant_cover_both_environments_newest_first(fixture: Fixture) {
    let store = fixture.open().await;
    let all = history(&store).await;
    let filter = SearchFilter { merchant: Some(MerchantId(2)), ..SearchFilter::default() };
    let expected: Vec<_> = all.into_iter().filter(|payment| is_wanted(payment, &filter)).collect();
    // The last of the longest pages end beyond what is read of each environment.
    for limit in [1, 7, 40] {
        let mut seen = Vec::new();
        loop {
            let page = Page::new(limit, seen.len() as u64).expect("a page");
            let (found, total) = store.search_payments(&filter, page).await.expect("read");
            assert_eq!(total, expected.len() as u64);
            if found.is_empty() {
                break;
            }
            seen.extend(found);
        }
        assert_eq!(seen, expected);
    }
}
