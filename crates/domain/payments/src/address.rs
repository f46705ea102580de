//! Addresses of people and of machines: checked so far that a slip is noticed, and no further.

use url::Url;

/// Whether `text` has the form of an e-mail address: a local part, one `@` that counts, a domain with a dot. Whether
/// somebody reads it is not known before it is written to.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '@';
    let label = |label: &str| {
        let inner = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    (1..=64).contains(&local.chars().count())
        && local.chars().all(plain)
        && domain.contains('.')
        && domain.split('.').all(label)
}

/// Whether `text` is an absolute `http` or `https` URL with a host.
pub(crate) fn is_web_url(text: &str) -> bool {
    // The parser mends what browsers mend (`http:/x`, blanks around it); what is kept should need no mending.
    let scheme_end = text.find("://").unwrap_or(0);
    let plain = !text.chars().any(char::is_whitespace);
    let scheme = &text[..scheme_end];
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    plain && web && Url::parse(text).is_ok_and(|url| url.has_host())
}

/// Whether a URL that [`is_web_url`] admitted is an `https` one.
pub(crate) fn is_https(url: &str) -> bool {
    url.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_a_local_part_and_a_domain() {
        for text in ["ana@example.com", "a.b+c@x-y.co.uk", "fail@simulator.test", "ö@münchen.example"] {
            assert!(is_email(text), "{text}");
        }
        for text in ["", "ana", "@example.com", "ana@", "ana@localhost", "a b@example.com", "a@b@example.com"]
        {
            assert!(!is_email(text), "{text}");
        }
        for text in ["ana@example..com", "ana@-x.com", "ana@exa mple.com", "ana@example.com."] {
            assert!(!is_email(text), "{text}");
        }
    }

    #[test]
    fn a_web_url_is_absolute_and_has_a_host() {
        for text in [
            "http://example.com",
            "HTTPS://Example.com:8443/a?b=c#d",
            "http://127.0.0.1:9/x",
            "https://[::1]/",
        ] {
            assert!(is_web_url(text), "{text}");
        }
        for text in [
            "",
            "example.com",
            "http:example.com",
            "http://",
            "https:///x y",
            "ftp://example.com",
            " http://a.b",
        ] {
            assert!(!is_web_url(text), "{text}");
        }
        for text in
            ["javascript:alert(1)", "http://exa mple.com", "http://a.b:99999", "//example.com", "é://a.b"]
        {
            assert!(!is_web_url(text), "{text}");
        }
    }

    #[test]
    fn only_https_is_https() {
        assert!(is_https("https://a.b") && is_https("HTTPS://a.b"));
        assert!(!is_https("http://a.b") && !is_https("http"));
    }
}
