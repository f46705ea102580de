//! Hosted pages: how a merchant's look, whose payment an address shows, and the key of the addresses.

use futures_util::future::join_all;
use quipu_commit::Commit as _;
use quipu_kernel::{MerchantId, Page};
use quipu_merchants::{AuditFilter, DirectoryError, MerchantPage, PageStore as _, Staff as _};
use quipu_payments::PageAddress;
use serde_json::{Value, json};

use crate::{
    directory::{audit, opened},
    fixture::{Fixture, on_both_databases},
    sample::{Sample, payment_of, tenant},
};

on_both_databases! {
    a_page_looks_as_it_was_set_last,
    an_unknown_merchant_has_no_page,
    an_address_leads_to_its_payment_alone,
    the_first_key_stays,
}

fn page(name: &str, logo: Option<&str>) -> MerchantPage {
    let accent = Some("#0a64c8".parse().expect("a colour"));
    MerchantPage { name: Some(name.to_owned()), accent, logo: logo.map(str::to_owned) }
}

async fn a_page_looks_as_it_was_set_last(fixture: Fixture) {
    opened(&fixture).await;
    let store = fixture.open().await;
    let merchant = MerchantId(1);
    assert_eq!(store.merchant_page(merchant).await.expect("read"), None);

    let (first, second) = (page("Aurora", Some("hash")), page("Boreas", None));
    let sets = [Some((first.clone(), Some(vec![1, 2, 3]))), Some((second.clone(), None)), None];
    let logos = [Some(vec![1, 2, 3]), None, None];
    for (set, logo) in sets.into_iter().zip(logos) {
        let line = audit("merchant.page").changing(Value::Null, json!(set.is_some()));
        let look = set.as_ref().map(|(look, _)| look.clone());
        store.set_merchant_page(merchant, set, line).await.expect("set");
        assert_eq!(store.merchant_page(merchant).await.expect("read"), look);
        assert_eq!(store.logo("hash").await.expect("read"), logo);
    }

    let (lines, _) = store.audit_log(AuditFilter::default(), Page::default()).await.expect("read");
    let before: Vec<_> =
        lines.iter().filter(|line| line.action == "merchant.page").map(|line| &line.before).collect();
    let earlier = [Some(&second), Some(&first), None].map(MerchantPage::audited);
    assert_eq!(before, earlier.iter().collect::<Vec<_>>(), "the newest first, each with the look before it");
}

async fn an_unknown_merchant_has_no_page(fixture: Fixture) {
    let store = fixture.open().await;
    let set =
        store.set_merchant_page(MerchantId(9), Some((page("Nobody", None), None)), audit("merchant.page"));
    assert!(matches!(set.await, Err(DirectoryError::NotFound)));
    assert_eq!(store.merchant_page(MerchantId(9)).await.expect("read"), None);
    let (lines, total) = store.audit_log(AuditFilter::default(), Page::default()).await.expect("read");
    assert_eq!((lines.len(), total), (0, 0), "what was not done is not recorded");
}

async fn an_address_leads_to_its_payment_alone(fixture: Fixture) {
    let store = fixture.open().await;
    for (merchant, hash) in [(1, "one"), (2, "two")] {
        let mut changes = Sample::deposit(tenant(merchant), 100).create();
        let payment_id = payment_of(&changes).id().clone();
        let address =
            PageAddress { tenant: tenant(merchant), payment_id: payment_id.clone(), hash: hash.to_owned() };
        changes.add(address);
        store.commit(changes).await.expect("created");
        assert_eq!(store.payment_of(hash).await.expect("read"), Some((tenant(merchant), payment_id)));
    }
    assert_eq!(store.payment_of("three").await.expect("read"), None);
}

async fn the_first_key_stays(fixture: Fixture) {
    let nodes = [fixture.open().await, fixture.open().await];
    let offers: Vec<_> = (0..8).map(|number| format!("key {number}")).collect();
    let asked = offers.iter().zip(nodes.iter().cycle()).map(|(offer, node)| node.page_key(offer));
    let kept: Vec<_> = join_all(asked).await.into_iter().map(|kept| kept.expect("a key")).collect();
    assert!(offers.contains(&kept[0]));
    assert!(kept.iter().all(|one| *one == kept[0]), "everybody gets one key: {kept:?}");
    assert_eq!(nodes[1].page_key("a later one").await.expect("a key"), kept[0]);
}
