//! Every route of the table, with and without what it asks for.

use quipu_http::{Credentials, route_table};
use quipu_merchants::{ApiVersion, Role, Scope, Scopes};

use crate::world::{Answer, World, request, signed, without};

fn filled(path: &str, merchant: i64) -> String {
    let id = if path.contains("/merchants/") { merchant.to_string() } else { "pay_0_x".to_owned() };
    path.replace("{id}", &id)
        .replace("{key_id}", "k")
        .replace("{credential_id}", "c")
        .replace("{operator_id}", "o")
        .replace("{file}", "start.js")
}

#[actix_web::test]
async fn no_route_opens_without_credentials() {
    let mut world = World::new();
    world.settings.limits.unauthenticated_per_minute = 1000;
    for row in route_table() {
        let answer = world.send(request(row.method(), &filled(row.path(), 1))).await;
        let expected = match row.credentials() {
            Credentials::None | Credentials::Provider => continue,
            Credentials::Signature => "SIGNATURE_MISSING",
            Credentials::Staff(_) => "TOKEN_INVALID",
            _ => "API_KEY_MISSING",
        };
        assert_eq!(answer.code(), (401, expected), "{row:?}");
        assert_eq!(answer.body["error"], "Unauthorized", "{row:?}");
    }
}

#[actix_web::test]
async fn a_route_opens_for_its_scope_and_for_no_other() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V1).await;
    let application = world.application().await;
    for held in Scope::ALL {
        let (_, only) = world.key(merchant, [held].into_iter().collect()).await;
        for row in route_table() {
            let needs_key = !matches!(
                row.credentials(),
                Credentials::None | Credentials::Provider | Credentials::Signature | Credentials::Staff(_)
            );
            let (true, Some(scope)) = (needs_key, row.scope()) else { continue };
            let path = filled(row.path(), merchant.0);
            let with = async |key: &str| {
                let request = request(row.method(), &path).insert_header(("X-API-Key", key));
                Answer::of(&application, request).await
            };
            let answer = with(&only).await;
            if scope != held {
                assert_eq!(answer.code(), (403, "SCOPE_MISSING"), "{held:?} {row:?}");
                continue;
            }
            assert!(!matches!(answer.status, 401 | 403 | 500), "{row:?}: {}", answer.text);
            // All the others together stand for it no more than each of them alone.
            let (_, lacking) = world.key(merchant, without(scope)).await;
            let answer = with(&lacking).await;
            assert_eq!(answer.code(), (403, "SCOPE_MISSING"), "{row:?}");
            assert_eq!(answer.body["error"], "Forbidden");
            assert!(answer.body["message"].as_str().expect("a text").contains(scope.as_str()), "{row:?}");
        }
    }
}

#[actix_web::test]
async fn staff_may_do_what_their_role_covers() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V1).await;
    for role in [Role::Admin, Role::Finance, Role::Support, Role::Viewer] {
        let token = world.operator(role).await;
        for row in route_table() {
            let Credentials::Staff(needed) = row.credentials() else { continue };
            let request = request(row.method(), &filled(row.path(), merchant.0));
            let answer = world.send(request.insert_header(("Authorization", token.as_str()))).await;
            let refused = answer.code() == (403, "SCOPE_MISSING");
            assert_eq!(refused, !role.covers(needed), "{role:?} {row:?}: {}", answer.text);
            assert_ne!(answer.status, 401);
        }
    }
}

#[actix_web::test]
async fn credentials_open_only_the_doors_of_their_kind() {
    for row in route_table() {
        // One for each row, because failures of one address are limited.
        let world = World::new();
        let (merchant, key) = world.merchant_with_key().await;
        let staff = world.operator(Role::Admin).await;
        let path = filled(row.path(), merchant.0);
        let by_key =
            world.send(request(row.method(), &path).insert_header(("X-API-Key", key.as_str()))).await;
        let by_staff =
            world.send(request(row.method(), &path).insert_header(("Authorization", staff.as_str()))).await;
        match row.credentials() {
            Credentials::None | Credentials::Provider => {}
            Credentials::Signature => assert_eq!(by_key.code(), (401, "SIGNATURE_MISSING"), "{row:?}"),
            Credentials::Staff(_) => assert_eq!(by_key.code(), (401, "TOKEN_INVALID"), "{row:?}"),
            Credentials::ApiKey => assert_eq!(by_staff.code(), (401, "API_KEY_MISSING"), "{row:?}"),
            Credentials::ApiKeyOrToken => assert_eq!(by_staff.code(), (401, "TOKEN_INVALID"), "{row:?}"),
            Credentials::ApiKeyTokenOrStaff => {
                assert_eq!((by_key.status, by_staff.status), (200, 200), "{row:?}");
            }
        }
    }
}

#[actix_web::test]
async fn another_merchant_does_not_exist() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let (_, stranger) = world.merchant_with_key().await;
    let created = world.deposit(&key, "r-1").await;
    let id = created.body["transaction_id"].as_str().expect("an id").to_owned();
    for (method, path, code) in [
        ("GET", format!("/api/v1/payments/{id}"), "PAYMENT_NOT_FOUND"),
        ("POST", format!("/api/v1/payments/{id}/cancel"), "PAYMENT_NOT_FOUND"),
        ("GET", format!("/api/v1/merchants/{merchant}"), "MERCHANT_NOT_FOUND"),
        ("GET", format!("/api/v1/merchants/{merchant}/balance"), "MERCHANT_NOT_FOUND"),
        ("GET", format!("/api/v1/merchants/{merchant}/balance/all"), "MERCHANT_NOT_FOUND"),
    ] {
        let answer = world.send(request(method, &path).insert_header(("X-API-Key", stranger.as_str()))).await;
        assert_eq!(answer.code(), (404, code), "{path}");
    }
    let own = request("GET", &format!("/api/v1/merchants/{merchant}")).insert_header(("X-API-Key", key));
    let own = world.send(own).await;
    assert!(own.body["data"]["default_webhook_secret"].as_str().expect("a text").starts_with("whsec_"));
}

#[actix_web::test]
async fn a_suspended_merchant_is_told_so_by_every_door() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let v2 = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(v2).await;
    for row in &mut world.directory.rows().merchants {
        row.status = quipu_merchants::MerchantStatus::Suspended;
    }
    let by_key = request("GET", "/api/v1/balance").insert_header(("X-API-Key", key));
    assert_eq!(world.send(by_key).await.code(), (403, "MERCHANT_SUSPENDED"));
    let by_signature = signed(v2, &secret, "nonce-0001", ("GET", "/api/v2/balance"), "");
    assert_eq!(world.send(by_signature).await.code(), (403, "MERCHANT_SUSPENDED"));
    let (_, narrow) = world.key(merchant, Scopes::default()).await;
    let before_scope = request("GET", "/api/v1/balance").insert_header(("X-API-Key", narrow));
    assert_eq!(world.send(before_scope).await.code(), (403, "MERCHANT_SUSPENDED"));
}
