//! Which method goes with which currency and direction, independently of a merchant's routes.

use quipu_kernel::Currency;

use crate::route::{Direction, Method};

/// The currencies of bank transfers without a partner destination.
const BANK_TRANSFER_CURRENCIES: [Currency; 3] = [Currency::ARS, Currency::UYU, Currency::AUD];

/// Why a method, currency and direction do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpaired {
    /// A partner destination goes with bank transfers only.
    PartnerMethod,
    /// A partner destination goes with withdrawals only.
    PartnerDirection,
    /// The method takes deposits only.
    DepositOnly,
    /// The method does not take the currency; the text is the rule about `currency`.
    Currency(&'static str),
}

/// The reasons why these parts do not go together, as far as the parts are known. `Currency` and
/// `DepositOnly` can both apply.
pub fn unpaired(
    method: Method,
    currency: Option<Currency>,
    direction: Option<Direction>,
    partner: bool,
) -> Vec<Unpaired> {
    if partner && method != Method::BankTransfer {
        return vec![Unpaired::PartnerMethod];
    }
    let mut found = Vec::new();
    if partner && direction == Some(Direction::Deposit) {
        found.push(Unpaired::PartnerDirection);
    }
    if method == Method::RedirectPay && direction == Some(Direction::Withdrawal) {
        found.push(Unpaired::DepositOnly);
    }
    let rule = currency.and_then(|currency| currency_rule(method, currency, partner));
    found.extend(rule.map(Unpaired::Currency));
    found
}

/// Why the method does not take the currency.
fn currency_rule(method: Method, currency: Currency, partner: bool) -> Option<&'static str> {
    let (fits, rule) = match method {
        Method::Spei => (currency == Currency::MXN, "must be MXN for method spei"),
        Method::PayId => (currency == Currency::AUD, "must be AUD for method payid"),
        Method::RedirectPay => (currency == Currency::LKR, "must be LKR for method redirectpay"),
        Method::BankTransfer => (
            partner || BANK_TRANSFER_CURRENCIES.contains(&currency),
            "must be one of ARS, UYU, AUD for method bank_transfer without a partner destination",
        ),
        Method::CashStore | Method::Card | Method::Cash | Method::Crypto => (true, ""),
    };
    (!fits).then_some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_is_named() {
        let judge =
            |method, currency, direction, partner| unpaired(method, Some(currency), Some(direction), partner);
        let (deposit, withdrawal) = (Direction::Deposit, Direction::Withdrawal);
        assert_eq!(judge(Method::Spei, Currency::MXN, deposit, false), []);
        assert_eq!(judge(Method::Cash, Currency::TRY, withdrawal, false), []);
        assert_eq!(judge(Method::BankTransfer, Currency::GEL, withdrawal, true), []);
        assert_eq!(judge(Method::Spei, Currency::MXN, withdrawal, true), [Unpaired::PartnerMethod]);
        assert_eq!(judge(Method::BankTransfer, Currency::GEL, deposit, true), [Unpaired::PartnerDirection]);
        let both = judge(Method::RedirectPay, Currency::MXN, withdrawal, false);
        assert!(matches!(both[..], [Unpaired::DepositOnly, Unpaired::Currency(_)]));
    }
}
