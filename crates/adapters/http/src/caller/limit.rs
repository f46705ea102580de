//! Charges calls to rate budgets.

use actix_web::HttpRequest;
use quipu_merchants::{AddressBudget, KeyBudget, RateVerdict};

use super::{Provider, identity::Caller};
use crate::{
    connection::proxies::{client, counted_as},
    state::AppState,
};

/// Counts a call of an authenticated merchant.
pub(crate) async fn charge_call(state: &AppState, caller: &Caller, budget: KeyBudget) -> RateVerdict {
    let budget = state.settings.limits.of_key(budget, caller.rate_limits());
    state.services.limiter.take(budget, caller.subject()).await
}

/// Counts a verified callback for its rail.
pub(crate) async fn charge_callback(state: &AppState, provider: &Provider) -> RateVerdict {
    state.services.limiter.take(state.settings.limits.of_callbacks(), provider.rail()).await
}

/// Counts a call for the client's address. Failed authentications are counted in this way; successes are
/// neither counted nor refused, so a good key works from an address that others misuse.
pub(crate) async fn charge_address(
    state: &AppState,
    request: &HttpRequest,
    budget: AddressBudget,
) -> RateVerdict {
    let budget = state.settings.limits.of_address(budget);
    state.services.limiter.take(budget, &address_of(state, request)).await
}

/// The client's address in the form in which it is counted.
pub(crate) fn address_of(state: &AppState, request: &HttpRequest) -> String {
    counted_as(client(request, &state.settings.trusted_proxies))
}
