//! The reference and the documents.

use serde_json::json;

use crate::world::{World, request};

#[actix_web::test]
async fn the_documents_name_the_path_of_the_public_address() {
    for (public_url, expected) in [
        ("https://gateway.example", "/"),
        ("https://example.com/pay", "/pay"),
        ("https://example.com/a/b/", "/a/b"),
    ] {
        let mut world = World::new();
        world.settings.public_url = public_url.to_owned();
        for path in ["/api/v1/openapi.json", "/operator/v1/openapi.json"] {
            let document = world.send(request("GET", path)).await;
            assert_eq!(document.body["servers"], json!([{ "url": expected }]), "{path}");
            let version = document.body["openapi"].as_str();
            assert!(version.is_some_and(|version| version.starts_with("3.0.")), "{version:?}");
        }
    }
}

#[actix_web::test]
async fn the_reference_works_below_any_path() {
    let world = World::new();
    for path in ["/api/v1/docs", "/api/v1/docs/start.js"] {
        let text = world.send(request("GET", path)).await.text;
        for absolute in ["\"/", "'/", "(/"] {
            assert!(!text.contains(absolute), "{path} names {absolute}");
        }
    }
}
