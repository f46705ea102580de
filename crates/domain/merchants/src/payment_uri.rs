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
