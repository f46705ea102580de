//! Merchants, keys, credentials, routes and beneficiaries.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use quipu_kernel::{Environment, MerchantId, Page, Period, Tenant};
use quipu_merchants::{
    Actor, ApiKeyRecord, ApiVersion, AuditFilter, AuditRecord, Beneficiary, BeneficiaryKind, DirectoryError,
    HmacCredential, Merchant, MerchantChange, MerchantFilter, MerchantStatus, NewBeneficiary, RateLimits,
    ReturnUrls, Route, Scope,
};
use serde_json::{Value, json};

use crate::{
    fixture::{AnyDirectory, Fixture, on_every_store, until},
    sample::{START, after, tenant},
};

on_every_store! {
    a_merchant_is_kept_changed_and_listed,
    a_number_is_given_once,
    a_key_is_found_by_hash_and_by_id_and_revoked_at_once,
    another_node_sees_a_revocation_by_itself,
    another_node_finds_a_key_that_it_was_asked_for_in_vain,
    when_keys_were_used_never_runs_backwards,
    a_tenant_has_at_most_two_active_credentials,
    switching_revokes_what_the_other_version_used,
    routes_are_replaced_whole,
    a_number_names_one_beneficiary_of_one_tenant,
    a_merchant_of_v2_gets_no_api_key,
    a_switch_leaves_no_key_of_those_that_are_issued_at_once,
    unknown_merchants_are_not_found,
}

/// What waits in transactions.
mod databases {
    use super::the_newest_line_tells_of_the_last_change;

    crate::fixture::on_both_databases! {
        the_newest_line_tells_of_the_last_change,
    }
}

pub(crate) fn audit(action: &str) -> AuditRecord {
    AuditRecord {
        id: uuid::Uuid::now_v7().to_string(),
        at: START,
        actor: Actor::shell(),
        action: action.to_owned(),
        merchant_id: Some(MerchantId(1)),
        subject: "merchant/1".to_owned(),
        before: Value::Null,
        after: json!({"name": "after"}),
    }
}

pub(crate) fn merchant(id: i64) -> Merchant {
    Merchant {
        id: MerchantId(id),
        name: format!("Merchant {id}"),
        api_version: ApiVersion::V1,
        status: MerchantStatus::Active,
        return_urls: ReturnUrls { success_url: Some("https://m.example/ok".to_owned()), cancel_url: None },
        sealed_webhook_secrets: ["sealed test".to_owned(), "sealed live".to_owned()],
        former_webhook_secrets: [None, None],
        created_at: after(id),
    }
}

pub(crate) fn key(id: &str, merchant: i64) -> ApiKeyRecord {
    ApiKeyRecord {
        key_id: id.to_owned(),
        tenant: tenant(merchant),
        name: "first".to_owned(),
        hash: format!("hash of {id}"),
        last_four: "abcd".to_owned(),
        scopes: [Scope::PaymentsCreate, Scope::BalanceRead].into_iter().collect(),
        rate_limits: RateLimits { standard_per_minute: Some(7), ..RateLimits::default() },
        expires_at: Some(after(1_000)),
        revoked_at: None,
        last_used_at: None,
        created_at: START,
    }
}

pub(crate) fn credential(id: &str, environment: Environment) -> HmacCredential {
    HmacCredential {
        credential_id: id.to_owned(),
        tenant: Tenant::new(MerchantId(1), environment),
        sealed_secret: format!("sealed {id}"),
        rate_limits: RateLimits::default(),
        revoked_at: None,
        created_at: START,
    }
}

pub(crate) async fn opened(fixture: &Fixture) -> AnyDirectory {
    let store = fixture.directory().await;
    let routes = Route::of_new_merchant();
    store.add_merchant(merchant(1), routes, audit("merchant.create")).await.expect("added");
    store
}

/// What the audit log says of each thing after that action.
async fn lines(store: &AnyDirectory, action: &str) -> Vec<Value> {
    let (lines, _) = store.audit_log(AuditFilter::default(), Page::default()).await.expect("read");
    lines.into_iter().filter(|line| line.action == action).map(|line| line.after).collect()
}

async fn a_merchant_is_kept_changed_and_listed(fixture: Fixture) {
    let store = opened(&fixture).await;
    assert_eq!(store.merchant(MerchantId(1)).await.expect("read"), Some(merchant(1)));
    assert_eq!(store.merchant(MerchantId(2)).await.expect("read"), None);
    let changed = Merchant {
        name: "Renamed".to_owned(),
        status: MerchantStatus::Suspended,
        return_urls: ReturnUrls::default(),
        ..merchant(1)
    };
    let change = MerchantChange { before: merchant(1), after: changed.clone() };
    store.update_merchant(change.clone(), audit("merchant.update")).await.expect("updated");
    let stale = store.update_merchant(change.clone(), audit("merchant.update")).await;
    assert!(matches!(stale, Err(DirectoryError::Stale)), "{stale:?}");
    let stale = store.switch_version(change, Vec::new(), START, audit("merchant.switch")).await;
    assert!(matches!(stale, Err(DirectoryError::Stale)), "{stale:?}");
    for id in 2..=5 {
        store.add_merchant(merchant(id), Vec::new(), audit("merchant.create")).await.expect("added");
    }
    let listed = async |filter, page| store.merchants(filter, page).await.expect("read");
    let (page, total) = listed(MerchantFilter::default(), Page::new(2, 3).expect("a page")).await;
    assert_eq!((page, total), (vec![merchant(2), changed.clone()], 5));
    let suspended = MerchantFilter { status: Some(MerchantStatus::Suspended), ..MerchantFilter::default() };
    assert_eq!(listed(suspended, Page::default()).await, (vec![changed], 1));
    let third = MerchantFilter { id: Some(MerchantId(3)), ..MerchantFilter::default() };
    assert_eq!(listed(third, Page::default()).await, (vec![merchant(3)], 1));
    let from = Some(merchant(3).created_at);
    let period = MerchantFilter { created: Period { from, to: from }, ..MerchantFilter::default() };
    assert_eq!(listed(period, Page::default()).await, (vec![merchant(3)], 1));
}

async fn a_number_is_given_once(fixture: Fixture) {
    let store = opened(&fixture).await;
    let again = store.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await;
    assert!(matches!(again, Err(DirectoryError::Conflict(_))), "{again:?}");
    assert_eq!(store.routes(MerchantId(1)).await.expect("read").len(), 12);
}

async fn a_key_is_found_by_hash_and_by_id_and_revoked_at_once(fixture: Fixture) {
    let store = opened(&fixture).await;
    assert!(store.api_key_by_hash("hash of one").await.expect("read").is_none());
    store.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    let found = store.api_key_by_hash("hash of one").await.expect("read").expect("a key");
    assert_eq!((&found.key, &found.merchant), (&key("one", 1), &merchant(1)));
    assert_eq!(store.api_key_by_id("one").await.expect("read").expect("a key").key, key("one", 1));
    let revoke =
        |merchant, at| store.revoke_api_key(MerchantId(merchant), "one", at, audit("api_key.revoke"));
    assert!(matches!(revoke(2, START).await, Err(DirectoryError::NotFound)));
    revoke(1, after(5)).await.expect("revoked");
    revoke(1, after(9)).await.expect("again changes nothing");
    let found = store.api_key_by_hash("hash of one").await.expect("read").expect("a key");
    assert_eq!(found.key.revoked_at, Some(after(5)));
    let suspended = Merchant { status: MerchantStatus::Suspended, ..merchant(1) };
    let change = MerchantChange { before: merchant(1), after: suspended };
    store.update_merchant(change, audit("merchant.update")).await.expect("updated");
    let found = store.api_key_by_id("one").await.expect("read").expect("a key");
    assert_eq!(found.merchant.status, MerchantStatus::Suspended);
    store
        .add_api_key(ApiKeyRecord { created_at: after(1), ..key("two", 1) }, audit("api_key.create"))
        .await
        .expect("added");
    let all = store.api_keys(MerchantId(1)).await.expect("read");
    assert_eq!(all.iter().map(|key| key.key_id.as_str()).collect::<Vec<_>>(), ["two", "one"]);
}

async fn another_node_sees_a_revocation_by_itself(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.directory().await);
    one.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    let seen = other.api_key_by_hash("hash of one").await.expect("read").expect("a key");
    assert_eq!(seen.key.revoked_at, None);
    one.revoke_api_key(MerchantId(1), "one", after(5), audit("api_key.revoke")).await.expect("revoked");
    let revoked = async || {
        let found = other.api_key_by_hash("hash of one").await.expect("read").expect("a key");
        found.key.revoked_at.is_some()
    };
    until(revoked).await;
}

async fn another_node_finds_a_key_that_it_was_asked_for_in_vain(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.directory().await);
    let found = async || other.api_key_by_hash("hash of one").await.expect("read").is_some();
    assert!(!found().await, "nobody has made it");
    one.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    until(found).await;
}

async fn when_keys_were_used_never_runs_backwards(fixture: Fixture) {
    let store = opened(&fixture).await;
    store.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    for at in [10, 30, 20] {
        let uses = vec![("one".to_owned(), after(at)), ("unknown".to_owned(), after(at))];
        store.note_api_keys_used(uses).await.expect("noted");
    }
    assert_eq!(store.api_keys(MerchantId(1)).await.expect("read")[0].last_used_at, Some(after(30)));
}

async fn a_tenant_has_at_most_two_active_credentials(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.directory().await);
    let names: Vec<String> = (0..8).map(|number| format!("credential-{number}")).collect();
    let added = names.iter().enumerate().map(|(number, name)| {
        let store = if number % 2 == 0 { &one } else { &other };
        store.add_credential(credential(name, Environment::Test), audit("credential.create"))
    });
    let outcomes = join_all(added).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(DirectoryError::LimitReached(_))));
    assert_eq!(refused.count(), 6);
    one.add_credential(credential("live", Environment::Live), audit("credential.create"))
        .await
        .expect("its own bound");
    let active = one.credentials(MerchantId(1)).await.expect("read");
    let first = active.iter().find(|it| it.key.tenant.environment() == Environment::Test).expect("one");
    let id = first.key.credential_id.clone();
    one.revoke_credential(MerchantId(1), &id, after(5), audit("credential.revoke")).await.expect("revoked");
    one.add_credential(credential("next", Environment::Test), audit("credential.create"))
        .await
        .expect("room again");
    let found = one.credential_by_id(&id).await.expect("read").expect("kept");
    assert_eq!(found.key.revoked_at, Some(after(5)));
    let unknown = one.revoke_credential(MerchantId(1), "nobody", START, audit("credential.revoke")).await;
    assert!(matches!(unknown, Err(DirectoryError::NotFound)));
}

async fn switching_revokes_what_the_other_version_used(fixture: Fixture) {
    let store = opened(&fixture).await;
    store.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    let on_v2 = Merchant { api_version: ApiVersion::V2, ..merchant(1) };
    let issued = vec![credential("t", Environment::Test), credential("l", Environment::Live)];
    let change = MerchantChange { before: merchant(1), after: on_v2.clone() };
    store.switch_version(change, issued, after(3), audit("merchant.switch")).await.expect("switched");
    let found = store.api_key_by_hash("hash of one").await.expect("read").expect("a key");
    assert_eq!((found.key.revoked_at, found.merchant.api_version), (Some(after(3)), ApiVersion::V2));
    let active = store.credentials(MerchantId(1)).await.expect("read");
    assert!(active.len() == 2 && active.iter().all(|it| it.key.revoked_at.is_none()));
    let change = MerchantChange { before: on_v2, after: merchant(1) };
    store.switch_version(change, Vec::new(), after(4), audit("merchant.switch")).await.expect("back");
    let all = store.credentials(MerchantId(1)).await.expect("read");
    assert!(all.iter().all(|it| it.key.revoked_at == Some(after(4))));
    let told = lines(&store, "merchant.switch").await;
    assert_eq!(told.len(), 2);
    let told_of = |revoked_keys, revoked_credentials, issued| {
        json!({
            "name": "after",
            "revoked_api_keys": revoked_keys,
            "revoked_hmac_credentials": revoked_credentials,
            "issued_hmac_credentials": issued,
        })
    };
    assert!(told.contains(&told_of(json!(["one"]), json!([]), json!(["t", "l"]))), "{told:?}");
    assert!(told.contains(&told_of(json!([]), json!(["l", "t"]), json!([]))), "{told:?}");
}

async fn routes_are_replaced_whole(fixture: Fixture) {
    let store = opened(&fixture).await;
    let mut expected = Route::of_new_merchant();
    expected.sort_unstable_by_key(Route::key);
    assert_eq!(store.routes(MerchantId(1)).await.expect("read"), Arc::from(expected.clone()));
    expected.truncate(3);
    expected[0].fee_bps = 250;
    expected[0].required_payout_fields = vec!["bank_code".to_owned()];
    let replaced = store.replace_routes(MerchantId(1), expected.clone(), audit("routes.replace"));
    replaced.await.expect("replaced");
    assert_eq!(store.routes(MerchantId(1)).await.expect("read"), Arc::from(expected.clone()));
    let twice = vec![expected[0].clone(), expected[0].clone()];
    let refused = store.replace_routes(MerchantId(1), twice, audit("routes.replace")).await;
    assert!(matches!(refused, Err(DirectoryError::Conflict(_))));
    assert_eq!(store.routes(MerchantId(1)).await.expect("read").len(), 3);
}

async fn the_newest_line_tells_of_the_last_change(fixture: Fixture) {
    let store = opened(&fixture).await;
    // Whoever asked first may come last.
    for number in (0..8).rev() {
        let line = audit("routes.replace");
        let line = AuditRecord { at: after(number), after: json!(number), ..line };
        store.replace_routes(MerchantId(1), Route::of_new_merchant(), line).await.expect("replaced");
    }
    let told = lines(&store, "routes.replace").await;
    assert_eq!(told, (0..8).map(Value::from).collect::<Vec<_>>());
}

async fn a_number_names_one_beneficiary_of_one_tenant(fixture: Fixture) {
    let store = opened(&fixture).await;
    let saved = |environment, kind| NewBeneficiary {
        tenant: Tenant::new(MerchantId(1), environment),
        kind,
        iban: "GE29NB0000000101904917".to_owned(),
        swift: None,
        beneficiary_name: "Nino".to_owned(),
        beneficiary_bank: Some("Bank".to_owned()),
        address: None,
        reference: Some("r".to_owned()),
        created_at: START,
    };
    let add =
        |environment, kind| store.add_beneficiary(saved(environment, kind), audit("beneficiary.create"));
    let all = [(); 5].map(|()| add(Environment::Test, BeneficiaryKind::Bank));
    let mut numbers: Vec<i32> =
        join_all(all).await.into_iter().map(|number| number.expect("saved").id).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let told = lines(&store, "beneficiary.create").await;
    for number in ["1", "2", "3", "4", "5"] {
        assert!(told.contains(&json!({"name": "after", "ibanAccountId": number})), "{told:?}");
    }
    assert_eq!(add(Environment::Live, BeneficiaryKind::Sepa).await.expect("saved").id, 6);
    let live = Tenant::new(MerchantId(1), Environment::Live);
    let found = store.beneficiary(live, BeneficiaryKind::Sepa, 6).await.expect("read");
    assert_eq!(found, Some(Beneficiary { id: 6, details: saved(Environment::Live, BeneficiaryKind::Sepa) }));
    for (tenant, kind) in [(live, BeneficiaryKind::Bank), (tenant(1), BeneficiaryKind::Sepa)] {
        assert_eq!(store.beneficiary(tenant, kind, 6).await.expect("read"), None);
    }
    let (page, total) = store
        .beneficiaries(MerchantId(1), Period::default(), Page::new(4, 0).expect("a page"))
        .await
        .expect("read");
    assert_eq!((page.len(), total), (4, 6));
    let later = Period { from: Some(after(1)), to: None };
    let (page, total) = store.beneficiaries(MerchantId(1), later, Page::default()).await.expect("read");
    assert_eq!((page.len(), total), (0, 0));
}

async fn switch_to_v2(store: &AnyDirectory) {
    let before = store.merchant(MerchantId(1)).await.expect("read").expect("there");
    let change = MerchantChange { after: Merchant { api_version: ApiVersion::V2, ..before.clone() }, before };
    store.switch_version(change, Vec::new(), START, audit("merchant.switch")).await.expect("switched");
}

async fn a_switch_leaves_no_key_of_those_that_are_issued_at_once(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.directory().await);
    let issuing = (0..20).map(|number| {
        let store = if number % 2 == 0 { &one } else { &other };
        store.add_api_key(key(&number.to_string(), 1), audit("api_key.create"))
    });
    let (issued, ()) = join(join_all(issuing), switch_to_v2(&one)).await;
    let added = issued.iter().filter(|outcome| outcome.is_ok()).count();
    let keys = other.api_keys(MerchantId(1)).await.expect("read");
    assert_eq!(keys.len(), added, "{issued:?}");
    let active: Vec<_> = keys.iter().filter(|key| key.revoked_at.is_none()).map(|key| &key.key_id).collect();
    assert!(active.is_empty(), "{active:?}");
}

async fn a_merchant_of_v2_gets_no_api_key(fixture: Fixture) {
    let store = opened(&fixture).await;
    switch_to_v2(&store).await;
    let refused = store.add_api_key(key("k-v2", 1), audit("api_key.issue")).await;
    assert!(matches!(refused, Err(DirectoryError::Conflict(_))), "{refused:?}");
}

async fn unknown_merchants_are_not_found(fixture: Fixture) {
    let store = opened(&fixture).await;
    let nobody = MerchantId(9);
    let key = store.add_api_key(key("nine", 9), audit("api_key.create")).await;
    let change = MerchantChange { before: merchant(9), after: merchant(9) };
    let update = store.update_merchant(change, audit("merchant.update")).await;
    let routes = store.replace_routes(nobody, Vec::new(), audit("routes.replace")).await;
    for outcome in [key, update, routes] {
        assert!(matches!(outcome, Err(DirectoryError::NotFound)), "{outcome:?}");
    }
}
