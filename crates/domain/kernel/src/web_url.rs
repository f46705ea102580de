//! Web addresses, as merchants and operators give them.

use url::Url;

/// Whether `text` is an absolute `http` or `https` URL with a host.
pub fn is_web_url(text: &str) -> bool {
    // The parser repairs what browsers repair (`http:/x`, `http:///x`, `\` for `/`, blanks around it); a stored URL
    // should need no repair.
    let scheme_end = text.find("://").unwrap_or(0);
    let plain =
        !text.chars().any(|c| c.is_whitespace() || c == '\\') && !text[scheme_end..].starts_with(":///");
    let scheme = &text[..scheme_end];
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    // These the parser leaves in a name, and no request can carry them.
    let is_sendable = |host: &str| !host.contains(['{', '}', '"', '`']);
    plain && web && Url::parse(text).is_ok_and(|url| url.host_str().is_some_and(is_sendable))
}

/// Whether a URL that [`is_web_url`] admitted is an `https` one.
pub fn is_https(url: &str) -> bool {
    url.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"))
}

/// Whether a URL that [`is_web_url`] admitted carries a user's name or password.
pub fn has_userinfo(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "https:///x",
            "http:////x",
            "https://x.co\\y",
            "ftp://example.com",
            "https://{shop}.example/x",
            "https://a`b.example",
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

    #[test]
    fn a_user_is_found_wherever_it_hides() {
        for url in ["http://a@b.c", "http://a:p@b.c/", "https://:p@b.c", "http://a%40b@c.d"] {
            assert!(has_userinfo(url), "{url}");
        }
        assert!(!has_userinfo("http://b.c/a@b") && !has_userinfo("http://b.c/?x=a:b@c"));
    }
}
