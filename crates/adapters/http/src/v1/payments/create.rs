//! Creating a payment: `POST /api/v1/payments` and `POST /api/v2/payments`.

use std::sync::Arc;

use quipu_commit::{Answer, IdempotencyKey, Nonce};
use quipu_kernel::{PaymentId, Problems};
use quipu_payments::{Answered, Creation, Draft, KeyedRequest};
use quipu_signing::sha256_hex;
use serde::Deserialize;

use crate::{
    body::{self, Intake},
    call::{Call, Outcome},
    caller::{Caller, Signed},
    error::ApiError,
    kept_answer::{self, WrittenRefusal},
    pages::links::with_page,
};

pub(crate) async fn by_key(call: Call, caller: Caller) -> Outcome {
    if call.state.services.create.is_pressed(caller.tenant()) {
        return Err(ApiError::Overloaded);
    }
    let body = call.body().await?;
    create(call, caller, &body, None).await
}

/// A signed request uses its nonce up even if its body is refused: in the payment's own commit, or else by itself.
pub(crate) async fn by_signature(call: Call, Signed { caller, nonce }: Signed) -> Outcome {
    let body = call.body().await?;
    if let Err(error) = Intake::Json.judge_type(&call.request, &body) {
        call.state.services.create.burn(caller.tenant(), nonce).await?;
        return Err(error);
    }
    create(call, caller, &body, Some(nonce)).await
}

/// The request and its name. What is wrong with either is wrong with the request, which then has no name.
fn parse(call: &Call, body: &[u8]) -> (Result<Draft, Problems>, Option<IdempotencyKey>) {
    let draft = body::parse(body).and_then(|body| Draft::parse(&body));
    match kept_answer::idempotency_key(call) {
        Ok(key) => (draft, key),
        Err(mut problems) => {
            problems.append(draft.err().unwrap_or_default());
            (Err(problems), None)
        }
    }
}

async fn create(call: Call, caller: Caller, body: &[u8], nonce: Option<Nonce>) -> Outcome {
    let tenant = caller.tenant();
    let (draft, key) = parse(&call, body);
    let default_return_urls = caller.merchant().return_urls.clone();
    let creation = Creation { tenant, draft, default_return_urls, nonce };
    let create = &call.state.services.create;
    let links = &call.state.services.pages.links;
    let Some(key) = key else {
        let payment = create.run(creation).await?;
        call.made(payment.id().clone());
        let answer = quipu_payments::creation_answer(&payment);
        return kept_answer::send_first(with_page(answer, tenant.environment(), links));
    };
    let form = Arc::new(WrittenRefusal(Arc::clone(&call.state)));
    let asked = KeyedRequest { key, body_hash: sha256_hex(body), form };
    let Answered { answer, replayed } = create.run_keyed(creation, asked).await?;
    if let Some(payment) = made(&answer) {
        call.made(payment);
    }
    let answer = with_page(answer, tenant.environment(), links);
    kept_answer::send(Answered { answer, replayed })
}

/// The payment that an answer tells of.
fn made(answer: &Answer) -> Option<PaymentId> {
    #[derive(Deserialize)]
    struct Created<'a> {
        transaction_id: &'a str,
    }
    let created: Created<'_> = serde_json::from_str(&answer.body).ok()?;
    created.transaction_id.parse().ok()
}
