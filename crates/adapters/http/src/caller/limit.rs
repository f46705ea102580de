//! Rate limits (specification, "Limits"; decisions, "Rate limits").

use std::net::{IpAddr, Ipv6Addr};

use actix_web::HttpRequest;
use quipu_merchants::{BudgetKind, Verdict};

use super::identity::Caller;
use crate::state::AppState;

/// Counts a call of an authenticated merchant.
pub(crate) async fn charge_call(state: &AppState, caller: &Caller, kind: BudgetKind) -> Verdict {
    let budget = state.settings.limits.of_key(kind, caller.rate_limits());
    state.services.limiter.take(budget, caller.subject()).await
}

/// Counts a failure of authentication against the client's address. Successes are neither counted nor refused, so a
/// good key works from an address that others misuse.
pub(crate) async fn charge_failure(state: &AppState, request: &HttpRequest) -> Verdict {
    let address = request.peer_addr().map_or_else(|| "unknown".to_owned(), |peer| network(peer.ip()));
    state.services.limiter.take(state.settings.limits.of_failures(), &address).await
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
