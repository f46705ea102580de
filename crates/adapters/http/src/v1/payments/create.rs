//! Creating a payment: `POST /api/v1/payments` and `POST /api/v2/payments`.

use std::sync::Arc;

use quipu_commit::{IdempotencyKey, Nonce};
use quipu_kernel::Problems;
use quipu_payments::{Creation, Draft, Once};
use quipu_signing::sha256_hex;

use crate::{
    body::Intake,
    call::{Call, Outcome},
    caller::{Caller, Signed},
    kept_answer::{self, WrittenRefusal},
};

pub(crate) async fn by_key(call: Call, caller: Caller) -> Outcome {
    create(call, caller, None).await
}

/// A signed request uses its nonce up even if its body is refused: in the payment's own commit, or else by itself.
pub(crate) async fn by_signature(call: Call, Signed { caller, nonce }: Signed) -> Outcome {
    if let Err(error) = Intake::Json.judge_type(&call.request, &call.body) {
        call.state.services.create.burn(caller.tenant(), nonce).await?;
        return Err(error);
    }
    create(call, caller, Some(nonce)).await
}

/// The request and its name. What is wrong with either is wrong with the request, which then has no name.
fn parse(call: &Call) -> (Result<Draft, Problems>, Option<IdempotencyKey>) {
    let draft = call.json().and_then(|body| Draft::parse(&body));
    match kept_answer::idempotency_key(call) {
        Ok(key) => (draft, key),
        Err(mut problems) => {
            problems.append(draft.err().unwrap_or_default());
            (Err(problems), None)
        }
    }
}

async fn create(call: Call, caller: Caller, nonce: Option<Nonce>) -> Outcome {
    let tenant = caller.tenant();
    let (draft, key) = parse(&call);
    let default_return_urls = caller.merchant().return_urls.clone();
    let creation = Creation { tenant, draft, default_return_urls, nonce };
    let create = &call.state.services.create;
    let Some(key) = key else {
        let payment = create.run(creation).await?;
        return kept_answer::send_first(quipu_payments::creation_answer(&payment));
    };
    let form = Arc::new(WrittenRefusal(Arc::clone(&call.state)));
    let once = Once { key, body_hash: sha256_hex(&call.body), form };
    let answered = create.run_once(creation, once).await?;
    kept_answer::send(answered)
}
