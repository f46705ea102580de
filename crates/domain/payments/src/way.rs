//! Which method goes with which currency and type, whatever a merchant's routes are.

use quipu_kernel::{Currency, Fields, Problems};
use quipu_merchants::{Direction, Method};

use crate::kind::PaymentType;

/// Which way the money is to go, as far as the request could be read: the members whose pairings have rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) kind: Option<PaymentType>,
    pub(crate) method: Option<Method>,
    pub(crate) currency: Option<Currency>,
    /// Whether it has a partner destination.
    pub(crate) partner: bool,
}

/// The currencies of bank transfers without a partner destination.
const BANK_TRANSFER_CURRENCIES: [Currency; 3] = [Currency::ARS, Currency::UYU, Currency::AUD];

impl Way {
    /// Notes pairings of method, currency and type that no merchant has.
    pub(crate) fn judge(self, problems: &mut Problems) {
        let withdrawal = self.kind.map(|kind| kind.direction() == Direction::Withdrawal);
        if self.partner && self.method.is_some_and(|method| method != Method::BankTransfer) {
            problems.add("method", "must be bank_transfer for a partner destination");
            return;
        }
        let Some(method) = self.method else { return };
        if method == Method::RedirectPay && withdrawal == Some(true) {
            problems.add("type", "must be deposit or deposit_pp for method redirectpay");
        }
        let Some(currency) = self.currency else { return };
        let (fits, rule) = match method {
            Method::Spei => (currency == Currency::MXN, "must be MXN for method spei"),
            Method::PayId => (currency == Currency::AUD, "must be AUD for method payid"),
            Method::RedirectPay => (currency == Currency::LKR, "must be LKR for method redirectpay"),
            Method::BankTransfer => (
                self.partner || BANK_TRANSFER_CURRENCIES.contains(&currency),
                "must be one of ARS, UYU, AUD for method bank_transfer without a partner destination",
            ),
            Method::CashStore | Method::Card | Method::Cash | Method::Crypto => (true, ""),
        };
        if !fits {
            problems.add("currency", rule);
        }
    }
}

/// Whether the request has a partner destination, be it right or wrong.
pub(crate) fn names_partner(body: &Fields<'_>) -> bool {
    let destination = body.value("payout").and_then(|payout| payout.get("partnerDestination"));
    destination.is_some_and(|destination| !destination.is_null())
}
