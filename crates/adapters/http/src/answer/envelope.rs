//! The JSON of successful answers (docs/API.md).

use actix_web::{HttpResponse, http::StatusCode};
use quipu_kernel::Page;
use serde::Serialize;

use super::{error::ApiError, reply::raw};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
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

/// `{success, data}` of a new resource, with 201.
pub(crate) fn created<T: Serialize>(data: T) -> Result<HttpResponse, ApiError> {
    json(StatusCode::CREATED, &One { success: true, data })
}

/// `{success, data, total, pagination}`
pub(crate) fn many<T: Serialize>(data: Vec<T>, total: u64, page: Page) -> Result<HttpResponse, ApiError> {
    page_of(data, total, page, None)
}

/// Like `many`, with `total` inside `pagination` too, as in lists of tickets.
pub(crate) fn many_counted<T: Serialize>(
    data: Vec<T>,
    total: u64,
    page: Page,
) -> Result<HttpResponse, ApiError> {
    page_of(data, total, page, Some(total))
}

fn page_of<T: Serialize>(
    data: Vec<T>,
    total: u64,
    page: Page,
    shown: Option<u64>,
) -> Result<HttpResponse, ApiError> {
    let (limit, offset, total_pages) = (page.limit(), page.offset(), page.pages(total));
    let pagination = Pagination { total: shown, limit, offset, total_pages };
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
