//! Payments for tests.

use quipu_kernel::{Amount, Currency, CustomerId, Environment, MerchantId, Tenant, Timestamp};
use quipu_merchants::{Method, ReturnUrls};
use quipu_payments::{Customer, Instructions, Payment, PaymentType, State, Status, Terms};

use crate::{brand::Brand, payment_page::View, words::Words};

pub(crate) const ID: &str = "pay_1763683200000_abcdefghjkmn";

/// The time at which the payments are made, and looked at.
pub(crate) const MADE: Timestamp = Timestamp::from_millis(1_763_683_200_000);

/// A deposit of 1,234.56 in this status with these instructions.
pub(crate) fn deposit(
    method: Method,
    currency: Currency,
    status: Status,
    instructions: Instructions,
) -> Payment {
    let kind = PaymentType::DepositPp;
    let terms = Terms {
        id: ID.parse().expect("an identifier"),
        tenant: Tenant::new(MerchantId(1), Environment::Live),
        kind,
        method,
        currency,
        amount: Amount::new(123_456).expect("an amount"),
        merchant_reference: "order-20431".to_owned(),
        customer: Customer { id: CustomerId(1), email: None, phone: None, name: None },
        rail: "manual".to_owned(),
        created_at: MADE,
        expires_at: Some(MADE.plus(std::time::Duration::from_hours(72))),
        description: None,
        note: None,
        external_id: None,
        traffic_type: None,
        webhook: None,
        return_urls: ReturnUrls::default(),
        redirect_scheme: None,
    };
    Payment::restore(terms, State { status, instructions, ..State::first(kind, MADE) })
}

/// A look at this payment in these words.
pub(crate) const fn view<'a>(payment: &'a Payment, brand: &'a Brand, words: Words) -> View<'a> {
    View { payment, brand, words, now: MADE, root: "", token: "token", members: &[], filled: None }
}
