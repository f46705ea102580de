//! A deprecated route says so in each answer and in the document.

use serde_json::json;

use super::{
    table::{DEPRECATED, Matrix, table},
    world::request,
};
use crate::openapi::described;

#[actix_web::test]
async fn every_answer_of_a_deprecated_route_says_so() {
    let matrix = Matrix::new().await;
    for (target, status) in [("/old", 200), ("/also/old", 200), ("/old?fail=validation", 400)] {
        let answer = matrix.app_send(request("GET", target)).await;
        assert_eq!(answer.status, status, "{target}");
        assert_eq!(answer.header("deprecation"), Some("@1767225600"), "{target}");
        assert_eq!(answer.header("sunset"), Some("Wed, 01 Jul 2026 00:00:00 GMT"), "{target}");
        let link = format!("<{}>; rel=\"deprecation\"; type=\"text/html\"", DEPRECATED.link);
        assert_eq!(answer.header("link"), Some(link.as_str()), "{target}");
    }
}

#[actix_web::test]
async fn a_route_that_stays_says_nothing_of_an_end() {
    let matrix = Matrix::new().await;
    let answer = matrix.app_send(request("GET", &matrix.path("visitor", "page", "api"))).await;
    for name in ["deprecation", "sunset", "link"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
}

#[test]
fn the_document_marks_a_deprecated_operation() {
    let rows = table();
    let of = |path: &str| described(rows.iter().find(|row| row.path() == path).expect("a row"));
    let old = of("/old");
    assert_eq!(old["deprecated"], true);
    let text = old["description"].as_str().expect("words");
    assert!(text.starts_with("Use the new one.") && text.contains("Wed, 01 Jul 2026"), "{text}");
    let headers = &old["responses"]["200"]["headers"];
    assert_eq!(headers["Sunset"], json!({ "$ref": "#/components/headers/Sunset" }));
    assert!(of("/form").get("deprecated").is_none());
}
