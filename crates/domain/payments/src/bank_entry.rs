//! What a movement on a bank's statement tells of a payment of the `manual` rail.

use std::collections::BTreeSet;

use quipu_kernel::{Amount, Currency, PaymentId};
use quipu_merchants::Direction;

use crate::{
    kind::PaymentType,
    rail_event::{RailEvent, RailEventKind},
};

/// A booked movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankEntry {
    /// The bank's name for it, the same in every file that tells of it.
    pub id: String,
    /// Whether money came in.
    pub is_credit: bool,
    /// Whether it undoes an earlier movement.
    pub is_return: bool,
    /// How much.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// Everything that may name a payment.
    pub texts: Vec<String>,
    /// Why it came back.
    pub return_reason: Option<String>,
}

/// Characters of a text that stands for a payment which nobody knows.
const MOST_IN_REFERENCE: usize = 255;

impl BankEntry {
    /// The payment that the texts name, if they name exactly one: its `purpose`, which is its identifier. Banks change cases
    /// and drop what is no letter or digit, so neither counts.
    pub fn names(&self) -> Option<PaymentId> {
        let found: BTreeSet<PaymentId> = self.texts.iter().flat_map(|text| named_in(text)).collect();
        match found.len() {
            1 => found.into_iter().next(),
            _ => None,
        }
    }

    /// The event that this movement is to a payment of this kind; `None` stands for no payment.
    pub fn event(&self, named: Option<(&PaymentId, PaymentType)>) -> RailEvent {
        let kind = named.and_then(|(_, kind)| match (kind.direction(), self.is_credit, self.is_return) {
            (Direction::Deposit, true, false) | (Direction::Withdrawal, false, false) => {
                Some(RailEventKind::Completed)
            }
            // Money that comes in under the name of a payout came back, whether the bank says so or not. A deposit that is
            // taken back fits no move; the payment's own rules park it.
            (Direction::Withdrawal, true, _) | (Direction::Deposit, ..) => Some(RailEventKind::Returned),
            (Direction::Withdrawal, false, true) => None,
        });
        let reference = if let (Some((id, _)), Some(_)) = (named, kind) {
            id.as_str().to_owned()
        } else {
            let direction = if self.is_credit { "credit" } else { "debit" };
            let text = self.texts.first().map_or("", String::as_str);
            format!("{direction}: {text}").chars().take(MOST_IN_REFERENCE).collect()
        };
        RailEvent {
            id: self.id.clone(),
            kind: kind.unwrap_or(RailEventKind::Completed),
            rail_reference: reference,
            amount: Some(self.amount),
            currency: Some(self.currency),
            occurred_at: None,
            code: None,
            message: self.return_reason.clone(),
        }
    }
}

/// The identifiers of payments in a text: `pay`, 13 digits and 12 letters or digits, whatever stands between them.
fn named_in(text: &str) -> Vec<PaymentId> {
    let plain: Vec<u8> =
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect();
    let mut found = Vec::new();
    for window in plain.windows(28) {
        let (prefix, rest) = window.split_at(3);
        let (digits, suffix) = rest.split_at(13);
        if prefix == b"pay" && digits.iter().all(u8::is_ascii_digit) {
            let text = format!("pay_{}_{}", String::from_utf8_lossy(digits), String::from_utf8_lossy(suffix));
            found.extend(text.parse::<PaymentId>().ok());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "pay_1763683200000_abcdefghjkmn";

    fn entry(is_credit: bool, is_return: bool, texts: &[&str]) -> BankEntry {
        BankEntry {
            id: "account/R1/0".to_owned(),
            is_credit,
            is_return,
            amount: Amount::new(5).expect("in range"),
            currency: Currency::MXN,
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            return_reason: None,
        }
    }

    #[test]
    fn a_payment_is_found_however_its_name_was_mangled() {
        let named = |texts: &[&str]| entry(true, false, texts).names().map(|id| id.as_str().to_owned());
        for text in [
            ID,
            "PAY 1763683200000 ABCDEFGHJKMN",
            "thanks! pay-1763683200000-abcdefghjkmn, Ana",
            "pay1763683200000abcdefghjkmn",
        ] {
            assert_eq!(named(&[text]).as_deref(), Some(ID), "{text}");
        }
        assert_eq!(named(&["NOTPROVIDED", ID]).as_deref(), Some(ID));
        assert_eq!(named(&[ID, ID]).as_deref(), Some(ID));
        let two = format!("{ID} pay_1763683200001_abcdefghjkmn");
        for texts in [&["rent"][..], &[two.as_str()], &["pay_176368320000_abcdefghjkmn"], &[]] {
            assert_eq!(named(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn what_a_movement_means_follows_from_its_direction() {
        use RailEventKind::{Completed, Returned};
        let id: PaymentId = ID.parse().expect("an identifier");
        for (kind, is_credit, is_return, expected) in [
            (PaymentType::Deposit, true, false, Some(Completed)),
            (PaymentType::Deposit, false, false, Some(Returned)),
            (PaymentType::Deposit, true, true, Some(Returned)),
            (PaymentType::Withdrawal, false, false, Some(Completed)),
            (PaymentType::Withdrawal, true, true, Some(Returned)),
            (PaymentType::Withdrawal, true, false, Some(Returned)),
            (PaymentType::Withdrawal, false, true, None),
        ] {
            let event = entry(is_credit, is_return, &[ID]).event(Some((&id, kind)));
            let about_it = event.rail_reference == ID;
            assert_eq!(about_it.then_some(event.kind), expected, "{kind:?} {is_credit} {is_return}");
        }
    }
}
