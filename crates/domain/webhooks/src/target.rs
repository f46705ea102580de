//! The URL of an endpoint.

use quipu_kernel::{Environment, Fields, Problems, has_userinfo, is_https};

/// A URL that deliveries can go to: absolute, `http` or `https`, with a host and without a user, at most 2048
/// characters long. Whether its address may be reached is checked only when it is dialled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetUrl(String);

impl TargetUrl {
    /// Reads a member that holds a URL; in the live environment it must be `https`.
    pub fn read(
        fields: &Fields<'_>,
        name: &str,
        environment: Environment,
        problems: &mut Problems,
    ) -> Option<Self> {
        let text = fields.web_url(name, problems)?;
        if let Some(problem) = Self::problem_of(text).or_else(|| Self::problem_in(environment, text)) {
            problems.add(&fields.path(name), problem);
            return None;
        }
        Some(Self(text.to_owned()))
    }

    /// What is wrong with a web address as a target in any environment.
    pub fn problem_of(url: &str) -> Option<&'static str> {
        // Deliveries prove where they come from by their signature; a password would only be kept in the clear.
        has_userinfo(url).then_some("must not carry a user name or password")
    }

    /// What is wrong with a web address as a target in this environment alone.
    pub fn problem_in(environment: Environment, url: &str) -> Option<&'static str> {
        (environment == Environment::Live && !is_https(url))
            .then_some("must be an https URL in the live environment")
    }

    /// A URL as a store had it, or as a payment's request named it.
    pub const fn restore(text: String) -> Self {
        Self(text)
    }

    /// The URL as text, exactly as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(url: &str, environment: Environment) -> Result<String, Vec<String>> {
        let body = json!({ "url": url });
        let mut problems = Problems::new();
        let fields = Fields::of_body(&body).expect("an object");
        let read = TargetUrl::read(&fields, "url", environment, &mut problems);
        read.map(|url| url.as_str().to_owned()).ok_or(problems.into_messages())
    }

    #[test]
    fn an_address_is_kept_as_it_was_given() {
        for text in ["http://example.com", "HTTPS://Example.com:8443/a?b=c#d", "https://[::1]/", "http://h"] {
            assert_eq!(read(text, Environment::Test).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_no_web_address_is_refused_by_name() {
        for text in [
            "",
            "example.com",
            "http:example.com",
            "http://",
            "ftp://a.b",
            "javascript:alert(1)",
            " http://a.b",
        ] {
            let problems = read(text, Environment::Test).expect_err("no address");
            assert_eq!(problems, ["url must be an http or https URL"], "{text}");
        }
        let long = format!("https://a.b/{}", "x".repeat(2048));
        assert_eq!(
            read(&long, Environment::Test).expect_err("long"),
            ["url must be at most 2048 characters"]
        );
        assert!(read(&long[..2048], Environment::Test).is_ok());
    }

    #[test]
    fn an_address_carries_no_password() {
        let problems = read("https://user:word@a.b/", Environment::Test).expect_err("a password");
        assert_eq!(problems, ["url must not carry a user name or password"]);
    }

    #[test]
    fn live_deliveries_go_over_tls_only() {
        assert!(read("https://a.b", Environment::Live).is_ok());
        let problems = read("http://a.b", Environment::Live).expect_err("plain");
        assert_eq!(problems, ["url must be an https URL in the live environment"]);
    }
}
