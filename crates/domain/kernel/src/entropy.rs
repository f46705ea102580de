//! Randomness as a port, and the alphabets random bytes are written in.

/// A source of random bytes. The product's is the system's secure source; tests count.
pub trait Entropy: Send + Sync {
    /// Fills `bytes` with randomness fit for secrets.
    fn fill(&self, bytes: &mut [u8]);
}

/// The characters of RFC 4648 in lower case, in the order of their bytes, so that texts sort as the numbers they write.
const BASE32: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
/// Digits, capitals and small letters, in the order of their bytes.
pub const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `length` random base-32 characters, 5 bits each.
pub fn base32(entropy: &dyn Entropy, length: usize) -> String {
    let mut bytes = vec![0; length];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| base32_digit(*byte)).collect()
}

/// The character of the lowest five bits.
pub(crate) fn base32_digit(value: u8) -> char {
    char::from(BASE32[usize::from(value & 31)])
}

/// `length` random base-62 characters, each equally likely (5.95 bits each).
pub fn base62(entropy: &dyn Entropy, length: usize) -> String {
    let mut text = String::with_capacity(length);
    let mut bytes = [0; 64];
    while text.len() < length {
        entropy.fill(&mut bytes);
        // 248 is the largest multiple of 62 a byte holds; what lies above would favour the first characters.
        let fair = bytes.iter().filter(|byte| **byte < 248).take(length - text.len());
        text.extend(fair.map(|byte| char::from(BASE62[usize::from(byte % 62)])));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    struct Counting(AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        }
    }

    #[test]
    fn the_alphabets_have_as_many_characters_as_they_say() {
        let distinct = |alphabet: &[u8]| alphabet.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((distinct(BASE32), distinct(BASE62)), (32, 62));
        assert!(BASE32.is_sorted());
    }

    #[test]
    fn every_base62_character_is_equally_likely() {
        // Every byte occurs twice.
        let text = base62(&Counting(AtomicU8::new(0)), 2 * 248);
        let mut counts = std::collections::BTreeMap::new();
        text.chars().for_each(|c| *counts.entry(c).or_insert(0) += 1);
        assert_eq!(counts.len(), 62);
        assert!(counts.values().all(|count| *count == 8), "{counts:?}");
    }

    #[test]
    fn a_base62_text_is_as_long_as_asked_for() {
        for length in [0, 1, 43, 63, 64, 65, 200] {
            assert_eq!(base62(&Counting(AtomicU8::new(200)), length).len(), length);
        }
    }
}
