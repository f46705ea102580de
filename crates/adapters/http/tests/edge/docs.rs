//! The reference and the documents.

use serde_json::{Value, json};

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

#[actix_web::test]
async fn a_document_shows_and_requires_the_total_in_the_pagination_of_lists_that_have_it_there() {
    let world = World::new();
    for prefix in ["/api/v1", "/operator/v1"] {
        let document = world.send(request("GET", &format!("{prefix}/openapi.json"))).await.body;
        for (path, is_counted) in [("/tickets", true), ("/tickets/{id}/comments", true), ("/payments", false)]
        {
            let answer = &document["paths"][format!("{prefix}{path}")]["get"]["responses"]["200"];
            let list = &answer["content"]["application/json"];
            let shown = list["schema"]["properties"]["pagination"]["$ref"].as_str().expect("a schema");
            let schema = shown.strip_prefix("#/components/schemas/").expect("of this document");
            let required = document["components"]["schemas"][schema].to_string();
            assert_eq!(
                required.contains(r#""required":["total"]"#),
                is_counted,
                "{prefix}{path}: {required}"
            );
            // Of the operator's schemas few have examples.
            let example = list.get("example").map(|example| example["pagination"]["total"].is_u64());
            assert!(example.is_none_or(|shows_it| shows_it == is_counted), "{prefix}{path}: {list}");
        }
    }
}

/// `nullable` counts beside a `type` only (OpenAPI 3.0.3, "Schema Object").
#[actix_web::test]
async fn a_schema_that_may_be_null_has_a_type() {
    fn judge(schema: &Value, path: &str) {
        let is_wrong = schema.get("nullable").is_some() && schema.get("type").is_none();
        assert!(!is_wrong, "{path}: {schema}");
        let members = schema.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value));
        let items = schema.as_array().into_iter().flatten().enumerate();
        for (name, value) in members.chain(items.map(|(index, value)| (index.to_string(), value))) {
            judge(value, &format!("{path}.{name}"));
        }
    }
    let world = World::new();
    for path in ["/api/v1/openapi.json", "/operator/v1/openapi.json"] {
        judge(&world.send(request("GET", path)).await.body, path);
    }
}
