//! One request on its way to a handler, and the result type of handlers.

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web::Bytes};
use futures_util::future::BoxFuture;
use quipu_commit::CallWaits;
use quipu_kernel::{MerchantId, PaymentId, Timestamp};
use quipu_merchants::{Role, Scope};
use serde_json::Value;
use tracing::Instrument as _;

use super::{
    body::{self, Upload},
    content::Content,
    query::Query,
};
use crate::{answer::ApiError, caller, state::AppState};

/// The result of a handler.
pub(crate) type Outcome = Result<HttpResponse, ApiError>;
/// A running handler.
pub(crate) type Running = Pin<Box<dyn Future<Output = Outcome>>>;

/// How long a body may be waited for before its sender is judged again. A credential may be revoked meanwhile, and is
/// then refused within two seconds.
pub(crate) const JUDGED_FOR: Duration = Duration::from_secs(1);

/// By what a call was let in.
#[derive(Clone, Copy)]
pub(crate) enum LetIn {
    /// By nothing that could be revoked while its body arrives.
    Anybody,
    /// By an API key, which may do this.
    Key(Option<Scope>),
    /// By an API key or a bearer token, which may do this.
    KeyOrToken(Option<Scope>),
    /// By an operator's token with this role.
    Staff(Role),
}

/// One request, as handlers see it.
pub(crate) struct Call {
    pub(crate) state: Arc<AppState>,
    pub(crate) request: HttpRequest,
    pub(crate) content: Rc<Content>,
    /// The unread body, on routes whose handler reads it piece by piece.
    pub(crate) upload: Option<Upload>,
    pub(crate) let_in: LetIn,
    pub(crate) now: Timestamp,
}

impl Call {
    /// A segment of the path; empty if it is not UTF-8 or holds a NUL, which no database stores.
    pub(crate) fn segment(&self, name: &str) -> &str {
        segment_of(&self.request, name)
    }

    pub(crate) fn query(&self) -> Result<Query, ApiError> {
        Query::parse(self.request.query_string())
    }

    /// Records which payment the call made, for the log and traces; one named by the path needs no record.
    pub(crate) fn made(&self, payment: PaymentId) {
        self.request.extensions_mut().insert(Made(payment));
    }

    /// The whole body, on routes that read it whole. Everything that needs no body is checked before.
    pub(crate) async fn body(&self) -> Result<Bytes, ApiError> {
        let begun = Instant::now();
        let body = self.content.whole(&self.state, &self.request).await?;
        if begun.elapsed() >= JUDGED_FOR {
            self.judge_again().await?;
        }
        Ok(body)
    }

    /// Refuses a sender whose credential was revoked or expired, or whose merchant was suspended, since the head.
    async fn judge_again(&self) -> Result<(), ApiError> {
        let (state, request, now) = (&*self.state, &self.request, self.state.services.clock.now());
        match self.let_in {
            LetIn::Anybody => Ok(()),
            LetIn::Key(scope) => caller::by_api_key(state, request, now).await?.may(scope),
            LetIn::KeyOrToken(scope) => caller::by_key_or_token(state, request, now).await?.may(scope),
            LetIn::Staff(role) => caller::by_operator_token(state, request, now).await?.require(role),
        }
    }

    /// The body as the members of a form, read like the parameters of a query.
    pub(crate) async fn form(&self) -> Result<Query, ApiError> {
        Query::of_form(&self.body().await?)
    }

    /// The body as JSON.
    pub(crate) async fn json(&self) -> Result<Value, ApiError> {
        Ok(body::read_json(&self.body().await?)?)
    }

    /// The body as JSON; an empty object if there is no body.
    pub(crate) async fn optional_json(&self) -> Result<Value, ApiError> {
        Ok(body::read_optional_json(&self.body().await?)?)
    }

    /// The merchant that the path names.
    pub(crate) fn merchant_id(&self) -> Option<MerchantId> {
        merchant_in_path(&self.request)
    }
}

/// A segment of a path. One that is not UTF-8 or holds a NUL counts as empty.
fn segment_of<'r>(request: &'r HttpRequest, name: &str) -> &'r str {
    request.match_info().get(name).filter(|segment| !segment.contains('\0')).unwrap_or_default()
}

struct Made(PaymentId);

/// The payment that a request made or that its path names.
pub(crate) fn payment_of(request: &HttpRequest) -> Option<PaymentId> {
    if let Some(Made(payment)) = request.extensions().get() {
        return Some(payment.clone());
    }
    let named = ["id", "payment_id"].into_iter().find_map(|name| request.match_info().get(name));
    named?.parse().ok()
}

/// The merchant that a path names.
pub(crate) fn merchant_in_path(request: &HttpRequest) -> Option<MerchantId> {
    let text = request.match_info().get("id")?;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().map(MerchantId)
}

/// Runs `work` in a task of its own, which goes on though the client disconnects.
pub(crate) async fn apart<T: Send + 'static>(
    what: &'static str,
    work: BoxFuture<'static, T>,
) -> Result<T, ApiError> {
    let call = CallWaits::current().unwrap_or_default();
    let done = tokio::spawn(call.around(work).in_current_span()).await;
    done.map_err(|error| ApiError::internal(what, &error))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_segment_with_a_nul_names_nothing() {
        for (sent, expected) in [("key_1", "key_1"), ("\0", ""), ("key\0", ""), ("", "")] {
            let request = TestRequest::default().param("key_id", sent).to_http_request();
            assert_eq!(segment_of(&request, "key_id"), expected, "{sent:?}");
        }
    }
}
