//! Who a new payment's customer is.

use futures_util::future::join_all;
use quipu_kernel::{CustomerId, Environment, Tenant};
use quipu_payments::{Customer, CustomerClaim, Payment};

use crate::{
    fixture::{AnyStore, Fixture, on_every_store},
    sample::{Sample, customer, tenant},
};

on_every_store! {
    a_customer_is_matched_by_email_without_regard_to_case,
    a_customer_without_email_is_matched_by_the_digits_of_the_telephone,
    creations_at_once_share_a_new_customer,
    a_known_customer_is_taken_as_named,
    customers_of_tenants_are_apart,
}

async fn create(store: &AnyStore, merchant: i64, customer: Customer) -> CustomerId {
    let sample = Sample { customer, ..Sample::deposit(tenant(merchant), 5) };
    let committed = store.commit(sample.create()).await.expect("committed");
    committed.into_saved::<Payment>().expect("a payment").terms().customer.id
}

async fn a_customer_is_matched_by_email_without_regard_to_case(fixture: Fixture) {
    let store = fixture.any().await;
    let first = create(&store, 1, customer(Some("Ana@Example.com"), Some("1"))).await;
    assert_eq!(create(&store, 1, customer(Some("ana@example.COM"), None)).await, first);
    assert_ne!(create(&store, 1, customer(Some("bea@example.com"), Some("1"))).await, first);
    let kept = store.customer(tenant(1), first).await.expect("read").expect("a customer");
    assert_eq!(kept.email.as_deref(), Some("Ana@Example.com"));
    assert_eq!((kept.id, kept.phone.as_deref()), (first, Some("1")));
}

async fn a_customer_without_email_is_matched_by_the_digits_of_the_telephone(fixture: Fixture) {
    let store = fixture.any().await;
    let first = create(&store, 1, customer(None, Some("+52 (55) 12"))).await;
    assert_eq!(create(&store, 1, customer(None, Some("525512"))).await, first);
    assert_ne!(create(&store, 1, customer(None, Some("525513"))).await, first);
    assert_ne!(create(&store, 1, customer(Some("c@example.com"), Some("525512"))).await, first);
}

async fn creations_at_once_share_a_new_customer(fixture: Fixture) {
    let (one, other) = (fixture.any().await, fixture.any().await);
    let mut all = Vec::new();
    for number in 0..32 {
        let store = if number % 2 == 0 { &one } else { &other };
        all.push(create(store, 1, customer(Some("new@example.com"), None)));
    }
    let mut ids = join_all(all).await;
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

async fn a_known_customer_is_taken_as_named(fixture: Fixture) {
    let store = fixture.any().await;
    let first = create(&store, 1, customer(Some("ana@example.com"), None)).await;
    let sample = Sample::deposit(tenant(1), 5);
    let change = sample.create_as(sample.payment(), CustomerClaim::Known);
    let committed =
        store.commit(change).await.expect("committed").into_saved::<Payment>().expect("a payment");
    assert_eq!(committed.terms().customer.id, CustomerId(0));
    assert!(store.customer(tenant(1), first).await.expect("read").is_some());
    assert_eq!(store.customer(tenant(1), CustomerId(0)).await.expect("read"), None);
}

async fn customers_of_tenants_are_apart(fixture: Fixture) {
    let store = fixture.any().await;
    let first = create(&store, 1, customer(Some("ana@example.com"), None)).await;
    assert_ne!(create(&store, 2, customer(Some("ana@example.com"), None)).await, first);
    assert_eq!(store.customer(tenant(2), first).await.expect("read"), None);
    let live = Tenant::new(tenant(1).merchant(), Environment::Live);
    let same = customer(Some("ana@example.com"), None);
    let sample = Sample { customer: same, ..Sample::deposit(live, 5) };
    let committed = store.commit(sample.create()).await.expect("committed");
    let in_live = committed.into_saved::<Payment>().expect("a payment").terms().customer.id;
    assert_ne!(in_live, first);
    assert_eq!(store.customer(live, first).await.expect("read"), None);
}
