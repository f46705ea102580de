//! Why a configuration is refused. Nothing here repeats a value, which may be a secret.

use std::{fmt, io, path::PathBuf};

/// Something that is wrong with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    key: String,
    what: String,
}

impl Problem {
    pub(crate) fn new(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self { key: key.into(), what: what.into() }
    }

    /// The full name of the key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.what)
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A folder stands where the file should be.
    #[error("{} is a folder, not a configuration file", .0.display())]
    Folder(PathBuf),
    /// The file is there, or was named, and cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file has bytes that are not text.
    #[error("{} must be UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// The file is no TOML.
    #[error("{}: line {line}: {reason}", file.display())]
    NotToml {
        /// The file.
        file: PathBuf,
        /// The line in which reading ended, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// Keys are unknown, or have values that they cannot have.
    #[error("the configuration is wrong:\n  {}\nThe keys are: {}", lines(problems), keys.join(", "))]
    Wrong {
        /// All that is wrong; at least one.
        problems: Vec<Problem>,
        /// The keys that there are.
        keys: Vec<&'static str>,
    },
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n  ")
}
