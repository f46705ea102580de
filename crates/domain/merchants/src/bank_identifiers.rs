//! The form of a bank beneficiary's identifiers (docs/API.md, "Create"), saved or sent inline. Check digits
//! are another question, which a route may ask.

use quipu_kernel::Problems;

/// Notes what is wrong with the form of an IBAN at this path: 15 to 34 capital letters and digits, a
/// country's code first.
pub fn judge_iban(iban: &str, path: &str, problems: &mut Problems) {
    let country = iban.bytes().take(2).all(|byte| byte.is_ascii_uppercase());
    if !(15..=34).contains(&iban.len()) || !capitals_and_digits(iban) || !country {
        problems.add(path, "must be 15 to 34 capital letters and digits, beginning with a country code");
    }
}

/// Notes what is wrong with the form of a SWIFT code at this path: 8 or 11 capital letters and digits.
pub fn judge_swift(swift: &str, path: &str, problems: &mut Problems) {
    if !matches!(swift.len(), 8 | 11) || !capitals_and_digits(swift) {
        problems.add(path, "must be 8 or 11 capital letters and digits");
    }
}

fn capitals_and_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_that_are_documented() {
        let wrong = |judge: fn(&str, &str, &mut Problems), text: &str| {
            let mut problems = Problems::new();
            judge(text, "it", &mut problems);
            !problems.is_empty()
        };
        let (shortest, longest) = ("GE0000000000000", format!("GE{}", "0".repeat(32)));
        for iban in [shortest, longest.as_str(), "DE89370400440532013000"] {
            assert!(!wrong(judge_iban, iban), "{iban}");
        }
        for iban in [
            "",
            "GE",
            &shortest[..14],
            &format!("{longest}0"),
            "ge0000000000000",
            "G00000000000000",
            "GE00000000000É",
        ] {
            assert!(wrong(judge_iban, iban), "{iban}");
        }
        for (swift, is_wrong) in
            [("TBCBGE22", false), ("TBCBGE22XXX", false), ("TBCBGE2", true), ("tbcbge22", true), ("", true)]
        {
            assert_eq!(wrong(judge_swift, swift), is_wrong, "{swift}");
        }
    }
}
