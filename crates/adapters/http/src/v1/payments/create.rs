//! Creating a payment: `POST /api/v1/payments` and `POST /api/v2/payments`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use quipu_commit::{IdempotencyKey, Nonce};
use quipu_payments::{Answered, Creation, Draft, InvalidDraft, KeyedRequest};
use quipu_signing::sha256_hex;

use crate::{
    answer::ApiError,
    caller::{Caller, Signed, pressure},
    kept_answer::{self, WrittenRefusal},
    pages::links::{Created, with_page},
    request::{Call, Intake, Outcome, body, call::apart},
};

pub(crate) async fn by_key(call: Call, caller: Caller) -> Outcome {
    pressure::judge(&call.state, &call.request, caller.tenant().merchant())?;
    let body = call.body().await?;
    create(call, caller, &body, None).await
}

/// A signed request uses up its nonce even if its body is refused: in the payment's commit, or otherwise in a
/// commit of its own.
pub(crate) async fn by_signature(call: Call, Signed { caller, nonce }: Signed) -> Outcome {
    let body = call.body().await?;
    if let Err(error) = Intake::Json.judge_type(&call.request, &body) {
        call.state.services.create.burn(caller.tenant(), nonce).await?;
        return Err(error);
    }
    create(call, caller, &body, Some(nonce)).await
}

/// The request and its idempotency key. An invalid key makes the request invalid, which then has no key.
fn parse(call: &Call, body: &[u8]) -> (Result<Draft, InvalidDraft>, Option<IdempotencyKey>) {
    let draft = body::read_json(body).map_err(InvalidDraft::from).and_then(|body| Draft::parse(&body));
    match kept_answer::idempotency_key(call) {
        Ok(key) => (draft, key),
        Err(problems) => (Err(draft.err().unwrap_or_default().behind(problems)), None),
    }
}

async fn create(call: Call, caller: Caller, body: &[u8], nonce: Option<Nonce>) -> Outcome {
    let tenant = caller.tenant();
    let (draft, key) = parse(&call, body);
    let default_return_urls = caller.merchant().return_urls.clone();
    let creation = Creation { tenant, draft, default_return_urls, nonce };
    let create = Arc::clone(&call.state.services.create);
    let asks_providers = call.state.services.rails.have_providers();
    let links = &call.state.services.pages.links;
    let Some(key) = key else {
        let created = Box::pin(async move { create.run(creation).await });
        let payment = survive_disconnect(created, asks_providers).await??;
        call.made(payment.id().clone());
        let answer = quipu_payments::creation_answer(&payment);
        return kept_answer::send_first(with_page(answer, links.url_of(&payment)));
    };
    let form = Arc::new(WrittenRefusal(Arc::clone(&call.state)));
    let asked = KeyedRequest { key, body_hash: sha256_hex(body), form };
    let created = Box::pin(async move { create.run_keyed(creation, asked).await });
    let Answered { answer, replayed } = survive_disconnect(created, asks_providers).await??;
    let created = Created::of(&answer);
    if let Some(payment) = created.as_ref().and_then(Created::id) {
        call.made(payment);
    }
    let page = created.and_then(|created| created.page(tenant.environment(), links));
    kept_answer::send(Answered { answer: with_page(answer, page), replayed })
}

/// Runs `work` in a task of its own if it may call a provider, so that the call and its answer are not lost
/// when the client disconnects. Work that only commits does not need this, and is faster without it.
async fn survive_disconnect<T: Send + 'static>(
    work: BoxFuture<'static, T>,
    asks_providers: bool,
) -> Result<T, ApiError> {
    if asks_providers { apart("creating a payment", work).await } else { Ok(work.await) }
}
