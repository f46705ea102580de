//! Amounts as bank files write them: decimal numbers in the currency's main unit.

use quipu_kernel::Currency;

/// `1050` minor units of MXN as `10.50`.
pub(crate) fn decimal(minor: i64, currency: Currency) -> String {
    match currency.decimals() {
        0 => minor.to_string(),
        digits => {
            let text = format!("{minor:0>width$}", width = digits + 1);
            let (whole, fraction) = text.split_at(text.len() - digits);
            format!("{whole}.{fraction}")
        }
    }
}

/// `10.5` MXN as 1050 minor units. Digits beyond the currency's own must be zeros.
pub(crate) fn minor(text: &str, currency: Currency) -> Option<i64> {
    let digits = currency.decimals();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let only_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !only_digits(whole) || !only_digits(fraction) {
        return None;
    }
    let (kept, beyond) = fraction.split_at(digits.min(fraction.len()));
    if beyond.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let padding = "0".repeat(digits - kept.len());
    let text = format!("{whole}{kept}{padding}");
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_amount_is_written_with_its_currencys_digits() {
        let jpy = "JPY".parse().expect("a code");
        let kwd = "KWD".parse().expect("a code");
        assert_eq!([decimal(5, Currency::MXN), decimal(123_456, Currency::MXN)], ["0.05", "1234.56"]);
        assert_eq!([decimal(5, jpy), decimal(5, kwd)], ["5", "0.005"]);
    }

    #[test]
    fn only_whole_minor_units_are_read() {
        let read = |text| minor(text, Currency::MXN);
        assert_eq!(
            ["10.5", "10.50", "10.5000", "10", "010.50", "0", "0.00", ".5"].map(read),
            [Some(1050), Some(1050), Some(1050), Some(1000), Some(1050), Some(0), Some(0), Some(50)]
        );
        for text in ["", ".", "10.505", "-1", "+1", "1e3", "1,50", "99999999999999999999", " 1"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(units in 1_i64..=quipu_kernel::MAX_MINOR, code in prop::sample::select(vec!["MXN", "JPY", "KWD", "CLF"])) {
            let currency = code.parse().expect("a code");
            prop_assert_eq!(minor(&decimal(units, currency), currency), Some(units));
        }
    }
}
