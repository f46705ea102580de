//! What a payer shows or tells at a counter.

use quipu_payments::VoucherDetails;

use crate::{barcode::code_128, code::Code, words::Words};

/// A voucher as its page shows it. Its barcode may name the payment or only its route, so that the number for
/// the counter is asked for beside it, unless both are the same.
pub(crate) struct Voucher<'a> {
    details: &'a VoucherDetails,
    /// The outline and width of the bars, if the barcode has any that a screen can show.
    bars: Option<(String, usize)>,
}

impl<'a> Voucher<'a> {
    /// The voucher with these details.
    pub(crate) fn new(details: &'a VoucherDetails) -> Self {
        Self { details, bars: code_128(&details.barcode) }
    }

    /// The keys of the steps that say what to show or tell.
    pub(crate) fn steps(&self) -> Vec<&'static str> {
        let bars = self.bars.is_some().then_some("voucher-2");
        let barcode = self.tells_its_barcode().then_some("voucher-barcode");
        let names_more = bars.is_none() || self.details.reference != self.details.barcode;
        let reference = (names_more && !self.details.reference.is_empty()).then_some("voucher-counter");
        [bars, barcode, reference].into_iter().flatten().collect()
    }

    /// The numbers to be told, in the order of the steps, each behind the key of its label.
    pub(crate) fn numbers(&self) -> Vec<(&'static str, &'a str)> {
        let VoucherDetails { barcode, reference, .. } = self.details;
        let barcode = self.tells_its_barcode().then_some(("field-barcode", barcode.as_str()));
        let reference = (!reference.is_empty()).then_some(("field-voucher", reference.as_str()));
        barcode.into_iter().chain(reference).collect()
    }

    /// The barcode to be scanned from the screen.
    pub(crate) fn code(self, words: Words) -> Option<Code> {
        let number = &self.details.barcode;
        self.bars.map(|(outline, width)| Code {
            class: "bars",
            view: format!("-10 0 {} 1", width + 20),
            outline,
            stretch: true,
            label: words.say_with("barcode-of", &[("number", number)]),
            text: Some(number.clone()),
        })
    }

    /// Whether the barcode is told as a number of its own, since it cannot be shown.
    fn tells_its_barcode(&self) -> bool {
        let VoucherDetails { barcode, reference, .. } = self.details;
        self.bars.is_none() && !barcode.is_empty() && barcode != reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps, and the labels of the numbers to be told.
    fn shown(barcode: &str, reference: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let details =
            VoucherDetails { barcode: barcode.to_owned(), reference: reference.to_owned(), expires_at: None };
        let voucher = Voucher::new(&details);
        (voucher.steps(), voucher.numbers().into_iter().map(|(label, _)| label).collect())
    }

    #[test]
    fn steps_speak_of_what_the_page_shows_and_ask_for_the_number_that_names_the_payment() {
        let (long, counter) = ("A".repeat(41), "pay_1763683200000_abcdefghjkmn");
        let table: [(&str, &str, &[&str], &[&str]); 8] = [
            ("0123456789", counter, &["voucher-2", "voucher-counter"], &["field-voucher"]),
            ("0123456789", "0123456789", &["voucher-2"], &["field-voucher"]),
            ("0123456789", "", &["voucher-2"], &[]),
            (&long, counter, &["voucher-barcode", "voucher-counter"], &["field-barcode", "field-voucher"]),
            ("ñ-77", counter, &["voucher-barcode", "voucher-counter"], &["field-barcode", "field-voucher"]),
            (&long, "", &["voucher-barcode"], &["field-barcode"]),
            (&long, &long, &["voucher-counter"], &["field-voucher"]),
            ("", counter, &["voucher-counter"], &["field-voucher"]),
        ];
        for (barcode, reference, steps, labels) in table {
            assert_eq!(
                shown(barcode, reference),
                (steps.to_vec(), labels.to_vec()),
                "{barcode:?} {reference:?}"
            );
        }
    }
}
