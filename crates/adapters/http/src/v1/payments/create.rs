//! Creating a payment: `POST /api/v1/payments` and `POST /api/v2/payments`.

use std::sync::Arc;

use quipu_commit::{IdempotencyKey, Nonce};
use quipu_kernel::Problems;
use quipu_payments::{Answered, Creation, Draft, Once};
use quipu_signing::sha256_hex;

use crate::{
    body::Intake,
    call::{Call, Outcome},
    caller::{Caller, Signed},
    kept_answer::{self, WrittenRefusal},
    pages::links::with_page,
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
    let links = &call.state.services.pages.links;
    let Some(key) = key else {
        let payment = create.run(creation).await?;
        let answer = quipu_payments::creation_answer(&payment);
        return kept_answer::send_first(with_page(answer, tenant.environment(), links));
    };
    let form = Arc::new(WrittenRefusal(Arc::clone(&call.state)));
    let once = Once { key, body_hash: sha256_hex(&call.body), form };
    let Answered { answer, replayed } = create.run_once(creation, once).await?;
    let answer = with_page(answer, tenant.environment(), links);
    kept_answer::send(Answered { answer, replayed })
}
