//! The static files of pages, and the front page.

use actix_web::{
    HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
};
use quipu_pages::{FrontLink, GUIDES, asset, front, policy};

use crate::{
    answer::{ApiError, ErrorCode, reply},
    request::{Call, Outcome},
};

/// `GET /assets/{name}`
pub(crate) async fn file(call: Call) -> Outcome {
    let asset = asset(call.segment("name")).ok_or_else(no_file)?;
    let keep = if asset.is_lasting { FOR_EVER } else { NOT_AT_ALL };
    Ok(kept(keep, asset.content_type, asset.body.into_bytes()))
}

/// `GET /logos/{name}`
pub(crate) async fn logo(call: Call) -> Outcome {
    let hash = call.segment("name").strip_suffix(".png").ok_or_else(no_file)?;
    let picture = call.state.services.pages.store.logo(hash).await?.ok_or_else(no_file)?;
    Ok(kept(FOR_EVER, "image/png", picture))
}

/// `GET /`
pub(crate) async fn front_page(call: Call) -> Outcome {
    let root = call.state.settings.root();
    let link = |what, path: &str, text: &str| FrontLink {
        what,
        href: format!("{root}{path}"),
        text: text.to_owned(),
    };
    let mut links = vec![
        link("Interactive reference", "/api/v1/docs", "/api/v1/docs"),
        link("Machine-readable description", "/api/v1/openapi.json", "/api/v1/openapi.json"),
        link("Whether the service is ready", "/readyz", "/readyz"),
    ];
    links.extend(GUIDES.iter().map(|guide| link("Guide", &format!("/guides/{}", guide.name), guide.title)));
    links.extend(call.state.settings.front_links.iter().cloned());
    Ok(reply::page(StatusCode::OK, policy(), front(&links, root)))
}

/// `GET /guides/{name}`
pub(crate) async fn guide(call: Call) -> Outcome {
    let page = call.state.guides().get(call.segment("name")).ok_or_else(no_file)?;
    Ok(reply::page(StatusCode::OK, policy(), page.clone()))
}

/// For a file whose name contains a hash of its content, so that it never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const NOT_AT_ALL: &str = "no-store";

/// A file that browsers and proxies may keep so long.
fn kept(keep: &'static str, content_type: &'static str, body: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(content_type)))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static(keep)))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .insert_header((header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'")))
        .body(body)
}

fn no_file() -> ApiError {
    ApiError::refused(ErrorCode::RouteNotFound, "there is no such file")
}
