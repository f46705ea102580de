//! Routes: what a merchant may do, over which rail, and what it costs.

use quipu_kernel::{Amount, Currency, Environment, MAX_MINOR, Minor, OutOfRange, wire_names};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the rail of the test environment.
pub const SIMULATOR_RAIL: &str = "simulator";
/// The name of the rail on which people move the money.
pub const MANUAL_RAIL: &str = "manual";

wire_names! {
    /// The payment method (docs/API.md, "Methods").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Method {
        /// A bank transfer; with a partner destination, a payout across borders.
        BankTransfer = "bank_transfer",
        /// Mexico's interbank transfers.
        Spei = "spei",
        /// Cash at a shop, against a voucher.
        CashStore = "cashstore",
        /// A card, on a page of the scheme; card data never passes through us.
        Card = "card",
        /// Cash, against a voucher.
        Cash = "cash",
        /// A cryptocurrency.
        Crypto = "crypto",
        /// Australia's PayID.
        PayId = "payid",
        /// A redirect to a scheme of Sri Lanka.
        RedirectPay = "redirectpay",
    }
}

wire_names! {
    /// Whether money comes in or goes out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Direction {
        /// Money comes in from a customer.
        Deposit = "deposit",
        /// Money goes out to a recipient.
        Withdrawal = "withdrawal",
    }
}

wire_names! {
    /// How strictly account numbers are checked.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum AccountCheck {
        /// Only the format is checked.
        #[default]
        Format = "format",
        /// The check digits are checked too (CLABE, CBU, ABN, IBAN).
        Enforce = "enforce",
    }
}

/// The key by which a route is found, within its merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteKey {
    /// The environment in which it applies.
    pub environment: Environment,
    /// The currency of its payments.
    pub currency: Currency,
    /// The method of its payments.
    pub method: Method,
    /// Whether its payments are deposits or withdrawals.
    pub direction: Direction,
    /// Whether it is the partner route (payouts to a partner destination).
    pub partner: bool,
}

/// A permission to make payments of one kind, with its rail, limits and fee, in the shape in which the
/// operator reads and writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The environment in which it applies.
    pub environment: Environment,
    /// The currency of its payments.
    pub currency: Currency,
    /// The method of its payments.
    pub method: Method,
    /// Whether its payments are deposits or withdrawals.
    pub direction: Direction,
    /// Whether it is the partner route.
    #[serde(default)]
    pub partner: bool,
    /// Whether it may be used at present.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// The rail that moves the money: `simulator`, `manual` or `http:<name>`.
    pub rail: String,
    /// Least amount, in minor units.
    #[serde(default = "one")]
    pub min_amount: Amount,
    /// Greatest amount, in minor units.
    #[serde(default)]
    pub max_amount: Option<Amount>,
    /// Fee as a share of the amount, in hundredths of a percent, at most 10,000.
    #[serde(default)]
    pub fee_bps: u16,
    /// Fee on top of the share, in minor units.
    #[serde(default)]
    pub fee_fixed: Minor,
    /// Seconds until an unpaid deposit, or a hosted withdrawal whose recipient nobody has named, expires; absent means
    /// the method's default. A `redirectpay` deposit has a period of its own.
    #[serde(default)]
    pub expires_in: Option<u32>,
    /// Members of `payout` that this route asks for beyond those its method always needs.
    #[serde(default)]
    pub required_payout_fields: Vec<String>,
    /// How strictly account numbers are checked.
    #[serde(default)]
    pub account_check: AccountCheck,
    /// What the manual rail shows the payer: the members of the method's instructions that the payment itself
    /// does not give. For a withdrawal it is the account that it is paid from.
    #[serde(default)]
    pub instructions: Map<String, Value>,
}

const fn enabled() -> bool {
    true
}

fn one() -> Amount {
    Amount::new(1).unwrap_or_else(|_| unreachable!("one is in range"))
}

impl Route {
    /// The key by which the route is found.
    pub const fn key(&self) -> RouteKey {
        RouteKey {
            environment: self.environment,
            currency: self.currency,
            method: self.method,
            direction: self.direction,
            partner: self.partner,
        }
    }

    /// An enabled route over `rail` with minimum 1, no maximum and no fee.
    pub fn plain(key: RouteKey, rail: &str) -> Self {
        Self {
            environment: key.environment,
            currency: key.currency,
            method: key.method,
            direction: key.direction,
            partner: key.partner,
            enabled: true,
            rail: rail.to_owned(),
            min_amount: one(),
            max_amount: None,
            fee_bps: 0,
            fee_fixed: Minor::ZERO,
            expires_in: None,
            required_payout_fields: Vec::new(),
            account_check: AccountCheck::Format,
            instructions: Map::new(),
        }
    }

    /// The fee on `amount`: its share, rounded half up, plus the fixed part.
    pub fn fee(&self, amount: Amount) -> Result<Minor, OutOfRange> {
        let share = (i128::from(amount.get()) * i128::from(self.fee_bps) + 5_000) / 10_000;
        Minor::new(i64::try_from(share).map_err(|_| OutOfRange)?)?.checked_add(self.fee_fixed)
    }

    /// The fee on `amount`, if the amount can bear it: deducted from a deposit, or on top of a withdrawal.
    pub fn fee_borne(&self, amount: Amount) -> Option<Minor> {
        let fee = self.fee(amount).ok()?;
        let borne = match self.direction {
            Direction::Deposit => fee <= amount.minor(),
            Direction::Withdrawal => amount.minor().checked_add(fee).is_ok(),
        };
        borne.then_some(fee)
    }

    /// Whether any amount within the route's limits can bear its fee. For deposits it suffices to try the
    /// greatest amount, for withdrawals the least.
    pub(crate) fn admits_any_amount(&self) -> bool {
        let ablest = match self.direction {
            Direction::Deposit => self.max_amount.or(Amount::new(MAX_MINOR).ok()),
            Direction::Withdrawal => Some(self.min_amount),
        };
        ablest.is_some_and(|amount| self.fee_borne(amount).is_some())
    }

    /// The routes a new merchant starts with: every known pairing in the test environment on the
    /// simulator, partner payouts for GEL only, nothing live.
    pub fn of_new_merchant() -> Vec<Self> {
        let pairings = [
            (Method::BankTransfer, Currency::ARS),
            (Method::BankTransfer, Currency::UYU),
            (Method::BankTransfer, Currency::AUD),
            (Method::Spei, Currency::MXN),
            (Method::PayId, Currency::AUD),
            (Method::RedirectPay, Currency::LKR),
        ];
        let key = |method, currency, direction, partner| RouteKey {
            environment: Environment::Test,
            currency,
            method,
            direction,
            partner,
        };
        let mut routes = Vec::new();
        for (method, currency) in pairings {
            routes.push(Self::plain(key(method, currency, Direction::Deposit, false), SIMULATOR_RAIL));
            // `redirectpay` takes money in only.
            if method != Method::RedirectPay {
                routes.push(Self::plain(key(method, currency, Direction::Withdrawal, false), SIMULATOR_RAIL));
            }
        }
        let partner = key(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true);
        routes.push(Self::plain(partner, SIMULATOR_RAIL));
        routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fee_is_rounded_half_up_and_the_fixed_part_comes_on_top() {
        let mut route = Route::of_new_merchant().remove(0);
        let fee = |route: &Route, amount| {
            let amount = Amount::new(amount).expect("in range");
            route.fee(amount).map(Minor::get)
        };
        assert_eq!(fee(&route, 100_000), Ok(0));
        route.fee_bps = 250;
        assert_eq!([fee(&route, 100), fee(&route, 20), fee(&route, 19)], [Ok(3), Ok(1), Ok(0)]);
        route.fee_fixed = Minor::new(30).expect("in range");
        assert_eq!(fee(&route, 100), Ok(33));
        assert_eq!(fee(&route, quipu_kernel::MAX_MINOR), Ok(225_179_981_368_555));
    }

    #[test]
    fn of_all_amounts_of_a_route_one_must_bear_its_fee() {
        let admits_any = |direction, fee_bps, fee_fixed, (min, max): (i64, Option<i64>)| {
            let mut route = Route { direction, fee_bps, ..Route::of_new_merchant().remove(0) };
            route.fee_fixed = Minor::new(fee_fixed).expect("in range");
            route.min_amount = Amount::new(min).expect("in range");
            route.max_amount = max.map(|max| Amount::new(max).expect("in range"));
            route.admits_any_amount()
        };
        let of_deposits = |bps, fixed, max: Option<i64>| admits_any(Direction::Deposit, bps, fixed, (1, max));
        assert!(!of_deposits(0, 500, Some(400)) && of_deposits(0, 400, Some(400)));
        assert!(!of_deposits(5_000, 200, Some(398)) && of_deposits(5_000, 200, Some(400)));
        assert!(!of_deposits(10_000, 1, None) && of_deposits(10_000, 0, None));
        assert!(of_deposits(0, MAX_MINOR, None));
        let of_withdrawals = |fixed, min| admits_any(Direction::Withdrawal, 0, fixed, (min, None));
        assert!(!of_withdrawals(1, MAX_MINOR) && of_withdrawals(500, 1));
    }

    #[test]
    fn a_new_merchant_can_pay_in_and_out_by_every_pairing_in_test_only() {
        let routes = Route::of_new_merchant();
        assert_eq!(routes.len(), 12);
        assert!(routes.iter().all(|route| route.environment == Environment::Test && route.enabled));
        assert!(routes.iter().filter(|route| route.partner).all(|route| route.currency == Currency::GEL));
    }
}
