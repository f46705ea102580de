//! One request on its way to a handler, and what handlers answer.

use std::{pin::Pin, sync::Arc};

use actix_web::{HttpRequest, HttpResponse, web::Bytes};
use quipu_kernel::{MerchantId, Problems, Timestamp};
use serde_json::Value;

use crate::{
    body::{self, Upload},
    error::ApiError,
    query::Query,
    state::AppState,
};

/// What a handler answers.
pub(crate) type Outcome = Result<HttpResponse, ApiError>;
/// A handler at work.
pub(crate) type Running = Pin<Box<dyn Future<Output = Outcome>>>;

/// One request, as handlers see it.
pub(crate) struct Call {
    pub(crate) state: Arc<AppState>,
    pub(crate) request: HttpRequest,
    /// The whole body, if the route has it read.
    pub(crate) body: Bytes,
    /// The body on its way, if the route leaves it to the handler.
    pub(crate) upload: Option<Upload>,
    pub(crate) now: Timestamp,
}

impl Call {
    /// A segment of the path; empty if it is no UTF-8.
    pub(crate) fn segment(&self, name: &str) -> &str {
        self.request.match_info().get(name).unwrap_or_default()
    }

    pub(crate) fn query(&self) -> Result<Query, ApiError> {
        Query::parse(self.request.query_string())
    }

    /// The body as the members of a form, read like the parameters of a query.
    pub(crate) fn form(&self) -> Result<Query, ApiError> {
        let text = str::from_utf8(&self.body).map_err(|_| ApiError::validation("body", "must be a form"))?;
        Query::parse(text)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<Value, Problems> {
        body::parse(&self.body)
    }

    /// The body as JSON, an empty object if there is none.
    pub(crate) fn optional_json(&self) -> Result<Value, Problems> {
        body::parse_optional(&self.body)
    }

    /// The merchant that the path names.
    pub(crate) fn merchant_id(&self) -> Option<MerchantId> {
        merchant_in_path(&self.request)
    }
}

/// The merchant that a path names.
pub(crate) fn merchant_in_path(request: &HttpRequest) -> Option<MerchantId> {
    let text = request.match_info().get("id")?;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().map(MerchantId)
}
