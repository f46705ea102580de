//! Which method goes with which currency and type, whatever a merchant's routes are.

use quipu_kernel::{Currency, Fields, Problems};
use quipu_merchants::{Method, Unpaired, unpaired};

use crate::kind::PaymentType;

/// Which way the money is to go, as far as the request could be read: the members whose pairings have rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestedPairing {
    pub(crate) kind: Option<PaymentType>,
    pub(crate) method: Option<Method>,
    pub(crate) currency: Option<Currency>,
    /// Whether it has a partner destination.
    pub(crate) partner: bool,
}

impl RequestedPairing {
    /// Notes pairings of method, currency and type that no merchant has.
    pub(crate) fn judge(self, problems: &mut Problems) {
        let Some(method) = self.method else { return };
        let direction = self.kind.map(PaymentType::direction);
        for found in unpaired(method, self.currency, direction, self.partner) {
            match found {
                Unpaired::PartnerMethod => {
                    problems.add("method", "must be bank_transfer for a partner destination");
                }
                // That a deposit has no destination is said of `payout`.
                Unpaired::PartnerDirection => {}
                Unpaired::DepositOnly => {
                    problems.add("type", "must be deposit or deposit_pp for method redirectpay");
                }
                Unpaired::Currency(rule) => problems.add("currency", rule),
            }
        }
    }
}

/// Whether the request has a partner destination, be it right or wrong.
pub(crate) fn names_partner(body: &Fields<'_>) -> bool {
    let destination = body.value("payout").and_then(|payout| payout.get("partnerDestination"));
    destination.is_some_and(|destination| !destination.is_null())
}
