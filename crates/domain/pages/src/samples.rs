//! Payments for tests.

use quipu_kernel::{Amount, Currency, CustomerId, Environment, MerchantId, Tenant, Timestamp};
use quipu_merchants::{Method, ReturnUrls};
use quipu_payments::{
    BankDetails, CryptoDetails, Customer, Instructions, PayIdDetails, Payment, PaymentType, State, Status,
    Terms, VoucherDetails,
};

use crate::{brand::Brand, view::View, words::Words};

pub(crate) const ID: &str = "pay_1763683200000_abcdefghjkmn";

/// The account that transfers go to.
pub(crate) const ACCOUNT: &str = "2850590940090418135201";

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

/// A withdrawal of 1,234.56 AUD that waits for its recipient.
pub(crate) fn unfilled_withdrawal() -> Payment {
    let deposit = deposit(Method::BankTransfer, Currency::AUD, Status::Pending, Instructions::default());
    let kind = PaymentType::WithdrawalPp;
    let terms = Terms { kind, ..deposit.terms().clone() };
    Payment::restore(terms, State::first(kind, MADE))
}

/// The instructions of a deposit by this method.
pub(crate) fn instructions(method: Method) -> Instructions {
    let none = Instructions::default();
    match method {
        Method::BankTransfer | Method::Spei => {
            let details = BankDetails {
                amount: "123456".to_owned(),
                purpose: ID.to_owned(),
                currency: Currency::AUD,
                bank_name: "Bank of Nowhere".to_owned(),
                swift_code: None,
                account_holder: "Quipu".to_owned(),
                account_number: ACCOUNT.to_owned(),
                bsb: None,
            };
            Instructions { bank_details: Some(details), ..none }
        }
        Method::PayId => {
            let details = PayIdDetails {
                payid: "pay@quipu.example".to_owned(),
                payid_type: "email".to_owned(),
                payid_name: "Quipu".to_owned(),
                reference: ID.to_owned(),
            };
            Instructions { payid_details: Some(details), ..none }
        }
        Method::Cash | Method::CashStore => {
            let (reference, barcode) = (ID.to_owned(), "0123456789".to_owned());
            let details = VoucherDetails { reference, barcode, expires_at: None };
            Instructions { voucher_details: Some(details), ..none }
        }
        Method::Crypto => {
            let details = CryptoDetails {
                asset: "USDT".to_owned(),
                network: "tron".to_owned(),
                address: "T1".to_owned(),
                uri: "tron:T1".to_owned(),
            };
            Instructions { crypto_details: Some(details), ..none }
        }
        Method::Card | Method::RedirectPay => {
            Instructions { redirect_url: Some("https://scheme.example/pay".to_owned()), ..none }
        }
    }
}

/// A look at this payment in these words.
pub(crate) const fn view<'a>(payment: &'a Payment, brand: &'a Brand, words: Words) -> View<'a> {
    View { payment, brand, words, now: MADE, root: "", token: "token", members: &[], filled: None }
}
