//! Check digits of account numbers, for routes whose `account_check` is `enforce`.

/// The digits of a text that consists of exactly `N` digits; otherwise `None`.
fn digits<const N: usize>(text: &str) -> Option<[u32; N]> {
    let mut digits = [0; N];
    if text.len() != N {
        return None;
    }
    for (digit, c) in digits.iter_mut().zip(text.chars()) {
        *digit = c.to_digit(10)?;
    }
    Some(digits)
}

/// Whether the last digit of `block` is the right check digit: ten minus the last digit of the weighted sum
/// of the others, where `weight` gives the weight of each position.
fn ends_in_check_digit(block: &[u32], weight: impl Fn(usize) -> u32, reduce: impl Fn(u32) -> u32) -> bool {
    let Some((check, rest)) = block.split_last() else { return false };
    check_digit(rest, weight, reduce) == *check
}

fn check_digit(digits: &[u32], weight: impl Fn(usize) -> u32, reduce: impl Fn(u32) -> u32) -> u32 {
    let sum: u32 = digits.iter().enumerate().map(|(at, digit)| reduce(digit * weight(at))).sum();
    (10 - sum % 10) % 10
}

/// The last digit of Mexico's CLABE, which follows from the 17 before it: weights 3, 7, 1, each product
/// modulo 10. `None` if those are not 17 digits.
pub fn clabe_check_digit(first: &str) -> Option<u32> {
    let weights = [3, 7, 1];
    digits::<17>(first).map(|all| check_digit(&all, |at| weights[at % 3], |product| product % 10))
}

/// Mexico's CLABE: 18 digits, the last a check digit.
pub(crate) fn is_clabe(text: &str) -> bool {
    let parts = text.split_at_checked(17);
    parts.is_some_and(|(first, last)| clabe_check_digit(first).is_some_and(|check| last == check.to_string()))
}

/// Argentina's CBU, or a CVU, which has the same form: 22 digits in two blocks, 8 and 14, each with a check
/// digit of its own.
pub(crate) fn is_cbu(text: &str) -> bool {
    let bank = [7, 1, 3, 9, 7, 1, 3];
    let account = [3, 9, 7, 1];
    digits::<22>(text).is_some_and(|all| {
        let (first, second) = all.split_at(8);
        ends_in_check_digit(first, |at| bank[at], |product| product)
            && ends_in_check_digit(second, |at| account[at % 4], |product| product)
    })
}

/// An alias of a CBU or CVU: 6 to 20 letters, digits, dots and hyphens, not digits alone.
pub(crate) fn is_cbu_alias(text: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    (6..=20).contains(&text.len())
        && text.bytes().all(admitted)
        && !text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An Australian business number: 11 digits whose weighted sum, the first digit less one, is divisible by 89.
pub(crate) fn is_abn(text: &str) -> bool {
    let weights = [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19];
    digits::<11>(text).is_some_and(|all| {
        let sum: u32 = all.iter().zip(weights).map(|(digit, weight)| digit * weight).sum();
        // One less in the first digit is ten less in the sum.
        all[0] > 0 && (sum - 10).is_multiple_of(89)
    })
}

/// Whether an IBAN of the right form also has the right check digits (ISO 7064, modulo 97).
pub(crate) fn has_iban_check_digits(iban: &str) -> bool {
    if !iban.is_ascii() || iban.len() < 5 {
        return false;
    }
    let (head, tail) = iban.split_at(4);
    let mut remainder = 0;
    for c in tail.chars().chain(head.chars()) {
        let Some(value) = c.to_digit(36).filter(|_| !c.is_ascii_lowercase()) else { return false };
        remainder = (remainder * if value < 10 { 10 } else { 100 } + value) % 97;
    }
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that no single digit can be changed without breaking the check digit.
    fn is_broken_by_any_changed_digit(text: &str, check: fn(&str) -> bool) -> bool {
        (0..text.len()).filter(|at| text.as_bytes()[*at].is_ascii_digit()).all(|at| {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = b'0' + (changed[at] - b'0' + 1) % 10;
            !check(std::str::from_utf8(&changed).expect("ASCII"))
        })
    }

    #[test]
    fn published_clabes_are_accepted_and_slips_noticed() {
        for clabe in ["032180000118359719", "002010077777777771"] {
            assert!(is_clabe(clabe), "{clabe}");
            assert!(is_broken_by_any_changed_digit(clabe, is_clabe), "{clabe}");
        }
        for text in ["", "03218000011835971", "0321800001183597190", "03218000011835971x"] {
            assert!(!is_clabe(text), "{text}");
        }
    }

    #[test]
    fn published_cbus_are_accepted_and_slips_noticed() {
        let cbu = "2850590940090418135201";
        assert!(is_cbu(cbu));
        assert!(is_broken_by_any_changed_digit(cbu, is_cbu));
        assert!(!is_cbu("285059094009041813520"));
    }

    #[test]
    fn an_alias_is_no_bare_number() {
        assert!(is_cbu_alias("perro.gato.casa"));
        for text in ["gato", "perro.gato.casa.arbol", "123456", "perro_gato"] {
            assert!(!is_cbu_alias(text), "{text}");
        }
    }

    #[test]
    fn published_abns_are_accepted_and_slips_noticed() {
        for abn in ["51824753556", "53004085616"] {
            assert!(is_abn(abn), "{abn}");
            assert!(is_broken_by_any_changed_digit(abn, is_abn), "{abn}");
        }
        assert!(!is_abn("5182475355") && !is_abn("00000000000"));
    }

    #[test]
    fn published_ibans_are_accepted_and_slips_noticed() {
        for iban in ["GB82WEST12345698765432", "GE29NB0000000101904917", "DE89370400440532013000"] {
            assert!(has_iban_check_digits(iban), "{iban}");
            assert!(is_broken_by_any_changed_digit(iban, has_iban_check_digits), "{iban}");
        }
        assert!(!has_iban_check_digits("GB82") && !has_iban_check_digits("gb82west12345698765432"));
    }
}
