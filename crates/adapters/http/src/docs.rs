//! The documents, and the interactive reference for the merchants' one. The gateway itself serves everything.

use std::{borrow::Cow, sync::Arc};

use actix_web::{
    HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use utoipa_swagger_ui::Config;

use crate::{
    answer::{ApiError, ErrorCode, reply},
    request::{Call, Outcome},
};

/// The reference runs only its own scripts and calls only the gateway. It draws with inline styles and
/// images.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const PAGE: &str = include_str!("docs/reference.html");
const START: &str = include_str!("docs/start.js");

/// The files that the reference's page loads.
const FILES: [(&str, &str); 2] = [
    ("swagger-ui.css", "text/css; charset=utf-8"),
    ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
];

/// `GET /api/v1/openapi.json`
pub(crate) async fn merchants_document(call: Call) -> Outcome {
    Ok(reply::raw(StatusCode::OK, call.state.documents().of_merchants.clone()))
}

/// `GET /operator/v1/openapi.json`
pub(crate) async fn operators_document(call: Call) -> Outcome {
    Ok(reply::raw(StatusCode::OK, call.state.documents().of_operators.clone()))
}

/// `GET /api/v1/docs`
pub(crate) async fn page(_call: Call) -> Outcome {
    Ok(reply::page(StatusCode::OK, POLICY, PAGE))
}

/// `GET /api/v1/docs/{file}`
pub(crate) async fn file(call: Call) -> Outcome {
    let name = call.segment("file");
    let own = match name {
        "start.js" => Some(("text/javascript; charset=utf-8", START)),
        "icon.svg" => Some(("image/svg+xml", quipu_pages::ICON)),
        _ => None,
    };
    if let Some((kind, text)) = own {
        return Ok(asset(kind, Bytes::from_static(text.as_bytes())));
    }
    let missing = || ApiError::refused(ErrorCode::RouteNotFound, "there is no such path");
    let (known, kind) = FILES.into_iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
    Ok(asset(kind, bundled(known)?.ok_or_else(missing)?))
}

/// A file of the reference. All its readers share the bytes in the program: strangers may ask for it as often
/// as they like, and one that reads nothing must not keep a copy.
fn bundled(name: &'static str) -> Result<Option<Bytes>, ApiError> {
    let found = utoipa_swagger_ui::serve(name, Arc::new(Config::from("/api/v1/openapi.json")));
    let found = found.map_err(|error| ApiError::internal("reading the reference", &error))?;
    Ok(found.map(|file| match file.bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    }))
}

fn asset(kind: &'static str, bytes: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(kind)))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .body(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_readers_of_the_reference_share_its_bytes() {
        for (name, _) in FILES {
            let [one, other] = [(); 2].map(|()| bundled(name).expect("no error").expect("a file"));
            assert_eq!(one.as_ptr(), other.as_ptr(), "{name}");
        }
    }
}
