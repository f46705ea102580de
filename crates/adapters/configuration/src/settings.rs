//! All settings, as the adapters and use cases take them.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use quipu_kernel::{Network, Secret};
use quipu_merchants::UsualLimits;

use crate::{
    attachments::Attachments,
    environment::Texts,
    file::{ConfigFile, USUAL_FILE},
    log_format::LogFormat,
    providers::{self, Provider},
    reader::Reader,
    refused::Refused,
    values,
    webhooks::WebhookSettings,
};

/// The whole configuration, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the API is served.
    pub listen: SocketAddr,
    /// Where metrics are served.
    pub metrics_listen: SocketAddr,
    /// The public address, without a trailing slash; `None` means the address that is listened on.
    pub public_url: Option<String>,
    /// The folder of the embedded database and of the files of `--dev`.
    pub data_dir: PathBuf,
    /// The address of the database. It may contain a password, so it is never shown.
    pub database_url: Secret,
    /// The address for sending and fetching files, without a trailing slash; `None` means the public address.
    pub upload_url: Option<String>,
    /// Where attachments are stored, and how long links to them are valid.
    pub attachments: Attachments,
    /// After which time without activity a resolved ticket closes by itself.
    pub tickets_auto_close_after: Duration,
    /// The Redis server with which nodes share rate limits; the address may contain a password.
    pub redis_url: Option<Secret>,
    /// The key from which all other keys are derived.
    pub master_key: Option<Secret>,
    /// Former master keys, with which secrets can still be opened.
    pub retired_master_keys: Vec<Secret>,
    /// Former master keys that others may have: secrets can still be opened with them, and nothing they sign counts.
    pub leaked_master_keys: Vec<Secret>,
    /// The format of log lines; `None` means JSON, or text with `--dev`.
    pub log_format: Option<LogFormat>,
    /// The least level of log lines.
    pub log_level: String,
    /// The address of the collector of traces.
    pub otlp_url: Option<String>,
    /// How long each step of a simulated payment takes.
    pub simulator_delay: Duration,
    /// The time after which an unresolved `redirectpay` deposit is cancelled.
    pub redirectpay_cancel_after: Duration,
    /// The time after which an unresolved `redirectpay` deposit raises an alert.
    pub redirectpay_alert_after: Duration,
    /// The gaps between questions to a rail about an open outcome; the last one repeats.
    pub rail_questions: Vec<Duration>,
    /// The external payment providers, in the order of their names.
    pub providers: Vec<Provider>,
    /// How webhooks are delivered.
    pub webhooks: WebhookSettings,
    /// The rate limits.
    pub limits: UsualLimits,
    /// The most open connections; `None` means as many as the limit of file descriptors allows.
    pub connections: Option<usize>,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// How long a call may wait for the database in all its steps.
    pub call_deadline: Duration,
    /// How long a change may wait for a row that another session has locked.
    pub lock_deadline: Duration,
    /// The age at which entries and lines of the audit log are sealed.
    pub seal_after: Duration,
}

impl Settings {
    /// Reads `file` (which must exist if it was named) and the environment; `data` from the command line beats both.
    pub fn load(file: Option<&Path>, data: Option<&Path>) -> Result<Self, Refused> {
        Self::read(&mut Reader::of_file_and_environment(file)?, data)
    }

    /// What a file of these bytes says without the environment.
    pub fn of_file(bytes: &[u8], data: Option<&Path>) -> Result<Self, Refused> {
        let file = ConfigFile::of_bytes(Path::new(USUAL_FILE), bytes.to_owned())?;
        Self::read(&mut Reader::over(Some(&file), Texts::new())?, data)
    }

    /// The file of an embedded database; `None` if a server is configured.
    pub fn embedded_database(&self) -> Option<&Path> {
        self.database_url.expose().strip_prefix("sqlite://").map(Path::new)
    }

    fn read(from: &mut Reader, data: Option<&Path>) -> Result<Self, Refused> {
        let configured_data = from.take("data_dir", values::path).unwrap_or_else(|| "data".into());
        let data_dir = data.map_or(configured_data, Path::to_owned);
        let database_url =
            from.take("database_url", values::database_url).unwrap_or_else(|| embedded_in(&data_dir, from));
        let settings = Self {
            listen: from.take("listen", values::address).unwrap_or(([127, 0, 0, 1], 8080).into()),
            metrics_listen: from
                .take("metrics_listen", values::address)
                .unwrap_or(([127, 0, 0, 1], 9090).into()),
            public_url: from.take("public_url", values::url_without_user),
            upload_url: from.take("upload_url", values::url_without_user),
            attachments: Attachments::read(from, &data_dir),
            tickets_auto_close_after: from
                .take("tickets.auto_close_after", values::duration)
                .unwrap_or(Duration::from_hours(7 * 24)),
            data_dir,
            database_url,
            redis_url: from.take("redis_url", values::redis_url),
            master_key: from.take("master_key", values::master_key),
            retired_master_keys: from.take("retired_master_keys", values::master_keys).unwrap_or_default(),
            leaked_master_keys: from.take("leaked_master_keys", values::master_keys).unwrap_or_default(),
            log_format: from.take("log.format", values::log_format),
            log_level: from.take("log.level", values::log_level).unwrap_or_else(|| "info".to_owned()),
            otlp_url: from.take("tracing.otlp_url", values::web_url),
            simulator_delay: from.take("simulator.delay", values::pause).unwrap_or(Duration::from_secs(2)),
            redirectpay_cancel_after: from
                .take("redirectpay.cancel_after", values::wait)
                .unwrap_or(Duration::from_hours(24)),
            redirectpay_alert_after: from
                .take("redirectpay.alert_after", values::duration)
                .unwrap_or(Duration::from_hours(6)),
            rail_questions: providers::questions(from),
            providers: providers::providers(from),
            webhooks: WebhookSettings::read(from),
            limits: limits(from),
            connections: from.take("limits.connections", values::count),
            trusted_proxies: from.take("trusted_proxies", values::networks).unwrap_or_default(),
            call_deadline: from.take("deadlines.call", values::deadline).unwrap_or(Duration::from_secs(10)),
            lock_deadline: from.take("deadlines.lock", values::deadline).unwrap_or(Duration::from_secs(2)),
            seal_after: from.take("chain.seal_after", values::duration).unwrap_or(Duration::from_mins(5)),
        };
        from.finish()?;
        Ok(settings)
    }
}

/// The address of the database in the data folder.
fn embedded_in(data_dir: &Path, from: &mut Reader) -> Secret {
    if data_dir.to_str().is_none() {
        from.problem("data_dir", "(or --data) must be UTF-8 where the database is in it");
    }
    Secret::new(format!("sqlite://{}", data_dir.join("quipu.db").display()))
}

fn limits(from: &mut Reader) -> UsualLimits {
    let usual = UsualLimits::default();
    let mut limit = |key, usual| from.take(key, values::limit).unwrap_or(usual);
    UsualLimits {
        payment_create_per_minute: limit("limits.payment_create_per_minute", usual.payment_create_per_minute),
        payment_create_per_10s: limit("limits.payment_create_per_10s", usual.payment_create_per_10s),
        standard_per_minute: limit("limits.standard_per_minute", usual.standard_per_minute),
        callbacks_per_minute: limit("limits.callbacks_per_minute", usual.callbacks_per_minute),
        unauthenticated_per_minute: limit(
            "limits.unauthenticated_per_minute",
            usual.unauthenticated_per_minute,
        ),
        pages_per_minute: limit("limits.pages_per_minute", usual.pages_per_minute),
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use quipu_webhooks::RetryPolicy;

    use super::*;
    use crate::attachments::FilesAt;

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<Settings, Refused> {
        Settings::read(&mut Reader::of_texts(file, environment)?, None)
    }

    fn problem(file: &str, environment: &[(&str, &str)]) -> String {
        read(file, environment).expect_err("it must be refused").to_string()
    }

    #[test]
    fn every_key_has_its_documented_default() {
        let settings = read("", &[]).expect("defaults");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.metrics_listen.to_string(), "127.0.0.1:9090");
        assert_eq!(settings.database_url.expose(), "sqlite://data/quipu.db");
        assert_eq!(settings.simulator_delay, Duration::from_secs(2));
        assert_eq!((settings.public_url, settings.upload_url), (None, None));
        assert_eq!(settings.data_dir, Path::new("data"));
        assert_eq!((settings.redis_url, settings.master_key, settings.otlp_url), (None, None, None));
        assert_eq!((settings.log_format, settings.log_level.as_str()), (None, "info"));
        assert_eq!(settings.attachments.at, FilesAt::Folder("data/attachments".into()));
        assert_eq!((settings.trusted_proxies, settings.providers), (vec![], vec![]));
        assert_eq!((settings.retired_master_keys, settings.leaked_master_keys), (vec![], vec![]));
        let limits = UsualLimits {
            payment_create_per_minute: 5000,
            payment_create_per_10s: 500,
            standard_per_minute: 100,
            callbacks_per_minute: 300,
            unauthenticated_per_minute: 60,
            pages_per_minute: 300,
        };
        assert_eq!((settings.limits, settings.connections), (limits, None));
        assert_eq!(settings.webhooks.allow_private, None);
    }

    #[test]
    fn every_period_has_its_documented_default() {
        let settings = read("", &[]).expect("defaults");
        let (seconds, minutes, hours) = (Duration::from_secs, Duration::from_mins, Duration::from_hours);
        assert_eq!(settings.rail_questions, [minutes(1), minutes(5), hours(1), hours(24)]);
        assert_eq!(settings.redirectpay_alert_after, hours(6));
        assert_eq!(settings.redirectpay_cancel_after, hours(24));
        assert_eq!(settings.attachments.upload_expires_in, minutes(10));
        assert_eq!(settings.attachments.download_expires_in, minutes(5));
        assert_eq!(settings.tickets_auto_close_after, hours(7 * 24));
        assert_eq!((settings.call_deadline, settings.lock_deadline), (seconds(10), seconds(2)));
        assert_eq!(settings.seal_after, minutes(5));
        let first = [seconds(5), minutes(5), minutes(30)].into_iter();
        let gaps = first.chain([2, 5, 10, 14, 20, 24].map(hours)).collect();
        assert_eq!(settings.webhooks.policy, RetryPolicy { gaps, disable_after: hours(5 * 24) });
        assert_eq!(settings.webhooks.keep_for, hours(90 * 24));
    }

    #[test]
    fn the_environment_beats_the_file_and_the_command_line_beats_both() {
        let file = "listen = '127.0.0.1:1000'\ndata_dir = 'a'\n[simulator]\ndelay = '5m'\n";
        let environment =
            [("QUIPU__SIMULATOR__DELAY", "300ms"), ("QUIPU__DATA_DIR", "b"), ("QUIPU_BIN", "is not ours")];
        let reader = || Reader::of_texts(file, &environment).expect("a reader");
        let settings = Settings::read(&mut reader(), None).expect("valid");
        assert_eq!(settings.simulator_delay, Duration::from_millis(300));
        assert_eq!((settings.listen.port(), settings.data_dir), (1000, "b".into()));
        let settings = Settings::read(&mut reader(), Some(Path::new("c"))).expect("valid");
        assert_eq!(settings.database_url.expose(), "sqlite://c/quipu.db");
    }

    #[test]
    fn no_database_is_made_under_another_name_than_its_folder_has() {
        let folder = Path::new(OsStr::from_bytes(b"data\xff"));
        let load = |file| Settings::read(&mut Reader::of_texts(file, &[]).expect("a reader"), Some(folder));
        let told = load("").expect_err("it cannot be named").to_string();
        assert!(told.contains("data_dir (or --data) must be UTF-8"), "{told}");
        load("database_url = 'postgres://db/quipu'").expect("the database is elsewhere");
    }

    #[test]
    fn an_unknown_key_or_a_bad_value_is_named() {
        assert!(problem("[limits]\nstandard = 1", &[]).contains("limits.standard is not a known key"));
        assert!(
            problem("[limits]\nstandard = 1", &[]).ends_with("rails.http.NAME.url, rails.http.NAME.secret")
        );
        assert!(problem("", &[("QUIPU__LISTN", "x")]).contains("listn is not a known key"));
        for (key, value) in [
            ("LISTEN", "8080"),
            ("METRICS_LISTEN", "localhost"),
            ("PUBLIC_URL", "pay.example"),
            ("DATABASE_URL", "mysql://x"),
            // Each connection would have a database of its own.
            ("DATABASE_URL", "sqlite://:memory:"),
            // It would be a part of the file's name.
            ("DATABASE_URL", "sqlite://quipu.db?mode=ro"),
            ("REDIS_URL", "localhost:6379"),
            ("LOG__FORMAT", "xml"),
            ("LOG__LEVEL", "loud"),
            ("SIMULATOR__DELAY", "2 seconds"),
            ("DEADLINES__CALL", "0s"),
            ("DEADLINES__LOCK", "soon"),
            ("LIMITS__STANDARD_PER_MINUTE", "0"),
            ("LIMITS__STANDARD_PER_MINUTE", "-1"),
            ("LIMITS__CONNECTIONS", "0"),
            ("TRUSTED_PROXIES", "10.0.0.0/33"),
        ] {
            let text = problem("", &[(&format!("QUIPU__{key}"), value)]);
            let name = key.to_lowercase().replace("__", ".");
            assert!(text.contains(&format!("{name} must be")), "{text}");
        }
    }

    #[test]
    fn a_period_that_cannot_be_meant_is_named() {
        for (key, values) in [
            ("rails.status_schedule", &["1m,soon", "0s", "1m,0ms", "1m,367d", ""][..]),
            ("webhooks.retry_schedule", &["5s,184d", "soon", ""]),
            ("webhooks.keep_for", &["0s"]),
            ("webhooks.disable_after", &["0d"]),
            ("redirectpay.cancel_after", &["0h", "367d"]),
        ] {
            let variable = format!("QUIPU__{}", key.to_uppercase().replace('.', "__"));
            for value in values {
                let told = problem("", &[(&variable, value)]);
                assert!(told.contains(&format!("{key} must be a")), "{value}: {told}");
            }
            for value in ["1ms", "183d"] {
                read("", &[(&variable, value)])
                    .expect("as short as a test wants it, and longer than anybody");
            }
        }
    }

    #[test]
    fn the_periods_of_webhooks_can_be_set() {
        let file = "[webhooks]\nretry_schedule = ['1s', '2m']\ndisable_after = '1h'\nallow_private = true";
        let webhooks = read(file, &[("QUIPU__WEBHOOKS__KEEP_FOR", "3d")]).expect("valid").webhooks;
        assert_eq!(webhooks.policy.gaps, [Duration::from_secs(1), Duration::from_mins(2)]);
        assert_eq!(webhooks.policy.disable_after, Duration::from_hours(1));
        assert_eq!((webhooks.allow_private, webhooks.keep_for), (Some(true), Duration::from_hours(72)));
        assert!(
            problem("[webhooks]\nallow_private = 1", &[])
                .contains("webhooks.allow_private must be true or false")
        );
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let text = problem("listen = 'x'\nlisten_too = 1", &[("QUIPU__LOG__FORMAT", "xml")]);
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    #[test]
    fn no_problem_shows_a_secret() {
        for file in ["master_key = c2VjcmV0", "master_key = { a = 'c2VjcmV0' }"] {
            assert!(!problem(file, &[]).contains("c2VjcmV0"), "{file}");
        }
        assert!(problem("master_key = c2VjcmV0", &[]).contains("quipu.toml"), "the file is named");
        let text = problem("", &[("QUIPU__DATABASE_URL", "mysql://user:c2VjcmV0@host")]);
        assert!(!text.contains("c2VjcmV0"), "{text}");
    }

    #[test]
    fn a_list_is_separated_by_commas_or_written_as_one() {
        let keys =
            ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="];
        let [one, other] = keys;
        for settings in [
            read(&format!("retired_master_keys = ['{one}', '{other}']"), &[]),
            read("", &[("QUIPU__RETIRED_MASTER_KEYS", &format!("{one}, {other}"))]),
        ] {
            assert_eq!(settings.expect("valid").retired_master_keys, keys.map(Secret::new));
        }
    }

    #[test]
    fn a_key_of_another_length_is_told_with_the_other_problems() {
        let text =
            problem("listen = 'x'\nmaster_key = 'c2VjcmV0'", &[("QUIPU__RETIRED_MASTER_KEYS", "a, b")]);
        for named in ["listen", "master_key", "retired_master_keys", "openssl rand -base64 32"] {
            assert!(text.contains(named), "{named}: {text}");
        }
        assert!(!text.contains("c2VjcmV0"), "{text}");
    }

    /// `quipu.example.toml` contains every key: keys with a default appear with it, the others in comments.
    #[test]
    fn the_example_file_has_every_key_and_its_defaults() {
        let example = include_str!("../../../../quipu.example.toml");
        assert_eq!(read(example, &[]).expect("the example is valid"), read("", &[]).expect("defaults"));
        let uncommented: String = example
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        let mut reader = Reader::of_texts(&uncommented, &[]).expect("TOML with all keys set");
        let written = reader.configured();
        Settings::read(&mut reader, None).expect("valid with all keys set");
        assert_eq!(written, reader.known());
    }
}
