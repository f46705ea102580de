//! Transfers of a bank: to whom and with what text a withdrawal is paid, and from which account.

use quipu_kernel::{Amount, PaymentId};
use quipu_merchants::Route;

use crate::{
    bank::{entry::names_a_payment, not_provided::NOT_PROVIDED},
    details::{
        destination::WalletScheme,
        payout::{PayIdType, Payout},
    },
    payment::Payment,
};

/// An account and its bank, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BankAccount {
    /// IBAN, CLABE, CBU or the like; empty if only a proxy is known.
    pub number: String,
    /// Another name for the destination.
    pub proxy: Option<Proxy>,
    /// The type of the account in the words of its bank.
    pub account_type: Option<String>,
    /// The bank's BIC, if it is known, or another name of the bank.
    pub swift: Option<String>,
    /// The bank's code in its own country: a BSB, a bank code.
    pub clearing_code: Option<String>,
}

/// Another name for an account than its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// What kind of name it is, without which it may be somebody else's.
    pub kind: ProxyKind,
    /// The name.
    pub name: String,
}

/// The kind of another name for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyKind {
    /// A PayID of this type.
    PayId(PayIdType),
    /// A wallet that is found by this kind of name.
    Wallet(WalletScheme),
}

/// The account that pays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Debtor {
    /// The name of the account's holder.
    pub name: String,
    /// The account and its bank.
    pub account: BankAccount,
}

impl Debtor {
    /// The account that the `instructions` of a route name by `account_holder` and `account_number`; `None` if
    /// one of them is missing.
    pub fn of(route: &Route) -> Option<Self> {
        let text = |name: &str| route.instructions.get(name)?.as_str().map(str::to_owned);
        let (name, number) = (text("account_holder")?, text("account_number")?);
        let (swift, clearing_code) = (text("swift_code"), text("bsb"));
        Some(Self { name, account: BankAccount { number, swift, clearing_code, ..BankAccount::default() } })
    }
}

/// A transfer to one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The identifier that travels with the money to the recipient and back.
    pub end_to_end_id: String,
    /// Amount in minor units.
    pub amount: Amount,
    /// The name of the recipient.
    pub recipient: String,
    /// The recipient's postal address, if it is known.
    pub address: Option<String>,
    /// The recipient's tax identifier, if it is known.
    pub tax_id: Option<String>,
    /// The account that is paid.
    pub account: BankAccount,
    /// The text for the recipient.
    pub remittance: Option<String>,
}

impl Transfer {
    /// The transfer that pays a withdrawal.
    pub fn of(payment: &Payment) -> Self {
        let terms = payment.terms();
        let Payout {
            recipient_name,
            bank_account,
            bank_code,
            account_type,
            beneficiary_tax_id,
            payid,
            payid_type,
            bsb,
            partner_destination,
        } = payment.state().payout.clone().unwrap_or_default();
        let destination = partner_destination.as_ref();
        let bank = destination.and_then(|destination| destination.bank());
        let (account, recipient, address, reference) = if let Some(bank) = bank {
            (
                BankAccount {
                    number: bank.iban.clone(),
                    swift: bank.swift.clone(),
                    ..BankAccount::default()
                },
                Some(bank.beneficiary_name.clone()),
                bank.address.clone(),
                bank.reference.clone(),
            )
        } else {
            let payid =
                payid.zip(payid_type).map(|(name, kind)| Proxy { kind: ProxyKind::PayId(kind), name });
            let wallet = destination.and_then(|destination| destination.wallet());
            let wallet =
                wallet.map(|(scheme, name)| Proxy { kind: ProxyKind::Wallet(scheme), name: name.to_owned() });
            let proxy = if bank_account.is_some() { None } else { payid.or(wallet) };
            let (number, clearing_code) = (bank_account.unwrap_or_default(), bsb.or(bank_code));
            let account = BankAccount { number, proxy, swift: None, clearing_code, account_type };
            let recipient = recipient_name.or_else(|| terms.customer.name.clone());
            (account, recipient, None, None)
        };
        Self {
            end_to_end_id: terms.id.as_str().to_owned(),
            amount: terms.amount,
            recipient: recipient.unwrap_or_else(|| NOT_PROVIDED.to_owned()),
            address,
            tax_id: beneficiary_tax_id,
            account,
            remittance: Some(remittance(
                &terms.id,
                reference.unwrap_or_else(|| terms.merchant_reference.clone()),
            )),
        }
    }
}

/// The text for the recipient. One that names a payment, which may be another one, gives way to the payment's own
/// identifier: the bank may report the text alone when it has paid.
fn remittance(id: &PaymentId, text: String) -> String {
    if names_a_payment(&text) { id.as_str().to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_the_recipient_names_no_other_payment() {
        let id: PaymentId = "pay_1763683200000_abcdefghjkmn".parse().expect("an identifier");
        let written = |text: &str| remittance(&id, text.to_owned());
        assert_eq!(written("order-1"), "order-1");
        assert_eq!(written("again pay_1763683200001_abcdefghjkmn"), id.as_str());
        assert_eq!(written("PAY 1763683200001 ABCDEFGHJKMN"), id.as_str());
    }
}
