//! Values for tests.

use std::{sync::Arc, time::Duration};

use quipu_kernel::{Environment, EventId, MerchantId, Tenant, Timestamp};

use crate::{
    attempt::{Attempted, Begun, Response, SendProblem},
    delivery::Owed,
    endpoint::{Endpoint, EndpointId, Source},
    name::EventName,
    outcome::Outcome,
    schedule::{RetryPolicy, Spread},
    target::TargetUrl,
};

pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

pub(crate) fn endpoint(source: Source) -> Endpoint {
    let id = EndpointId::restore("0196f5a0-0000-7000-8000-000000000001".to_owned());
    let url = TargetUrl::restore("https://shop.example/hooks".to_owned());
    let tenant = Tenant::new(MerchantId(7), Environment::Test);
    Endpoint { source, ..Endpoint::named(id, tenant, url, vec![EventName::PaymentCompleted], NOON) }
}

pub(crate) fn owed() -> Owed {
    Owed {
        endpoint: Arc::new(endpoint(Source::Admin)),
        event_id: EventId::restore("evt_1763726400000_2222222222222222".to_owned()),
        payload: "{}".into(),
        attempts: Vec::new(),
        step: 0,
        due_at: NOON,
    }
}

pub(crate) fn attempted(result: Result<Response, (SendProblem, Option<Begun>)>) -> Attempted {
    Attempted { started_at: NOON, duration: Duration::from_millis(250), result }
}

pub(crate) fn answered(status: u16) -> Attempted {
    attempted(Ok(Response::new(status, None, b"noted")))
}

pub(crate) fn timed_out() -> Attempted {
    attempted(Err((SendProblem::TimedOut, None)))
}

pub(crate) fn after(attempted: &Attempted) -> Outcome {
    owed().after(attempted, &RetryPolicy::default(), Spread::NONE)
}
