//! Staff, and the log of who changed what.

use quipu_kernel::{Environment, MerchantId, Page, Period};
use quipu_merchants::{AuditFilter, AuditRecord, DirectoryError, Operator, Role, Route};

use crate::{
    directory::{audit, credential, key, merchant, opened},
    fixture::{Fixture, on_every_store},
    sample::{START, after},
};

on_every_store! {
    staff_is_found_by_its_token,
    staff_are_revoked_but_for_the_last_admin,
    an_admin_stays_until_another_lasts_as_long,
    the_log_shows_the_routes_that_were_really_replaced,
    every_change_is_in_the_log_and_a_refused_one_is_not,
    what_changes_nothing_has_no_line_in_the_log,
}

async fn staff_is_found_by_its_token(fixture: Fixture) {
    let store = fixture.directory().await;
    let operator = Operator {
        operator_id: "op".to_owned(),
        name: "Ana".to_owned(),
        role: Role::Finance,
        token_hash: "token hash".to_owned(),
        expires_at: None,
        revoked_at: None,
        created_at: START,
    };
    assert_eq!(store.operator_by_hash("token hash").await.expect("read"), None);
    store.add_operator(operator.clone(), audit("operator.create")).await.expect("added");
    assert_eq!(store.operator_by_hash("token hash").await.expect("read").as_deref(), Some(&operator));
}

fn operator(id: &str, role: Role) -> Operator {
    Operator {
        operator_id: id.to_owned(),
        name: id.to_owned(),
        role,
        token_hash: format!("hash of {id}"),
        expires_at: None,
        revoked_at: None,
        created_at: START,
    }
}

async fn staff_are_revoked_but_for_the_last_admin(fixture: Fixture) {
    let store = fixture.directory().await;
    let expired = Operator { expires_at: Some(START), ..operator("expired", Role::Admin) };
    for staff in
        [operator("a", Role::Admin), operator("b", Role::Admin), operator("f", Role::Finance), expired]
    {
        store.add_operator(staff, audit("operator.create")).await.expect("added");
    }
    let revoke = async |id: &str| store.revoke_operator(id, after(1), audit("operator.revoke")).await;
    assert!(matches!(revoke("nobody").await, Err(DirectoryError::NotFound)));
    // Two admins who revoke each other at the same time do not both succeed.
    let (first, second) = tokio::join!(revoke("a"), revoke("b"));
    assert_eq!(usize::from(first.is_ok()) + usize::from(second.is_ok()), 1, "{first:?} {second:?}");
    let last = if first.is_ok() { "b" } else { "a" };
    assert!(matches!(revoke(last).await, Err(DirectoryError::Conflict(_))));
    revoke("f").await.expect("revoked");
    revoke("f").await.expect("again");
    revoke("expired").await.expect("it counts for nothing any more");
    let (staff, total) =
        store.operators(Period::default(), Page::new(3, 0).expect("a page")).await.expect("read");
    assert_eq!((staff.len(), total), (3, 4));
    let found = store.operator_by_hash("hash of f").await.expect("read").expect("there");
    assert_eq!(found.revoked_at, Some(after(1)));
}

async fn an_admin_stays_until_another_lasts_as_long(fixture: Fixture) {
    let store = fixture.directory().await;
    let temporary = Operator { expires_at: Some(after(100)), ..operator("temporary", Role::Admin) };
    let longer = Operator { expires_at: Some(after(101)), ..operator("longer", Role::Admin) };
    for staff in [operator("lasting", Role::Admin), temporary, longer] {
        store.add_operator(staff, audit("operator.create")).await.expect("added");
    }
    let revoke = async |id: &str| store.revoke_operator(id, after(1), audit("operator.revoke")).await;
    assert!(matches!(revoke("lasting").await, Err(DirectoryError::Conflict(_))), "the others end");
    revoke("temporary").await.expect("others last longer");
    revoke("longer").await.expect("another lasts longer");
    assert!(matches!(revoke("lasting").await, Err(DirectoryError::Conflict(_))));
}

async fn the_log_shows_the_routes_that_were_really_replaced(fixture: Fixture) {
    let store = opened(&fixture).await;
    let all = Route::of_new_merchant();
    for routes in [all.clone(), Vec::new()] {
        store.replace_routes(MerchantId(1), routes, audit("routes.replace")).await.expect("replaced");
    }
    let (lines, _) = store.audit_log(AuditFilter::default(), Page::default()).await.expect("read");
    let replaced = lines.iter().filter(|line| line.action == "routes.replace");
    let shown: Vec<_> = replaced.map(|line| line.before.as_array().expect("a list").len()).collect();
    assert!(shown.contains(&all.len()), "{shown:?}");
}

async fn every_change_is_in_the_log_and_a_refused_one_is_not(fixture: Fixture) {
    let store = opened(&fixture).await;
    let refused = store.revoke_api_key(MerchantId(1), "nobody", START, audit("api_key.revoke")).await;
    assert!(matches!(refused, Err(DirectoryError::NotFound)));
    let record = AuditRecord { at: after(1), merchant_id: Some(MerchantId(2)), ..audit("merchant.create") };
    store.add_merchant(merchant(2), Vec::new(), record.clone()).await.expect("added");
    let listed = async |filter| store.audit_log(filter, Page::default()).await.expect("read");
    let (all, total) = listed(AuditFilter::default()).await;
    assert_eq!((all.len(), total, &all[0]), (2, 2, &record));
    let of_second = AuditFilter { merchant: Some(MerchantId(2)), ..AuditFilter::default() };
    assert_eq!(listed(of_second).await, (vec![record.clone()], 1));
    let at_once = Period { from: Some(after(1)), to: Some(after(1)) };
    assert_eq!(listed(AuditFilter { at: at_once, ..AuditFilter::default() }).await, (vec![record], 1));
    let later = Period { from: Some(after(2)), to: None };
    assert_eq!(listed(AuditFilter { at: later, ..AuditFilter::default() }).await, (Vec::new(), 0));
}

async fn what_changes_nothing_has_no_line_in_the_log(fixture: Fixture) {
    let store = opened(&fixture).await;
    store.add_api_key(key("one", 1), audit("api_key.create")).await.expect("added");
    store
        .add_credential(credential("two", Environment::Test), audit("credential.create"))
        .await
        .expect("added");
    for at in [after(5), after(6)] {
        store.revoke_api_key(MerchantId(1), "one", at, audit("api_key.revoke")).await.expect("revoked");
        store.revoke_credential(MerchantId(1), "two", at, audit("credential.revoke")).await.expect("revoked");
    }
    let (lines, _) = store.audit_log(AuditFilter::default(), Page::default()).await.expect("read");
    for action in ["api_key.revoke", "credential.revoke"] {
        assert_eq!(lines.iter().filter(|line| line.action == action).count(), 1, "{action}");
    }
}
