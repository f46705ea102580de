//! Payment addresses for wallets.

/// Whether a text may be shown as the payment address for a wallet. Its scheme must name a network, and no
/// scheme that a browser would run or read from.
pub fn is_payment_uri(text: &str) -> bool {
    const REFUSED: [&str; 7] = ["javascript", "data", "vbscript", "file", "blob", "about", "view-source"];
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    named && !rest.is_empty() && !REFUSED.contains(&scheme.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_is_sent_to_a_network_and_a_browser_to_nothing() {
        for text in ["tron:T1", "bitcoin:bc1?amount=0.1", "BITCOIN:BC1", "web+stellar:pay", "x-1.y:z"] {
            assert!(is_payment_uri(text), "{text}");
        }
        for text in
            ["", "T1", ":T1", "tron:", "1tron:T1", "+tron:T1", "tr on:T1", "\u{e4}tron:T1", "tr\u{f6}n:T1"]
        {
            assert!(!is_payment_uri(text), "{text:?} names no network");
        }
        for text in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "VBSCRIPT:x",
            "file:///etc/passwd",
            "blob:x",
            "about:blank",
            "view-source:x",
            "java\tscript:alert(1)",
            " javascript:alert(1)",
            "\u{1}javascript:alert(1)",
        ] {
            assert!(!is_payment_uri(text), "{text:?} is for a browser");
        }
    }
}
