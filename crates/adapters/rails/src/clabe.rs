//! CLABE, the account number of Mexico's interbank transfers.

/// Three digits of bank and three of place that the Bank of Mexico assigned to nobody, so that a simulated account
/// cannot be mistaken for a real one.
const NOBODY: &str = "999999";

/// An 18-digit CLABE with a right check digit, made from the last 11 decimal digits of `account`.
pub(crate) fn clabe(account: u64) -> String {
    let digits = format!("{NOBODY}{:011}", account % 100_000_000_000);
    let check = check_digit(&digits);
    format!("{digits}{check}")
}

/// The check digit over the first 17 digits: weights 3, 7, 1 in turn, each product and the sum modulo 10.
pub(crate) fn check_digit(digits: &str) -> u32 {
    let weighted = |(digit, weight): (char, u32)| digit.to_digit(10).unwrap_or(0) * weight % 10;
    let sum: u32 = digits.chars().zip([3, 7, 1].into_iter().cycle()).take(17).map(weighted).sum();
    (10 - sum % 10) % 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_digit_is_that_of_published_examples() {
        for known in ["032180000118359719", "002010077777777771", "646180157000000004"] {
            assert_eq!(
                check_digit(known),
                known.chars().nth(17).and_then(|c| c.to_digit(10)).expect("a digit")
            );
        }
    }

    #[test]
    fn a_clabe_has_eighteen_digits_whatever_the_account() {
        for account in [0, 7, 99_999_999_999, u64::MAX] {
            let text = clabe(account);
            assert!(text.len() == 18 && text.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
        }
    }
}
