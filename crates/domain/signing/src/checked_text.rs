//! Credentials that contain a checksum: prefix, 37 random base-62 characters, and six characters that hold a
//! CRC-32 of everything before them. A mistyped credential is recognised without the database, and a scanner
//! can tell a leaked one from any other text.

use quipu_kernel::{BASE62, Entropy, base62};

/// 37 characters of 5.95 bits: 220 random bits.
const RANDOM: usize = 37;
const CHECK: usize = 6;

/// A new text under `prefix`.
pub(crate) fn generate(prefix: &str, entropy: &dyn Entropy) -> String {
    let body = format!("{prefix}{}", base62(entropy, RANDOM));
    format!("{body}{}", checksum(&body))
}

/// Whether a text under `prefix` has the right length, alphabet and checksum.
pub(crate) fn is_valid(prefix: &str, text: &str) -> bool {
    let Some(rest) = text.strip_prefix(prefix) else { return false };
    let well_formed = rest.len() == RANDOM + CHECK && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    well_formed && {
        let (body, check) = text.split_at(text.len() - CHECK);
        checksum(body) == check
    }
}

/// The last four characters, by which people tell credentials apart.
pub(crate) fn last_four(text: &str) -> &str {
    &text[text.len() - 4..]
}

/// CRC-32 as six base-62 digits, the most significant first.
fn checksum(body: &str) -> String {
    let mut rest = crc32(body.as_bytes());
    let mut digits = [0; CHECK];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

/// CRC-32 as Ethernet and zip compute it (polynomial 0x04C11DB7, reflected).
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn the_checksum_is_the_crc_32_everyone_knows() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_checksum_is_always_six_digits() {
        assert_eq!(checksum(""), "000000");
        assert_eq!(checksum("123456789").len(), 6);
    }

    proptest! {
        #[test]
        fn one_mistyped_character_is_always_noticed(at in 0_usize..48, to in "[0-9A-Za-z]") {
            let text = generate("qp_x_", &SystemEntropy);
            prop_assert_eq!(text.len(), 48);
            prop_assert!(is_valid("qp_x_", &text));
            let changed = format!("{}{to}{}", &text[..at], &text[at + 1..]);
            prop_assert_eq!(is_valid("qp_x_", &changed), changed == text);
        }

        #[test]
        fn neighbours_swapped_are_always_noticed(at in 5_usize..47) {
            let text = generate("qp_x_", &SystemEntropy);
            let mut bytes = text.clone().into_bytes();
            bytes.swap(at, at + 1);
            let changed = String::from_utf8(bytes).expect("ASCII");
            prop_assert_eq!(is_valid("qp_x_", &changed), changed == text);
        }

        #[test]
        fn any_text_at_all_is_judged_without_a_panic(text: String) {
            prop_assert!(!is_valid("qp_x_", &text));
            let prefixed = format!("qp_x_{text}");
            prop_assert!(!is_valid("qp_x_", &prefixed));
        }
    }
}
