//! Movements on a bank's statement, read as events of payments on the `manual` rail.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use quipu_kernel::{Amount, Currency, PaymentId};
use quipu_merchants::Direction;

use crate::{
    bank::not_provided::says_nothing,
    details::kind::PaymentType,
    rail::event::{RailEvent, RailEventKind, kept_reference},
};

/// Which way money moved on an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It came in.
    Credit,
    /// It went out.
    Debit,
}

/// A booked movement on an account, as the bank reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankEntry {
    /// The number of the statement in the file, from 1.
    pub statement: usize,
    /// The number of the account.
    pub account: String,
    /// The bank's own reference. It is the same in every file that contains this movement, but other
    /// movements may have it too: the transfers of one batch, a fee, a return. If the bank gives none, a text
    /// made from the statement's identifier, the position in it, the day and the text takes its place.
    pub reference: String,
    /// The day of booking, as digits; `None` where a text takes the place of the bank's reference.
    pub day: Option<String>,
    /// Which way the money moved.
    pub side: Side,
    /// Whether it undoes an earlier movement: a reversal, or a transfer that came back.
    pub is_return: bool,
    /// Amount in minor units, never negative.
    pub amount: Amount,
    /// Currency of the amount.
    pub currency: Currency,
    /// The identifier that the payer gave the transfer. Details that are booked as one movement have none
    /// together.
    pub end_to_end_id: Option<String>,
    /// All texts that may name a payment: end-to-end identifier, instruction identifier, remittance texts.
    pub texts: Vec<String>,
    /// Why the money came back: the reason's code and its explanation.
    pub return_reason: Option<String>,
}

/// Gives the movements of a file their names, which are the same in every file that contains them.
///
/// The bank's reference alone is no name: banks give the same one to all transfers of a batch, to a transfer
/// and its fee, and to a transfer and its return, and some begin anew each day. So day, direction, amount and named
/// payment are part of a movement's name, or else the identifier that its payer gave it, and movements of one statement
/// that agree in all of these are numbered in their order.
#[derive(Debug, Default)]
pub struct MovementNames {
    statement: usize,
    /// How often each name was given in this statement, by the hash of the name, since statements may be
    /// long.
    given: HashMap<u64, u32>,
}

impl MovementNames {
    /// The name of the next movement of the file, at most 255 characters.
    pub fn name(&mut self, entry: &BankEntry) -> String {
        if entry.statement != self.statement {
            self.statement = entry.statement;
            self.given.clear();
        }
        let BankEntry { account, reference, amount, currency, .. } = entry;
        let sign = match entry.side {
            Side::Credit => '+',
            Side::Debit => '-',
        };
        let day = entry.day.iter().flat_map(|day| ["/", day]).collect::<String>();
        let about = entry.names().map_or_else(|| entry.payers_name(), |payment| payment.as_str().to_owned());
        let name = format!("{account}/{reference}{day}/{sign}{amount}{currency}/{about}");
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let given = self.given.entry(hasher.finish()).or_default();
        let name = format!("{name}/{given}");
        *given += 1;
        name
    }
}

/// The most characters of a payer's identifier that count, as many as an identifier of ours has.
const MOST_IN_PAYERS_NAME: usize = 30;
/// The most characters kept of a text that names an unknown payment.
const MOST_IN_REFERENCE: usize = 255;

impl BankEntry {
    /// The payment that the end-to-end identifier names, or else the texts, if they name exactly one by its
    /// `purpose`, which is its identifier. Texts of people may speak of other payments. Banks change case and
    /// drop punctuation, so neither counts.
    pub fn names(&self) -> Option<PaymentId> {
        let end_to_end = self.end_to_end_id.iter().flat_map(|text| named_in(text)).collect();
        only(end_to_end).or_else(|| self.named_by_texts())
    }

    /// The letters and digits of the identifier that the payer gave the transfer, from its end, where those of one payer
    /// differ. Empty if there is none, and where a text takes the place of the bank's reference.
    fn payers_name(&self) -> String {
        let given = self.end_to_end_id.as_deref().filter(|text| self.day.is_some() && !says_nothing(text));
        let plain = given.unwrap_or_default().bytes().filter(u8::is_ascii_alphanumeric);
        let plain: Vec<_> = plain.map(|byte| byte.to_ascii_lowercase()).collect();
        String::from_utf8_lossy(&plain[plain.len().saturating_sub(MOST_IN_PAYERS_NAME)..]).into_owned()
    }

    /// The only payment that the texts name. If no text contains a whole identifier, one that is broken in two
    /// is accepted.
    fn named_by_texts(&self) -> Option<PaymentId> {
        let mut found: BTreeSet<PaymentId> = self.texts.iter().flat_map(|text| named_in(text)).collect();
        if found.is_empty() {
            found.extend(named_in(&self.texts.concat()));
        }
        only(found)
    }

    /// What a person may know this movement by: its side and all its texts.
    fn described(&self) -> String {
        let side = match self.side {
            Side::Credit => "credit",
            Side::Debit => "debit",
        };
        let texts = self.texts.iter().map(String::as_str).filter(|text| !says_nothing(text));
        let texts = texts.collect::<Vec<_>>().join(" / ");
        format!("{side}: {texts}").chars().take(MOST_IN_REFERENCE).collect()
    }

    /// This movement as an event of the named payment. `name` is what [`MovementNames`] gave it; without a
    /// payment, `named` is `None`.
    pub fn event(&self, name: String, named: Option<(&PaymentId, PaymentType)>) -> RailEvent {
        let kind = named.and_then(|(_, kind)| match (kind.direction(), self.side, self.is_return) {
            (Direction::Deposit, Side::Credit, false) | (Direction::Withdrawal, Side::Debit, false) => {
                Some(RailEventKind::Completed)
            }
            // Money that comes in under the name of a payout came back, whether the bank says so or not. A
            // deposit that is taken back fits no move; the payment's own rules park it.
            (Direction::Withdrawal, Side::Credit, _) | (Direction::Deposit, ..) => {
                Some(RailEventKind::Returned)
            }
            (Direction::Withdrawal, Side::Debit, true) => None,
        });
        let reference = if let (Some((id, _)), Some(_)) = (named, kind) {
            id.as_str().to_owned()
        } else {
            self.described()
        };
        RailEvent {
            id: name,
            kind: kind.unwrap_or(RailEventKind::Completed),
            rail_reference: reference,
            amount: Some(self.amount),
            currency: Some(self.currency),
            occurred_at: None,
            code: None,
            message: self.return_reason.clone(),
            provider_reference: kept_reference(&self.reference),
        }
    }
}

/// Whether a text contains the identifier of a payment, however a bank would change it.
pub(crate) fn names_a_payment(text: &str) -> bool {
    !named_in(text).is_empty()
}

fn only(found: BTreeSet<PaymentId>) -> Option<PaymentId> {
    if found.len() == 1 { found.into_iter().next() } else { None }
}

/// The identifiers of payments in a text: `pay`, 13 digits and 12 letters or digits, whatever stands between
/// these characters.
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
    use super::{
        Side::{Credit, Debit},
        *,
    };

    const ID: &str = "pay_1763683200000_abcdefghjkmn";

    fn entry(side: Side, is_return: bool, texts: &[&str]) -> BankEntry {
        BankEntry {
            statement: 1,
            account: "account".to_owned(),
            reference: "R1".to_owned(),
            day: Some("20261121".to_owned()),
            side,
            is_return,
            amount: Amount::new(5).expect("in range"),
            currency: Currency::MXN,
            end_to_end_id: None,
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            return_reason: None,
        }
    }

    /// The same entry with this end-to-end identifier, which is one of its texts too.
    fn sent_as(end_to_end_id: &str, texts: &[&str]) -> BankEntry {
        let texts: Vec<_> = [&[end_to_end_id], texts].concat();
        BankEntry { end_to_end_id: Some(end_to_end_id.to_owned()), ..entry(Debit, false, &texts) }
    }

    #[test]
    fn a_payment_is_found_however_its_name_was_mangled() {
        let named = |texts: &[&str]| entry(Credit, false, texts).names().map(|id| id.as_str().to_owned());
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
        assert_eq!(named(&["NOTPROVIDED", &ID[..20], &ID[20..]]).as_deref(), Some(ID));
        assert_eq!(
            named(&[&ID[..29], "abc", ID]).as_deref(),
            Some(ID),
            "a whole one counts before a broken one"
        );
        let two = format!("{ID} pay_1763683200001_abcdefghjkmn");
        for texts in [&["rent"][..], &[two.as_str()], &["pay_176368320000_abcdefghjkmn"], &[]] {
            assert_eq!(named(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn the_end_to_end_identifier_has_the_first_word() {
        let other = ID.replacen('0', "1", 1);
        let again = format!("again {other}");
        let named = |entry: &BankEntry| entry.names().map(|id| id.as_str().to_owned());
        let both = sent_as(ID, &[&again]);
        assert_eq!(named(&both).as_deref(), Some(ID));
        assert_eq!(named(&sent_as(&ID.to_uppercase().replace('_', ""), &[&again])).as_deref(), Some(ID));
        for none in ["NOTPROVIDED", &ID[..20]] {
            assert_eq!(named(&sent_as(none, &[&again])).as_deref(), Some(other.as_str()), "{none}");
        }
        assert_eq!(named(&sent_as(&format!("{ID} {other}"), &["rent"])), None);
        let name = |entry: &BankEntry| MovementNames::default().name(entry);
        let crossed = sent_as(&other, &[&format!("again {ID}")]);
        assert_ne!(name(&both), name(&crossed), "they are money of two payments");
    }

    #[test]
    fn a_text_that_a_bank_could_make_an_identifier_of_names_a_payment() {
        for text in [ID, "again PAY 1763683200000 ABCDEFGHJKMN", "pay1763683200000abcdefghjkmn."] {
            assert!(names_a_payment(text), "{text}");
        }
        for text in ["", "order-1", "pay_176368320000_abcdefghjkmn", &ID[..20]] {
            assert!(!names_a_payment(text), "{text}");
        }
    }

    #[test]
    fn what_a_movement_means_follows_from_its_direction() {
        use RailEventKind::{Completed, Returned};
        let id: PaymentId = ID.parse().expect("an identifier");
        for (kind, side, is_return, expected) in [
            (PaymentType::Deposit, Credit, false, Some(Completed)),
            (PaymentType::Deposit, Debit, false, Some(Returned)),
            (PaymentType::Deposit, Credit, true, Some(Returned)),
            (PaymentType::Withdrawal, Debit, false, Some(Completed)),
            (PaymentType::Withdrawal, Credit, true, Some(Returned)),
            (PaymentType::Withdrawal, Credit, false, Some(Returned)),
            (PaymentType::Withdrawal, Debit, true, None),
        ] {
            let event = entry(side, is_return, &[ID]).event("R1".to_owned(), Some((&id, kind)));
            let about_it = event.rail_reference == ID;
            assert_eq!(about_it.then_some(event.kind), expected, "{kind:?} {side:?} {is_return}");
        }
    }

    #[test]
    fn a_person_is_shown_all_texts_of_what_names_no_payment() {
        let shown = |side, texts: &[&str]| {
            let event = entry(side, false, texts).event("the name".to_owned(), None);
            assert_eq!(event.id, "the name");
            event.rail_reference
        };
        assert_eq!(
            shown(Credit, &["NOTPROVIDED", "rent", "NonRef", "Ana Pérez", "none"]),
            "credit: rent / Ana Pérez"
        );
        assert_eq!(shown(Debit, &["nonetheless"]), "debit: nonetheless");
        assert_eq!(shown(Credit, &["NOTPROVIDED"]), "credit: ");
        let long = "é".repeat(200);
        assert_eq!(shown(Credit, &[&long, &long]).chars().count(), MOST_IN_REFERENCE);
    }

    #[test]
    fn movements_that_differ_have_names_that_differ_whatever_reference_the_bank_gave_them() {
        let other = ID.replace('a', "b");
        let one = entry(Credit, false, &[ID]);
        let all = [
            one.clone(),
            entry(Credit, false, &[&other]),
            entry(Credit, false, &["rent"]),
            entry(Debit, false, &[ID]),
            BankEntry { amount: Amount::new(6).expect("in range"), ..one.clone() },
            BankEntry { currency: Currency::AUD, ..one.clone() },
            BankEntry { reference: "R2".to_owned(), ..one.clone() },
            BankEntry { account: "another".to_owned(), ..one.clone() },
            one.clone(),
            entry(Credit, false, &["salary"]),
            BankEntry { day: Some("20261122".to_owned()), ..one.clone() },
            BankEntry { end_to_end_id: Some("E2E-1".to_owned()), ..entry(Credit, false, &["rent"]) },
            BankEntry { end_to_end_id: Some("E2E-2".to_owned()), ..entry(Credit, false, &["rent"]) },
        ];
        let mut names = MovementNames::default();
        let given: Vec<_> = all.iter().map(|entry| names.name(entry)).collect();
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), all.len(), "{given:?}");
        assert_eq!(given[0], format!("account/R1/20261121/+5MXN/{ID}/0"));

        let mut names = MovementNames::default();
        let again: Vec<_> = all.iter().rev().map(|entry| names.name(entry)).collect();
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(sorted(again), sorted(given.clone()), "another file tells of them in another order");
        let next = BankEntry { statement: 2, ..one.clone() };
        assert_eq!(names.name(&next), given[0], "the next statement of the file tells of the first again");
        let told_otherwise = BankEntry { end_to_end_id: Some(ID.to_owned()), ..one };
        let name = MovementNames::default().name(&told_otherwise);
        assert_eq!(name, given[0], "a notification may name the payment elsewhere than a statement does");
    }

    #[test]
    fn a_name_fits_whatever_the_bank_writes() {
        let amount = Amount::new(quipu_kernel::MAX_MINOR).expect("in range");
        let long = BankEntry { account: "a".repeat(64), amount, ..entry(Credit, false, &[ID]) };
        let stands_in = BankEntry { reference: "r".repeat(127), day: None, ..long.clone() };
        let anonymous = BankEntry {
            reference: "r".repeat(64),
            end_to_end_id: Some("e".repeat(500)),
            texts: Vec::new(),
            ..long
        };
        for entry in [stands_in, anonymous] {
            assert!(MovementNames::default().name(&entry).chars().count() <= 255);
        }
    }
}
