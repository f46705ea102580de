//! How successes are written (specification, "Response envelope").

use actix_web::{HttpResponse, http::StatusCode};
use quipu_kernel::Page;
use serde::Serialize;

use crate::{error::ApiError, reply::raw};

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
