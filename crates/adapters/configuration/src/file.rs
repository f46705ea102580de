//! The configuration file: which one is read, and what it says. Only an absent file counts as none; one that is
//! there and cannot be read stops the start, since its keys would have their defaults otherwise.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use toml::de::DeTable;

use crate::refused::Refused;

/// The file that is read if none is named and the working folder has one.
pub(crate) const USUAL_FILE: &str = "quipu.toml";

/// A configuration file that was read.
pub(crate) struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// The named file, which must exist, or else `quipu.toml` of the working folder, if there is one.
    pub(crate) fn find(named: Option<&Path>) -> Result<Option<Self>, Refused> {
        match named {
            Some(path) => Self::read(path).map(Some),
            None => Self::read_if_there(Path::new(USUAL_FILE)),
        }
    }

    /// A link that leads nowhere is there, and cannot be read.
    fn read_if_there(path: &Path) -> Result<Option<Self>, Refused> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Self::read(path).map(Some),
        }
    }

    fn read(path: &Path) -> Result<Self, Refused> {
        if path.is_dir() {
            return Err(Refused::Folder(path.to_owned()));
        }
        let read = fs::read(path);
        let bytes = read.map_err(|source| Refused::Unreadable { path: path.to_owned(), source })?;
        Self::of_bytes(path, bytes)
    }

    /// The file at a path, which has these bytes. A byte order mark is no part of its text.
    pub(crate) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, Refused> {
        // The error of the conversion has the bytes, which may contain a secret.
        let text = String::from_utf8(bytes).map_err(|_| Refused::NotUtf8(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), text: text.trim_start_matches('\u{feff}').to_owned() })
    }

    /// Its tables. What is told of a mistake is its place and the reason: the line may contain a secret.
    pub(crate) fn tables(&self) -> Result<DeTable<'_>, Refused> {
        let parsed = DeTable::parse(&self.text).map_err(|error| {
            let end = error.span().map_or(self.text.len(), |span| span.start.min(self.text.len()));
            let line = self.text.as_bytes()[..end].split(|byte| *byte == b'\n').count();
            Refused::NotToml { file: self.path.clone(), line, reason: error.message().to_owned() }
        });
        parsed.map(toml::Spanned::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// What is told about a file, whether it was named or is the usual one.
    fn refusals(path: &Path) -> [String; 2] {
        let refused = |read: Result<(), Refused>| read.expect_err("it cannot be read").to_string();
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
        let told = ConfigFile::find(Some(&path)).map(drop).expect_err("it is absent").to_string();
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

    #[test]
    fn a_mistake_is_told_by_its_line() {
        let file = ConfigFile::of_bytes(Path::new("quipu.toml"), b"listen = 'x'\n[log\nlevel = 1".into());
        let refused = file.expect("UTF-8").tables().map(drop).expect_err("no TOML").to_string();
        assert!(refused.starts_with("quipu.toml: line 2: "), "{refused}");
    }
}
