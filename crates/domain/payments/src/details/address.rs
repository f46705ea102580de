//! Addresses of people. They are checked only so far that a slip is noticed.

/// Whether `text` has the form of an e-mail address: a local part of words with single dots between them (RFC
/// 5322, 3.4.1), an `@`, and a domain with a dot. Whether the address exists is not checked.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    // Outside ASCII (RFC 6531) letters and their marks, but no dashes and quotation marks, and nothing that is not seen.
    let is_punctuation = |c: char| ('\u{2010}'..='\u{205e}').contains(&c);
    let foreign = |c: char| {
        !c.is_ascii() && !c.is_whitespace() && !c.is_control() && !is_punctuation(c) && !is_invisible(c)
    };
    let plain =
        |c: char| c == '.' || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || foreign(c);
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || c == '-' || foreign(c);
        !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    local.chars().all(plain)
        && local.split('.').all(|atom| !atom.is_empty())
        && domain.contains('.')
        && domain.split('.').all(label)
        // Else it would be a number of an address (RFC 3696, section 2).
        && !domain.ends_with(|last: char| last.is_ascii_digit())
}

/// Whether a character takes no place: marks of direction, joiners and the like.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_a_local_part_and_a_domain() {
        for text in [
            "ana@example.com",
            "a.b+c@x-y.co.uk",
            "fail@simulator.test",
            "ö@münchen.example",
            "සමන්@සමාගම.இலங்கை",
        ] {
            assert!(is_email(text), "{text}");
        }
        assert!(is_email(&format!("{}@example.com", "a".repeat(242))), "as long as a customer's may be");
        for text in ["", "ana", "@example.com", "ana@", "ana@localhost", "a b@example.com", "a@b@example.com"]
        {
            assert!(!is_email(text), "{text}");
        }
        for text in [".ana@example.com", "ana.@example.com", "a..b@example.com"] {
            assert!(!is_email(text), "{text}");
        }
        for text in [
            "a,b@x.co",
            "<ana>@x.co",
            "mailto:a@x.co",
            "a\"b@x.co",
            "(a)@x.co",
            "a@1.2.3.4",
            "a\u{200b}@x.co",
            "a\u{61c}@x.co",
            "a@x\u{2060}.co",
            "a@x–y.co",
        ] {
            assert!(!is_email(text), "{text}");
        }
        for text in ["ana@example..com", "ana@-x.com", "ana@exa mple.com", "ana@example.com."] {
            assert!(!is_email(text), "{text}");
        }
    }
}
