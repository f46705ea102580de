//! External providers: `rails.http.<name>.url` and `.secret`.

use std::{collections::BTreeMap, time::Duration};

use quipu_kernel::Secret;

use crate::{key, reader::Reader, values};

/// An external provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, which routes (as `http:<name>`) and callbacks use.
    pub name: String,
    /// Its address.
    pub url: String,
    /// The secret that signs calls in both directions.
    pub secret: Secret,
}

/// The default gaps between questions about an unknown outcome.
const QUESTIONS: [Duration; 4] =
    [Duration::from_mins(1), Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(24)];

/// The gaps between questions about an open outcome.
pub(crate) fn questions(from: &mut Reader) -> Vec<Duration> {
    from.take("rails.status_schedule", values::questions).unwrap_or_else(|| QUESTIONS.to_vec())
}

/// The providers, in the order of their names. A provider without an address or a secret is a problem.
pub(crate) fn providers(from: &mut Reader) -> Vec<Provider> {
    let mut named: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (key, text) in from.take_below("rails.http.", ["rails.http.NAME.url", "rails.http.NAME.secret"]) {
        let (name, Some(member)) = key::first(&key) else {
            from.problem(format!("rails.http.{key}"), "must be a table with url and secret");
            continue;
        };
        named.entry(name.to_owned()).or_default().insert(member.to_owned(), text);
    }
    named.into_iter().filter_map(|(name, members)| provider(from, name, members)).collect()
}

fn provider(from: &mut Reader, name: String, mut members: BTreeMap<String, String>) -> Option<Provider> {
    let own = format!("rails.http.{name}");
    if !is_name(&name) {
        from.problem(own, "must have a name of 1 to 40 of the characters a-z, 0-9, - and _");
        return None;
    }
    let (url, secret) = (members.remove("url"), members.remove("secret"));
    for member in members.keys() {
        from.problem(format!("{own}.{member}"), "is not a known key");
    }
    let url = match url.as_deref().map(values::provider_url) {
        Some(Ok(url)) => Some(url),
        Some(Err(expected)) => refused(from, &own, "url", &format!("must be {expected}")),
        None => refused(from, &own, "url", "is missing: where the provider is"),
    };
    let secret = match secret.as_deref().map(quipu_signing::WebhookSecret::parse) {
        Some(Ok(secret)) => Some(secret.secret().clone()),
        Some(Err(wrong)) => refused(from, &own, "secret", &wrong.to_string()),
        None => refused(from, &own, "secret", "is missing: what signs both ways, whsec_…"),
    };
    Some(Provider { url: url?, secret: secret?, name })
}

fn refused<T>(from: &mut Reader, provider: &str, member: &str, what: &str) -> Option<T> {
    from.problem(format!("{provider}.{member}"), what);
    None
}

fn is_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    (1..=40).contains(&name.len()) && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<Vec<Provider>, String> {
        let mut reader = Reader::of_texts(file, environment).expect("TOML");
        let providers = providers(&mut reader);
        reader.finish().map(|()| providers).map_err(|error| error.to_string())
    }

    #[test]
    fn providers_come_from_the_file_and_the_environment() {
        let file =
            format!("[rails.http.acme]\nurl = 'https://api.acme.example/quipu/'\nsecret = '{SECRET}'\n");
        let variables = [
            ("QUIPU__RAILS__HTTP__BANK__URL", "http://127.0.0.1:9000"),
            ("QUIPU__RAILS__HTTP__BANK__SECRET", SECRET),
        ];
        let providers = read(&file, &variables).expect("valid");
        let names: Vec<_> = providers.iter().map(|provider| provider.name.as_str()).collect();
        assert_eq!(names, ["acme", "bank"]);
        assert_eq!(providers[0].url, "https://api.acme.example/quipu");
        assert_eq!(providers[1].secret.expose(), SECRET);
    }

    #[test]
    fn an_address_is_kept_as_it_is_dialled() {
        for (given, dialled) in [
            ("https://api.bücher.example/quipu", "https://api.xn--bcher-kva.example/quipu"),
            ("https://API.acme.example:443/a<b>", "https://api.acme.example/a%3Cb%3E"),
            ("http://127.1:9000", "http://127.0.0.1:9000"),
        ] {
            let file = format!("[rails.http.acme]\nurl = '{given}'\nsecret = '{SECRET}'\n");
            assert_eq!(read(&file, &[]).expect("valid")[0].url, dialled);
        }
    }

    #[test]
    fn half_a_provider_is_a_problem_and_no_problem_shows_a_secret() {
        for (file, problem) in [
            ("[rails.http.acme]\nurl = 'https://a.example'", "rails.http.acme.secret is missing"),
            ("[rails.http.acme]\nurl = 'ftp://a.example'\nsecret = 'x'", "rails.http.acme.url must be"),
            ("[rails.http.acme]\nurl = 'https://me:c2VjcmV0@a.example'", "rails.http.acme.url must be"),
            ("[rails.http.acme]\nsecret = 'whsec_c2VjcmV0'", "rails.http.acme.url is missing"),
            ("[rails.http.acme]\nsecret = 'whsec_c2VjcmV0'", "rails.http.acme.secret must be"),
            ("[rails.http.acme]\nport = 1", "rails.http.acme.port is not a known key"),
            ("[rails.http]\nurl = 'x'", "rails.http.url must be a table"),
            ("[rails.http.'A B']\nurl = 'x'\nsecret = 'x'", "rails.http.\"A B\" must have a name of"),
            ("[rails.http.'a.b']\nurl = 'x'\nsecret = 'x'", "rails.http.\"a.b\" must have a name of"),
        ] {
            let told = read(file, &[]).expect_err("refused");
            assert!(told.contains(problem), "{told}");
            let lines: Vec<_> = told.lines().collect();
            let once = lines.iter().all(|line| lines.iter().filter(|other| *other == line).count() == 1);
            assert!(once, "nothing is said twice: {told}");
            assert!(!told.contains("c2VjcmV0"), "{told}");
        }
    }
}
