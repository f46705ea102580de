//! The configuration file: which one is read, and its text. Only an absent file counts as none; one that is
//! there and cannot be read stops the start, since its keys would have their defaults otherwise.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};

/// The file that is read if none is named and the working folder has one.
const USUAL_FILE: &str = "quipu.toml";

/// A configuration file that was read.
pub(super) struct ConfigFile {
    /// Its path, which errors name.
    pub(super) path: PathBuf,
    /// Its text, without a byte order mark.
    pub(super) text: String,
}

impl ConfigFile {
    /// The named file, which must exist, or else `quipu.toml` of the working folder, if there is one.
    pub(super) fn find(named: Option<&Path>) -> Result<Option<Self>> {
        match named {
            Some(path) => Self::read(path).map(Some),
            None => Self::read_if_there(Path::new(USUAL_FILE)),
        }
    }

    /// A link that leads nowhere is there, and cannot be read.
    fn read_if_there(path: &Path) -> Result<Option<Self>> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Self::read(path).map(Some),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        if path.is_dir() {
            bail!("{shown} is a folder, not a configuration file");
        }
        let bytes = fs::read(path).with_context(|| format!("{shown} cannot be read"))?;
        // The error of the conversion has the bytes, which may contain a secret.
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("{shown} must be UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}').to_owned();
        Ok(Self { path: path.to_owned(), text })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// What is told about a file, whether it was named or is the usual one.
    fn refusals(path: &Path) -> [String; 2] {
        let refused = |read: Result<()>| format!("{:#}", read.expect_err("it cannot be read"));
        [refused(ConfigFile::read(path).map(drop)), refused(ConfigFile::read_if_there(path).map(drop))]
    }

    #[test]
    fn a_file_that_is_there_and_cannot_be_read_is_refused_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("folder.toml")).expect("made");
        symlink("nowhere", place("link.toml")).expect("made");
        fs::write(place("latin.toml"), b"# caf\xe9\nlisten = '127.0.0.1:80'").expect("written");
        for (name, reason) in
            [("folder.toml", "is a folder"), ("link.toml", "cannot be read"), ("latin.toml", "must be UTF-8")]
        {
            for told in refusals(&place(name)) {
                assert!(told.contains(name) && told.contains(reason), "{told}");
            }
        }
    }

    #[test]
    fn an_absent_file_is_refused_only_if_it_was_named() {
        let folder = tempfile::tempdir().expect("a folder");
        // A file of a similar name is not the one that was named.
        fs::write(folder.path().join("quipu.toml"), "").expect("written");
        let path = folder.path().join("quipu");
        assert!(ConfigFile::read_if_there(&path).expect("none").is_none());
        let told = format!("{:#}", ConfigFile::find(Some(&path)).map(drop).expect_err("it is absent"));
        assert!(told.contains("quipu cannot be read"), "{told}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("quipu.toml");
        for written in ["\u{feff}listen = 'x'", "listen = 'x'"] {
            fs::write(&path, written).expect("written");
            assert_eq!(ConfigFile::read(&path).expect("read").text, "listen = 'x'");
        }
    }
}
