//! The simulator's payment instructions: the right members for every method, with accounts that belong to
//! nobody.

use quipu_kernel::{Amount, Currency, Timestamp};
use quipu_merchants::Method;
use quipu_payments::{
    BankDetails, CryptoDetails, Instructions, PageLinks, PayIdDetails, Payment, VoucherDetails,
};

use crate::clabe::clabe;

/// Instructions for a deposit. They are derived from the payment alone, so that every call returns the same.
pub(crate) fn simulated_instructions(
    payment: &Payment,
    expires_at: Option<Timestamp>,
    public_url: &str,
) -> Instructions {
    let terms = payment.terms();
    let number = account_number(payment.id().as_str());
    let mut instructions = Instructions::default();
    match terms.method {
        Method::BankTransfer | Method::Spei => {
            let account_number =
                if terms.method == Method::Spei { clabe(number) } else { format!("{number:012}") };
            instructions.bank_details = Some(BankDetails {
                amount: terms.amount.to_string(),
                purpose: payment.id().to_string(),
                currency: terms.currency,
                bank_name: "Simulated Bank".to_owned(),
                swift_code: None,
                account_holder: "Quipu Simulator".to_owned(),
                account_number,
                bsb: (terms.currency == Currency::AUD).then(|| "999999".to_owned()),
            });
        }
        Method::PayId => {
            instructions.payid_details = Some(PayIdDetails {
                payid: format!("pay-{number:012}@simulator.test"),
                payid_type: "email".to_owned(),
                payid_name: "Quipu Simulator".to_owned(),
                reference: payment.id().to_string(),
            });
        }
        Method::Cash | Method::CashStore => {
            instructions.voucher_details = Some(VoucherDetails {
                reference: format!("{number:012}"),
                barcode: format!("999{number:012}"),
                expires_at,
            });
        }
        Method::Crypto => {
            let address = format!("simulated{number:012}");
            instructions.crypto_details = Some(CryptoDetails {
                asset: terms.currency.to_string(),
                network: "simulated".to_owned(),
                uri: format!("simulated:{address}?amount={}", decimal(terms.amount, terms.currency)),
                address,
            });
        }
        Method::Card | Method::RedirectPay => {
            instructions.redirect_url = Some(format!("{public_url}{}", PageLinks::scheme_path(payment.id())));
        }
    }
    instructions
}

/// An amount as wallets read it, with a decimal point: `1234.56`.
fn decimal(amount: Amount, currency: Currency) -> String {
    let decimals = currency.decimals();
    let mut text = format!("{:0>width$}", amount.get(), width = decimals + 1);
    if decimals > 0 {
        text.insert(text.len() - decimals, '.');
    }
    text
}

/// A number of up to 12 digits derived from the payment's identifier (FNV-1a), so that two payments seldom
/// share one. It proves nothing and need not be secret.
fn account_number(payment_id: &str) -> u64 {
    let hash = payment_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % 1_000_000_000_000
}
