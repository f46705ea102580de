//! The configuration, which its operator writes.

use std::time::Duration;

use quipu_configuration::{Refused, Settings};

/// A file, without the environment.
pub(crate) fn configuration(bytes: &[u8]) -> bool {
    let read = || Settings::of_file(bytes, None);
    let (once, again) = (read(), read());
    assert_eq!(told(&once), told(&again), "it is read in two ways");
    match once {
        Ok(settings) => {
            assert_eq!(Some(&settings), again.as_ref().ok(), "it is read in two ways");
            judge(&settings);
            true
        }
        Err(refused) => {
            explained(&refused, bytes);
            false
        }
    }
}

fn told(read: &Result<Settings, Refused>) -> Option<String> {
    read.as_ref().err().map(Refused::to_string)
}

/// What holds of all settings, whatever was written.
fn judge(settings: &Settings) {
    let limits = &settings.limits;
    for limit in [
        limits.payment_create_per_minute,
        limits.payment_create_per_10s,
        limits.standard_per_minute,
        limits.callbacks_per_minute,
        limits.unauthenticated_per_minute,
        limits.pages_per_minute,
    ] {
        assert!(limit > 0, "{limits:?}");
    }
    let repeated = [settings.rail_questions.last(), settings.webhooks.policy.gaps.last()];
    assert!(repeated.iter().all(Option::is_some), "there is no gap to repeat: {repeated:?}");
    assert!(settings.rail_questions.iter().all(|gap| !gap.is_zero()), "a rail is asked without a pause");
    for link in [settings.attachments.upload_expires_in, settings.attachments.download_expires_in] {
        assert!(!link.is_zero() && link < Duration::from_hours(24), "{link:?}");
    }
    let addresses = [&settings.public_url, &settings.upload_url, &settings.otlp_url];
    for address in addresses.into_iter().flatten().chain(settings.providers.iter().map(|it| &it.url)) {
        assert!(address.starts_with("http") && !address.ends_with('/'), "{address}");
    }
}

/// Whoever wrote it can find the mistake: each problem is one line that begins with its key.
fn explained(refused: &Refused, bytes: &[u8]) {
    match refused {
        Refused::Wrong { problems, keys } => {
            assert!(!problems.is_empty() && !keys.is_empty(), "{refused}");
            for problem in problems {
                let line = problem.to_string();
                assert!(!line.contains(char::is_control), "{line:?}");
                assert!(!problem.key().is_empty() && line.len() > problem.key().len() + 1, "{line:?}");
            }
        }
        Refused::NotToml { line, reason, .. } => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            assert!((1..=lines).contains(line) && !reason.is_empty(), "{refused}");
        }
        Refused::NotUtf8(_) => assert!(std::str::from_utf8(bytes).is_err(), "{refused}"),
        Refused::Folder(_) | Refused::Unreadable { .. } => panic!("no file was opened: {refused}"),
    }
}
