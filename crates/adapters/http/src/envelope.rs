//! How successes are written (specification, "Response envelope").

use actix_web::{HttpResponse, http::StatusCode, http::header};
use quipu_kernel::Page;
use serde::Serialize;

use crate::error::ApiError;

#[derive(Serialize)]
struct One<T> {
    success: bool,
    data: T,
}

#[derive(Serialize)]
struct Many<T> {
    success: bool,
    data: Vec<T>,
    total: u64,
    pagination: Pagination,
}

#[derive(Serialize)]
struct Pagination {
    limit: u32,
    offset: u64,
    total_pages: u64,
}

/// `success: true` beside members at the top level.
#[derive(Serialize)]
pub(crate) struct TopLevel<T> {
    success: bool,
    #[serde(flatten)]
    members: T,
}

impl<T> TopLevel<T> {
    pub(crate) const fn new(members: T) -> Self {
        Self { success: true, members }
    }
}

/// `{success, data}`
pub(crate) fn one<T: Serialize>(data: T) -> Result<HttpResponse, ApiError> {
    json(StatusCode::OK, &One { success: true, data })
}

/// `{success, data, total, pagination}`
pub(crate) fn many<T: Serialize>(data: Vec<T>, total: u64, page: Page) -> Result<HttpResponse, ApiError> {
    let pagination =
        Pagination { limit: page.limit(), offset: page.offset(), total_pages: page.pages(total) };
    json(StatusCode::OK, &Many { success: true, data, total, pagination })
}

/// `{success, …}`
pub(crate) fn top_level<T: Serialize>(members: T) -> Result<HttpResponse, ApiError> {
    json(StatusCode::OK, &TopLevel::new(members))
}

/// Any value, as JSON.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Result<HttpResponse, ApiError> {
    let body = serde_json::to_vec(value).map_err(|error| ApiError::internal("writing an answer", &error))?;
    Ok(raw(status, body))
}

/// A body that is JSON already.
pub(crate) fn raw(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    // Answers show balances, payments and keys: no cache may keep one.
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, header::HeaderValue::from_static("application/json")))
        .insert_header((header::CACHE_CONTROL, header::HeaderValue::from_static("no-store")))
        .body(body)
}
