//! Amounts as the people who use a currency write them.

use quipu_kernel::{Currency, Minor};

/// An amount in the forms that a page needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// With the currency's sign and separators: `$ 1.000,00`.
    pub(crate) text: String,
    /// The same in parts that end with a thousands separator, where a line that is too narrow for all of it may end.
    pub(crate) parts: Vec<String>,
    /// Digits and the currency's decimal sign, to be pasted into a bank's form: `1000,00`.
    pub(crate) plain: String,
    /// The currency's code.
    pub(crate) code: String,
}

impl Shown {
    /// The amount with its code, for a sentence: `$1,000.00 MXN`.
    pub(crate) fn with_code(&self) -> String {
        format!("{} {}", self.text, self.code)
    }

    /// Whether it does not fit on the line of a small screen in the size of a heading.
    pub(crate) fn is_long(&self) -> bool {
        self.text.chars().count() > 12
    }
}

/// How a currency is written.
struct Form {
    before: &'static str,
    after: &'static str,
    thousands: &'static str,
    point: &'static str,
}

/// Minor units in the currency's own format. The format follows the currency and not the reader's language: a payer in
/// Buenos Aires reads pesos as the bank there writes them, whatever the browser speaks.
pub(crate) fn shown(minor: Minor, currency: Currency) -> Shown {
    let form = form(currency);
    let digits = |thousands| digits(minor, currency, thousands, form.point);
    let text = format!("{}{}{}", form.before, digits(form.thousands), form.after);
    Shown { parts: parts(&text, form.thousands), text, plain: digits(""), code: currency.as_str().to_owned() }
}

fn form(currency: Currency) -> Form {
    let (before, after, thousands, point) = match currency {
        Currency::ARS => ("$\u{a0}", "", ".", ","),
        Currency::UYU => ("$U\u{a0}", "", ".", ","),
        Currency::TRY => ("₺", "", ".", ","),
        Currency::GEL => ("", "\u{a0}₾", "\u{a0}", ","),
        Currency::LKR => ("Rs\u{a0}", "", ",", "."),
        Currency::MXN | Currency::AUD => ("$", "", ",", "."),
        _ => ("", "", ",", "."),
    };
    Form { before, after, thousands, point }
}

/// The parts of an amount, each with the thousands separator at its end. Space before a sign separates no thousands.
fn parts(text: &str, separator: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split_inclusive(separator) {
        match parts.last_mut() {
            Some(last) if !part.starts_with(|first: char| first.is_ascii_digit()) => last.push_str(part),
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

fn digits(minor: Minor, currency: Currency, thousands: &str, point: &str) -> String {
    let decimals = currency.decimals();
    let digits = format!("{:0>width$}", minor.get().unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let mut text = String::with_capacity(digits.len() + 8);
    if minor.is_negative() {
        text.push('−');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push_str(thousands);
        }
        text.push(digit);
    }
    if decimals > 0 {
        text.push_str(point);
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(units: i64, currency: Currency) -> Shown {
        shown(Minor::new(units).expect("in range"), currency)
    }

    #[test]
    fn each_currency_is_written_its_own_way() {
        let table = [
            (Currency::MXN, "$1,234,567.89"),
            (Currency::AUD, "$1,234,567.89"),
            (Currency::ARS, "$\u{a0}1.234.567,89"),
            (Currency::UYU, "$U\u{a0}1.234.567,89"),
            (Currency::TRY, "₺1.234.567,89"),
            (Currency::LKR, "Rs\u{a0}1,234,567.89"),
            (Currency::GEL, "1\u{a0}234\u{a0}567,89\u{a0}₾"),
            ("USD".parse().expect("a code"), "1,234,567.89"),
            ("CLP".parse().expect("a code"), "123,456,789"),
            ("KWD".parse().expect("a code"), "123,456.789"),
            ("OMR".parse().expect("a code"), "123,456.789"),
            ("CLF".parse().expect("a code"), "12,345.6789"),
        ];
        for (currency, expected) in table {
            assert_eq!(shown_of(123_456_789, currency).text, expected);
        }
    }

    #[test]
    fn a_line_ends_only_behind_thousands() {
        let table: [(Currency, &[&str]); 5] = [
            (Currency::MXN, &["$1,", "234,", "567.89"]),
            (Currency::ARS, &["$\u{a0}1.", "234.", "567,89"]),
            (Currency::UYU, &["$U\u{a0}1.", "234.", "567,89"]),
            (Currency::LKR, &["Rs\u{a0}1,", "234,", "567.89"]),
            (Currency::GEL, &["1\u{a0}", "234\u{a0}", "567,89\u{a0}₾"]),
        ];
        for (currency, expected) in table {
            assert_eq!(shown_of(123_456_789, currency).parts, expected, "{currency}");
        }
        assert_eq!(shown_of(1, Currency::GEL).parts, ["0,01\u{a0}₾"]);
    }

    #[test]
    fn small_amounts_keep_their_zeros_and_a_form_gets_digits_and_the_decimal_sign_that_the_page_shows() {
        assert_eq!(shown_of(1, Currency::MXN).text, "$0.01");
        for (currency, expected) in [
            (Currency::ARS, "1000,00"),
            (Currency::UYU, "1000,00"),
            (Currency::TRY, "1000,00"),
            (Currency::GEL, "1000,00"),
            (Currency::LKR, "1000.00"),
            (Currency::MXN, "1000.00"),
        ] {
            assert_eq!(shown_of(100_000, currency).plain, expected, "{currency}");
        }
        assert_eq!(shown_of(100_000, Currency::ARS).with_code(), "$\u{a0}1.000,00 ARS");
        assert_eq!(shown_of(9_007_199_254_740_991, Currency::AUD).plain, "90071992547409.91");
    }
}
