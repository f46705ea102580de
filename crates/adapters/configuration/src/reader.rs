//! Reads keys from the file and the environment one by one, and collects all problems.

use std::{collections::BTreeSet, path::Path};

use toml::de::{DeInteger, DeValue};

use crate::{
    environment::{self, Texts},
    file::ConfigFile,
    key,
    refused::{Problem, Refused},
    values::Expected,
};

/// The configured keys that have not been taken yet.
#[derive(Default)]
pub(crate) struct Reader {
    texts: Texts,
    problems: Vec<Problem>,
    /// Tables of the file without members, which must be those of known keys.
    empty: Vec<String>,
    keys: BTreeSet<&'static str>,
    /// The keys of sections whose names the operator chooses, with a placeholder for the name.
    keys_below: Vec<&'static str>,
}

impl Reader {
    /// The named file, which must exist, or else `quipu.toml` if there is one; then the environment over it.
    pub(crate) fn of_file_and_environment(file: Option<&Path>) -> Result<Self, Refused> {
        let file = ConfigFile::find(file)?;
        match environment::of_process() {
            Ok(variables) => Self::over(file.as_ref(), variables),
            Err(problem) => {
                let mut reader = Self::over(file.as_ref(), Texts::new())?;
                reader.problems.push(problem);
                Ok(reader)
            }
        }
    }

    /// What the file says, but for the keys that variables set.
    pub(crate) fn over(file: Option<&ConfigFile>, variables: Texts) -> Result<Self, Refused> {
        let mut reader = Self { texts: variables, ..Self::default() };
        let tables = file.map(ConfigFile::tables).transpose()?;
        for (name, value) in tables.into_iter().flatten() {
            reader.add(key::below("", name.get_ref()), value.into_inner());
        }
        Ok(reader)
    }

    /// Keeps a value of the file as one text under its full key: tables become dots, lists commas.
    fn add(&mut self, key: String, value: DeValue<'_>) {
        match value {
            DeValue::Table(members) => {
                let below = format!("{key}.");
                if members.is_empty() && !self.texts.keys().any(|key| key.starts_with(&below)) {
                    self.empty.push(below);
                }
                for (name, member) in members {
                    self.add(key::below(&key, name.get_ref()), member.into_inner());
                }
            }
            _ if self.texts.contains_key(&key) => {}
            value => match text(value) {
                Some(text) => drop(self.texts.insert(key, text)),
                None => self.problem(key, "must be a list of plain values"),
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
        parse(&text).inspect_err(|expected| self.problem(key, format!("must be {expected}"))).ok()
    }

    /// All values below `prefix`, by the rest of their keys: for sections whose names the operator chooses.
    /// `keys` are those that there may be, with a placeholder for the name.
    pub(crate) fn take_below(&mut self, prefix: &str, keys: [&'static str; 2]) -> Vec<(String, String)> {
        self.keys_below.extend(keys);
        let keys: Vec<_> = self.texts.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        let take = |key: String| Some((key.strip_prefix(prefix)?.to_owned(), self.texts.remove(&key)?));
        keys.into_iter().filter_map(take).collect()
    }

    /// Notes what is wrong with a key.
    pub(crate) fn problem(&mut self, key: impl Into<String>, what: impl Into<String>) {
        self.problems.push(Problem::new(key, what));
    }

    /// Ends the reading: fails if there were problems, or if a key was not taken.
    pub(crate) fn finish(&mut self) -> Result<(), Refused> {
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(self.texts.keys().map(|key| Problem::new(key, "is not a known key")));
        let is_known =
            |table: &str| self.keys.iter().any(|key| key.starts_with(table)) || table == "rails.http.";
        let unknown =
            self.empty.iter().filter(|table| !is_known(table)).map(|table| table.trim_end_matches('.'));
        problems.extend(unknown.map(|table| Problem::new(table, "is a section without keys")));
        if problems.is_empty() {
            return Ok(());
        }
        Err(Refused::Wrong { problems, keys: self.keys.iter().chain(&self.keys_below).copied().collect() })
    }
}

/// A value as text; `None` if a list holds more than plain values.
fn text(value: DeValue<'_>) -> Option<String> {
    let DeValue::Array(items) = value else { return plain(value) };
    let texts: Option<Vec<_>> = items.into_iter().map(|item| plain(item.into_inner())).collect();
    texts.map(|texts| texts.join(","))
}

fn plain(value: DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.into_owned()),
        DeValue::Integer(number) => Some(whole(&number)),
        DeValue::Float(number) => {
            let as_number = number.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
            Some(as_number.map_or_else(|| number.to_string(), |number| number.to_string()))
        }
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(at) => Some(at.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// A whole number in decimal digits. One that is larger than all that a key can have stays as it is written.
fn whole(number: &DeInteger<'_>) -> String {
    let value = i128::from_str_radix(number.as_str(), number.radix());
    value.map_or_else(|_| number.to_string(), |value| value.to_string())
}

#[cfg(test)]
impl Reader {
    pub(crate) fn of_texts(file: &str, variables: &[(&str, &str)]) -> Result<Self, Refused> {
        let file = ConfigFile::of_bytes(Path::new("quipu.toml"), file.into())?;
        Self::over(Some(&file), environment::of_pairs(variables))
    }

    /// The configured keys that have not been taken yet.
    pub(crate) fn configured(&self) -> BTreeSet<String> {
        self.texts.keys().cloned().collect()
    }

    /// The keys that exist, which are those that were asked for.
    pub(crate) fn known(&self) -> BTreeSet<String> {
        self.keys.iter().copied().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(file: &str, key: &'static str) -> Option<String> {
        let mut reader = Reader::of_texts(file, &[]).expect("TOML");
        reader.take(key, |text| Ok(text.to_owned()))
    }

    #[test]
    fn a_value_may_be_written_as_what_it_is() {
        for (written, read) in [
            ("'5m'", "5m"),
            ("1_000", "1000"),
            ("0xff", "255"),
            ("2.0", "2"),
            ("true", "true"),
            ("1979-05-27", "1979-05-27"),
            ("['a', 1]", "a,1"),
            ("[]", ""),
        ] {
            assert_eq!(taken(&format!("key = {written}"), "key").as_deref(), Some(read), "{written}");
        }
    }

    #[test]
    fn a_number_beyond_all_bounds_is_a_value_like_any_other() {
        for written in ["9".repeat(50), format!("0x{}", "f".repeat(50)), "1e999".to_owned(), "inf".to_owned()]
        {
            let mut reader = Reader::of_texts(&format!("key = {written}"), &[]).expect("TOML");
            assert_eq!(reader.take("key", crate::values::count), None, "{written}");
            let refused = reader.finish().expect_err("it is no count").to_string();
            assert!(refused.contains("key must be a whole number above zero"), "{refused}");
        }
    }

    #[test]
    fn a_variable_hides_what_is_wrong_with_its_key_in_the_file() {
        let file = "key = [[1]]\n[other]\nkey = 1";
        let mut reader =
            Reader::of_texts(file, &[("QUIPU__KEY", "2"), ("QUIPU__OTHER__KEY", "3")]).expect("TOML");
        let mut take = |key| reader.take(key, |text| Ok(text.to_owned()));
        assert_eq!([take("key"), take("other.key")].map(Option::unwrap_or_default), ["2", "3"]);
        reader.finish().expect("nothing is wrong");
    }

    #[test]
    fn a_section_without_keys_is_that_of_known_keys() {
        for (file, refused) in [
            ("[limits]", None),
            ("[rails.http]", None),
            ("[rails.http.acme]", None),
            ("[rails.http.other]", Some("rails.http.other is a section without keys")),
            ("[limit]", Some("limit is a section without keys")),
        ] {
            let variables = [("QUIPU__RAILS__HTTP__ACME__URL", "x")];
            let mut reader = Reader::of_texts(file, &variables).expect("TOML");
            let _taken = reader.take("limits.connections", |text| Ok(text.to_owned()));
            let _providers =
                reader.take_below("rails.http.", ["rails.http.NAME.url", "rails.http.NAME.secret"]);
            let told = reader.finish().err().map(|refused| refused.to_string());
            assert_eq!(told.is_some(), refused.is_some(), "{file}: {told:?}");
            assert!(told.unwrap_or_default().contains(refused.unwrap_or_default()), "{file}");
        }
    }

    #[test]
    fn a_name_is_no_path_to_another_key() {
        for name in ["limits.connections", "a[99999999999999]", "a[-9223372036854775808]", "", "a\\nb"] {
            let mut reader = Reader::of_texts(&format!("\"{name}\" = 5"), &[]).expect("TOML");
            assert_eq!(reader.take("limits.connections", |text| Ok(text.to_owned())), None);
            let refused = reader.finish().expect_err("there is no such key").to_string();
            assert!(refused.contains(&format!("\n  \"{name}\" is not a known key\n")), "{refused}");
        }
    }

    #[test]
    fn depth_is_refused_and_not_followed() {
        for file in [format!("a = {}", "[".repeat(100_000)), "a.".repeat(100_000) + "b = 1"] {
            let refused = Reader::of_texts(&file, &[]).map(drop).expect_err("too deep").to_string();
            assert!(refused.starts_with("quipu.toml: line 1: "), "{refused}");
        }
    }
}
