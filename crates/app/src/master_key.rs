//! Finds the master key.

use anyhow::{Context, Result, bail};
use quipu_configuration::Settings;
use quipu_kernel::Secret;
use quipu_signing::{Keyring, SystemEntropy, generate_master_key};

use crate::data_folder::DataFolder;

const FILE: &str = "master.key";

/// The kind of start, which decides what a missing `master_key` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// `quipu serve`: the key must be configured.
    Production,
    /// `quipu serve --dev`: a key is made once and kept in the data folder.
    Demo,
    /// Any other command: a key kept by `--dev` will do.
    Command,
}

/// All keys of the installation.
pub(crate) fn keyring(settings: &Settings, folder: &DataFolder, start: Start) -> Result<Keyring> {
    let (master, from) = match &settings.master_key {
        Some(configured) => (configured.clone(), "master_key".to_owned()),
        None => (kept(settings, folder, start)?, folder.file(FILE).display().to_string()),
    };
    let keyring = Keyring::from_base64(&master).context(from)?;
    let (mut retired, mut leaked) = (settings.retired_master_keys.iter(), settings.leaked_master_keys.iter());
    let keyring = retired.try_fold(keyring, Keyring::with_retired).context("retired_master_keys")?;
    leaked.try_fold(keyring, Keyring::with_leaked).context("leaked_master_keys")
}

fn kept(settings: &Settings, folder: &DataFolder, start: Start) -> Result<Secret> {
    if start == Start::Production {
        bail!(
            "there is no master key: set master_key or QUIPU__MASTER_KEY (`openssl rand -base64 32` makes one), \
             or try Quipu out with `quipu serve --dev`"
        );
    }
    if let Some(text) = folder.read(FILE)? {
        return Ok(Secret::new(text.trim()));
    }
    if start == Start::Command {
        bail!(
            "there is no master key: set master_key or QUIPU__MASTER_KEY to that of the server; {} does not exist",
            folder.file(FILE).display()
        );
    }
    if let Some(database) = settings.embedded_database().filter(|it| it.exists())
        && quipu_store::has_secrets(database)?
    {
        bail!(
            "{} is missing, and {} holds secrets that are sealed with a master key: put the file back, set master_key, \
             or delete the database to begin anew",
            folder.file(FILE).display(),
            database.display()
        );
    }
    let made = generate_master_key(&SystemEntropy);
    folder.write_private(FILE, made.expose().as_bytes())?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_folder::tests::Scratch;

    fn settings(scratch: &Scratch) -> Settings {
        Settings::of_file(b"", Some(&scratch.0)).expect("defaults are valid")
    }

    #[test]
    fn production_never_starts_on_a_key_that_nobody_configured() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0).expect("made");
        keyring(&settings(&scratch), &folder, Start::Demo).expect("made by --dev");
        assert!(keyring(&settings(&scratch), &folder, Start::Production).is_err());
    }

    #[test]
    fn development_makes_a_key_once_and_commands_find_it() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0).expect("made");
        let settings = settings(&scratch);
        assert!(keyring(&settings, &folder, Start::Command).is_err());
        let first = keyring(&settings, &folder, Start::Demo).expect("made");
        for start in [Start::Demo, Start::Command] {
            let again = keyring(&settings, &folder, start).expect("kept");
            assert_eq!(again.key_id(), first.key_id());
        }
    }

    #[test]
    fn a_kept_key_that_is_wrong_is_told_by_its_file() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0).expect("made");
        folder.write_private(FILE, b"c2VjcmV0").expect("written");
        let refused = keyring(&settings(&scratch), &folder, Start::Command).expect_err("too short");
        let (told, file) = (format!("{refused:#}"), folder.file(FILE).display().to_string());
        assert!(told.starts_with(&file) && !told.contains("c2VjcmV0"), "{told}");
    }

    #[test]
    fn a_configured_key_beats_a_kept_one_and_a_wrong_one_is_not_shown() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0).expect("made");
        let mut settings = settings(&scratch);
        let kept = keyring(&settings, &folder, Start::Demo).expect("made");
        settings.master_key = Some(generate_master_key(&SystemEntropy));
        let configured = keyring(&settings, &folder, Start::Production).expect("configured");
        assert_ne!(configured.key_id(), kept.key_id());
        settings.master_key = Some(Secret::new("c2VjcmV0"));
        let refused = keyring(&settings, &folder, Start::Production).expect_err("too short");
        assert!(!format!("{refused:#}").contains("c2VjcmV0"), "{refused:#}");
    }
}
