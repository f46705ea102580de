//! What calls are counted against.

use std::net::{IpAddr, Ipv6Addr};

use actix_web::HttpRequest;
use quipu_merchants::{BudgetKind, Verdict};

use super::{Provider, identity::Caller};
use crate::state::AppState;

/// Counts a call of an authenticated merchant.
pub(crate) async fn charge_call(state: &AppState, caller: &Caller, kind: BudgetKind) -> Verdict {
    let budget = state.settings.limits.of_key(kind, caller.rate_limits());
    state.services.limiter.take(budget, caller.subject()).await
}

/// Counts a verified callback against its rail.
pub(crate) async fn charge_callback(state: &AppState, provider: &Provider) -> Verdict {
    state.services.limiter.take(state.settings.limits.of_callbacks(), provider.rail()).await
}

/// Counts a call against the client's address. Failures of authentication are counted like this; successes are neither
/// counted nor refused, so a good key works from an address that others misuse.
pub(crate) async fn charge_address(state: &AppState, request: &HttpRequest, kind: BudgetKind) -> Verdict {
    let budget = state.settings.limits.of_address(kind);
    state.services.limiter.take(budget, &address_of(request)).await
}

/// The client's address, as it is counted.
pub(crate) fn address_of(request: &HttpRequest) -> String {
    request.peer_addr().map_or_else(|| "unknown".to_owned(), |peer| network(peer.ip()))
}

/// An IPv4 address, or the /64 that one IPv6 subscriber usually has to itself.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}
