//! Comparing texts without regard to case.

/// Folds a text into the form in which texts are compared without regard to case. It is done here so that it
/// is the same on every database: databases differ in the letters whose case they know.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // `İ` would keep its dot as a character of its own.
    text.chars().map(|letter| if letter == 'İ' { 'i' } else { letter }).flat_map(folded).collect()
}

/// Folds an e-mail address into the form by which its owner is known. It differs from [`fold`] in `ı` and `İ`, which stay
/// what they are: who looks for a text may have meant `i`, but the two letters are different persons' addresses.
pub fn fold_address(address: &str) -> String {
    let mut key = String::with_capacity(address.len());
    for letter in address.chars() {
        match letter {
            'ı' | 'İ' => key.push(letter),
            _ => key.extend(folded(letter)),
        }
    }
    key
}

/// Upper-casing unifies what lower-casing keeps apart: `ß` and `SS`, `ſ` and `s`, final and medial sigma; `ẞ` is lowered
/// first, because only `ß` upper-cases to `SS`.
fn folded(letter: char) -> impl Iterator<Item = char> {
    letter.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_case_only_are_folded_to_the_same() {
        for (one, other) in [
            ("Ñandú", "ÑANDÚ"),
            ("straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("İSTANBUL", "istanbul"),
            ("ISPARTA", "ısparta"),
            ("100%_\\", "100%_\\"),
        ] {
            assert_eq!(fold(one), fold(other));
        }
        assert_ne!(fold("n"), fold("ñ"));
    }

    #[test]
    fn an_address_ignores_case_and_keeps_the_letters_of_turkish_apart() {
        for (one, other) in [("Ana@Example.COM", "ana@example.com"), ("ÑANDÚ@x.co", "ñandú@x.co")] {
            assert_eq!(fold_address(one), fold_address(other));
        }
        let keys = ["ismail@x.co", "ısmail@x.co", "İsmail@x.co", "ISMAIL@x.co"].map(fold_address);
        assert_eq!(keys[0], keys[3]);
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2], "{keys:?}");
    }
}
