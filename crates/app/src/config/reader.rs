//! Reads keys from the file and the environment one by one, and collects all problems.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Result, anyhow};
use config::{Config, ConfigError, Environment, File, FileFormat, Source as _, Value, ValueKind};

use super::{file::ConfigFile, values::Expected};

/// The configured keys that have not been taken yet.
pub(crate) struct Reader {
    texts: BTreeMap<String, String>,
    problems: Vec<String>,
    keys: BTreeSet<&'static str>,
    /// The keys of sections whose names the operator chooses, with a placeholder for the name.
    keys_below: Vec<&'static str>,
}

impl Reader {
    /// The named file, which must exist, or else `quipu.toml` if there is one; then the environment over it.
    pub(crate) fn of_file_and_environment(file: Option<&Path>) -> Result<Self> {
        Self::of_sources(ConfigFile::find(file)?.as_ref(), environment())
    }

    fn of_sources(file: Option<&ConfigFile>, environment: Environment) -> Result<Self> {
        let text = file.map_or("", |file| &file.text);
        let source = File::from_str(text, FileFormat::Toml);
        let merged = Config::builder().add_source(source).add_source(environment).build();
        let table = merged.and_then(|config| config.collect());
        let table = table.map_err(|error| without_excerpt(&error, file.map(|file| &*file.path)))?;
        let mut reader = Self {
            texts: BTreeMap::new(),
            problems: Vec::new(),
            keys: BTreeSet::new(),
            keys_below: Vec::new(),
        };
        for (key, value) in table {
            reader.add(key, value);
        }
        Ok(reader)
    }

    /// Writes a value as one text under its full key: tables become dots, lists commas.
    fn add(&mut self, key: String, value: Value) {
        match value.kind {
            ValueKind::Table(members) => {
                for (name, member) in members {
                    self.add(format!("{key}.{name}"), member);
                }
            }
            ValueKind::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.into_iter().map(|item| item.into_string().ok()).collect();
                match texts {
                    Some(texts) => drop(self.texts.insert(key, texts.join(","))),
                    None => self.problems.push(format!("{key} must be a list of plain values")),
                }
            }
            kind => match Value::new(None, kind).into_string() {
                Ok(text) => drop(self.texts.insert(key, text)),
                Err(_) => self.problems.push(format!("{key} must have a value")),
            },
        }
    }

    /// The value of `key`, if it is set and valid.
    pub(crate) fn take<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, Expected>,
    ) -> Option<T> {
        self.keys.insert(key);
        let text = self.texts.remove(key)?;
        parse(&text).inspect_err(|expected| self.problems.push(format!("{key} must be {expected}"))).ok()
    }

    /// All values below `prefix`, by the rest of their keys: for sections whose names the operator chooses.
    /// `keys` are those that there may be, with a placeholder for the name.
    pub(crate) fn take_below(&mut self, prefix: &str, keys: [&'static str; 2]) -> Vec<(String, String)> {
        self.keys_below.extend(keys);
        let keys: Vec<_> = self.texts.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        let take = |key: String| Some((key.strip_prefix(prefix)?.to_owned(), self.texts.remove(&key)?));
        keys.into_iter().filter_map(take).collect()
    }

    /// Notes a problem, which names its key.
    pub(crate) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Ends the reading: fails if there were problems, or if a key was not taken.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let unknown = self.texts.keys().map(|key| format!("{key} is not a known key"));
        self.problems.extend(unknown);
        if self.problems.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = self.keys.iter().chain(&self.keys_below).copied().collect();
        let (problems, keys) = (self.problems.join("\n  "), keys.join(", "));
        Err(anyhow!("the configuration is wrong:\n  {problems}\nThe keys are: {keys}"))
    }
}

fn environment() -> Environment {
    Environment::with_prefix("QUIPU").prefix_separator("__").separator("__")
}

/// The error without the lines that it quotes, which may contain a secret: the place and the reason remain.
fn without_excerpt(error: &ConfigError, file: Option<&Path>) -> anyhow::Error {
    let named = |place: &str| place.to_owned();
    let (place, text) = match (error, file) {
        (ConfigError::FileParse { cause, .. }, Some(file)) => (file.display().to_string(), cause.to_string()),
        (ConfigError::Message(_), _) => (named("the environment"), named("a variable is not UTF-8")),
        (other, _) => (named("the configuration"), other.to_string()),
    };
    let mut lines =
        text.lines().filter(|line| !line.trim_start().starts_with(|c: char| c == '|' || c.is_ascii_digit()));
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => anyhow!("{place}: {first}: {last}"),
        None => anyhow!("{place}: {first}"),
    }
}

#[cfg(test)]
impl Reader {
    pub(super) fn of_texts(file: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let variables = variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let file = ConfigFile { path: "quipu.toml".into(), text: file.to_owned() };
        Self::of_sources(Some(&file), environment().source(Some(variables.collect())))
    }

    /// The configured keys that have not been taken yet.
    pub(super) fn configured(&self) -> BTreeSet<String> {
        self.texts.keys().cloned().collect()
    }

    /// The keys that exist, which are those that were asked for.
    pub(super) fn known(&self) -> BTreeSet<String> {
        self.keys.iter().copied().map(str::to_owned).collect()
    }
}
