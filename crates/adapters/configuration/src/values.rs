//! Parsers of the values of keys. An error says what would have been valid and never repeats the value, which
//! may be a secret.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use quipu_kernel::{Network, Secret, has_userinfo, is_web_url};
use quipu_signing::Keyring;
use url::Url;

use crate::log_format::LogFormat;

/// What a value must be, in words that follow "must be".
pub(crate) type Expected = &'static str;

pub(crate) fn path(text: &str) -> Result<PathBuf, Expected> {
    if text.is_empty() { Err("the path of a folder") } else { Ok(text.into()) }
}

pub(crate) fn address(text: &str) -> Result<SocketAddr, Expected> {
    text.parse().map_err(|_| "an IP address and a port, such as 127.0.0.1:8080")
}

/// A web address, with its scheme in small letters.
pub(crate) fn web_url(text: &str) -> Result<String, Expected> {
    let plain = text.split_once("://").filter(|_| is_web_url(text) && !text.contains(['?', '#', ',']));
    let (scheme, rest) = plain.ok_or("an http or https URL without a query, such as https://pay.example")?;
    Ok(format!("{}://{}", scheme.to_ascii_lowercase(), rest.trim_end_matches('/')))
}

/// A web address without a user's name or password, because it is shown to others or logged.
pub(crate) fn url_without_user(text: &str) -> Result<String, Expected> {
    let url = web_url(text)?;
    if has_userinfo(&url) {
        return Err("an http or https URL without a query and without a user, such as https://pay.example");
    }
    Ok(url)
}

/// The address of a provider, with every spelling of a host or a path in its usual form.
pub(crate) fn provider_url(text: &str) -> Result<String, Expected> {
    let url = url_without_user(text)?;
    Ok(Url::parse(&url).map_or(url, |usual| usual.as_str().trim_end_matches('/').to_owned()))
}

pub(crate) fn database_url(text: &str) -> Result<Secret, Expected> {
    let known = ["sqlite://", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty() && rest != ":memory:"));
    let has_options = text.starts_with("sqlite://") && text.contains('?');
    if known && !has_options {
        Ok(Secret::new(text))
    } else {
        Err("sqlite://PATH, without a question mark and options, or postgres://USER:PASSWORD@HOST/DATABASE")
    }
}

pub(crate) fn redis_url(text: &str) -> Result<Secret, Expected> {
    let known = ["redis://", "rediss://"]
        .iter()
        .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if known {
        Ok(Secret::new(text))
    } else {
        Err("redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://…")
    }
}

pub(crate) fn master_key(text: &str) -> Result<Secret, Expected> {
    let key = Secret::new(text);
    match Keyring::from_base64(&key) {
        Ok(_) => Ok(key),
        Err(_) => Err("32 bytes in base64, as `openssl rand -base64 32` makes them"),
    }
}

pub(crate) fn master_keys(text: &str) -> Result<Vec<Secret>, Expected> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(master_key).collect()
}

/// Addresses and networks, separated by commas.
pub(crate) fn networks(text: &str) -> Result<Vec<Network>, Expected> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let networks = parts.map(str::parse).collect::<Result<_, _>>();
    networks.map_err(|_| "addresses or networks, such as 10.0.0.7 or 10.0.0.0/8")
}

/// A number above zero.
pub(crate) fn count(text: &str) -> Result<usize, Expected> {
    text.parse().ok().filter(|count| *count > 0).ok_or("a whole number above zero")
}

pub(crate) fn log_format(text: &str) -> Result<LogFormat, Expected> {
    match text {
        "json" => Ok(LogFormat::Json),
        "text" => Ok(LogFormat::Text),
        _ => Err("json or text"),
    }
}

pub(crate) fn log_level(text: &str) -> Result<String, Expected> {
    let known = ["error", "warn", "info", "debug", "trace"].contains(&text);
    if known { Ok(text.to_owned()) } else { Err("error, warn, info, debug or trace") }
}

pub(crate) fn limit(text: &str) -> Result<u32, Expected> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or("a whole number from 1 to 4294967295")
}

/// A duration: `300ms`, `2s`, `5m`, `6h`, `7d`. The error says what would have been one, in words that follow "must be".
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    let parse = || {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit_at);
        let millis_per_unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let millis = number.parse::<u64>().ok()?.checked_mul(millis_per_unit)?;
        // A hundred years: far enough for every period, and no instant computed from it overflows.
        (millis <= 100 * 365 * 86_400_000).then(|| Duration::from_millis(millis))
    };
    parse().ok_or("a duration such as 300ms, 2s, 5m, 6h or 7d, of at most 36500d")
}

/// A duration for a deadline.
pub(crate) fn deadline(text: &str) -> Result<Duration, Expected> {
    let expected = "a duration from 100ms to 1h";
    let duration = duration(text).map_err(|_| expected)?;
    let fits = (Duration::from_millis(100)..=Duration::from_hours(1)).contains(&duration);
    if fits { Ok(duration) } else { Err(expected) }
}

/// What is due later than this counts as lost in `quipu check`.
const FURTHEST: Duration = Duration::from_hours(366 * 24);

/// A duration above zero.
pub(crate) fn period(text: &str) -> Result<Duration, Expected> {
    let expected = "a duration above 0, such as 300ms, 2s, 5m, 6h or 7d";
    duration(text).ok().filter(|period| !period.is_zero()).ok_or(expected)
}

/// A time to wait, if any.
pub(crate) fn pause(text: &str) -> Result<Duration, Expected> {
    let expected = "a duration of up to 366d, such as 2s";
    duration(text).ok().filter(|pause| *pause <= FURTHEST).ok_or(expected)
}

/// The time until something is due.
pub(crate) fn wait(text: &str) -> Result<Duration, Expected> {
    period(text).ok().filter(|wait| *wait <= FURTHEST).ok_or("a duration above 0 and up to 366d, such as 24h")
}

/// The gaps between questions, separated by commas. The last one repeats, so none may be zero.
pub(crate) fn questions(text: &str) -> Result<Vec<Duration>, Expected> {
    let gaps: Result<Vec<_>, _> = text.split(',').map(|part| wait(part.trim())).collect();
    gaps.map_err(|_| "a list of durations above 0 and up to 366d, such as 1m,5m,1h")
}

/// The gaps between retries, separated by commas. A receiver may ask for twice as much.
pub(crate) fn retries(text: &str) -> Result<Vec<Duration>, Expected> {
    let gap = |part: &str| duration(part.trim()).ok().filter(|gap| *gap <= FURTHEST / 2);
    let gaps: Option<Vec<_>> = text.split(',').map(gap).collect();
    gaps.ok_or("a list of durations of up to 183d, such as 5s,5m,30m")
}

pub(crate) fn flag(text: &str) -> Result<bool, Expected> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_whole_number_and_a_unit() {
        for (text, seconds) in [("2s", 2), ("5m", 300), ("6h", 21_600), ("7d", 604_800), ("0s", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        assert_eq!(duration("300ms"), Ok(Duration::from_millis(300)));
        for text in ["", "2", "s", "-1s", "1.5s", "2 s", "2S", "1w", "99999999999999999999s", "99999999d"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_public_url_has_a_host_and_no_trailing_slash() {
        assert_eq!(web_url("https://pay.example/").as_deref(), Ok("https://pay.example"));
        assert_eq!(web_url("http://127.0.0.1:8080").as_deref(), Ok("http://127.0.0.1:8080"));
        assert_eq!(web_url("HTTPS://pay.example").as_deref(), Ok("https://pay.example"));
        for text in [
            "",
            "pay.example",
            "https://",
            "https:///x",
            "ftp://x",
            "https://x?y",
            "https://x y",
            "http://[bad",
            "http://x:99999",
            "https://a,https://b",
            "https://pay{x}.example",
            "https://pay\\x.example",
        ] {
            assert!(web_url(text).is_err(), "{text:?}");
        }
        let with_user = "https://user:pw@pay.example";
        assert!(web_url(with_user).is_ok() && url_without_user(with_user).is_err());
    }
}
