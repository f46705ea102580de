//! CLABE, the account number of Mexico's interbank transfers.

use quipu_payments::clabe_check_digit;

/// Three digits of bank and three of place that the Bank of Mexico has not assigned, so that a simulated
/// account cannot be mistaken for a real one.
const NOBODY: &str = "999999";

/// An 18-digit CLABE with a valid check digit, made from the last 11 decimal digits of `account`.
pub(crate) fn clabe(account: u64) -> String {
    let digits = format!("{NOBODY}{:011}", account % 100_000_000_000);
    let check = clabe_check_digit(&digits).unwrap_or_default();
    format!("{digits}{check}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clabe_has_eighteen_digits_whatever_the_account() {
        for account in [0, 7, 99_999_999_999, u64::MAX] {
            let text = clabe(account);
            assert!(text.len() == 18 && text.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
        }
    }
}
