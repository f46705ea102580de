//! Which method goes with which currency and type, independently of a merchant's routes.

use quipu_kernel::{Currency, Environment, Fields, Problems};
use quipu_merchants::{Direction, Method, RouteKey, Unpaired, unpaired};

use crate::details::kind::PaymentType;

/// The members of a request whose combinations have rules, as far as they could be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestedPairing {
    pub(crate) kind: Option<PaymentType>,
    pub(crate) method: Option<Method>,
    pub(crate) currency: Option<Currency>,
    /// Whether the request has a partner destination.
    pub(crate) partner: bool,
}

impl RequestedPairing {
    /// The key of the route for such a payment, if method, currency and type could be read.
    pub(crate) fn route_key(self, environment: Environment) -> Option<RouteKey> {
        let Self { kind, method, currency, partner } = self;
        let (currency, method, direction) = (currency?, method?, kind?.direction());
        Some(RouteKey { environment, currency, method, direction, partner })
    }

    /// Notes combinations of method, currency and type that are not allowed for any merchant.
    pub(crate) fn judge(self, problems: &mut Problems) {
        let Some(method) = self.method else { return };
        let direction = self.kind.map(PaymentType::direction);
        // That a deposit has no destination is said of `payout`.
        let partner = self.partner && direction != Some(Direction::Deposit);
        for found in unpaired(method, self.currency, direction, partner) {
            match found {
                Unpaired::PartnerMethod => {
                    problems.add("method", "must be bank_transfer for a partner destination");
                }
                Unpaired::PartnerDirection => {}
                Unpaired::DepositOnly => {
                    problems.add("type", "must be deposit or deposit_pp for method redirectpay");
                }
                Unpaired::Currency(rule) => problems.add("currency", rule),
            }
        }
    }
}

/// Whether the request has a partner destination, valid or not.
pub(crate) fn names_partner(body: &Fields<'_>) -> bool {
    let destination = body.value("payout").and_then(|payout| payout.get("partnerDestination"));
    destination.is_some_and(|destination| !destination.is_null())
}
