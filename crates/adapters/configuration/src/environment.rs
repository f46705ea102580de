//! The variables `QUIPU__SECTION__KEY` of the environment.

use std::collections::BTreeMap;

use config::{ConfigError, Environment, Source as _};

use crate::{key, refused::Problem};

/// Values by the full names of their keys.
pub(crate) type Texts = BTreeMap<String, String>;

/// What the variables of this process set.
pub(crate) fn of_process() -> Result<Texts, Problem> {
    collected(&variables())
}

fn variables() -> Environment {
    Environment::with_prefix("QUIPU").prefix_separator("__").separator("__")
}

fn collected(variables: &Environment) -> Result<Texts, Problem> {
    let values = variables.collect().map_err(|error| not_text(&error))?;
    let texts = values.into_iter().filter_map(|(name, value)| {
        let key = name.split('.').fold(String::new(), |table, part| key::below(&table, part));
        Some((key, value.into_string().ok()?))
    });
    Ok(texts.collect())
}

/// The only problem that there can be. The library names the variable in quotation marks, and its value after that.
fn not_text(error: &ConfigError) -> Problem {
    let told = error.to_string();
    let name = told.split('"').nth(1).unwrap_or_default();
    let variable = format!("QUIPU__{}", name.to_uppercase());
    Problem::new(variable, "must be UTF-8")
}

/// What these variables set.
#[cfg(test)]
pub(crate) fn of_pairs(variables_set: &[(&str, &str)]) -> Texts {
    let pairs = variables_set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    collected(&variables().source(Some(pairs.collect()))).expect("texts are UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_key_and_no_variable_makes_others() {
        let set = [("QUIPU__LOG__LEVEL", "debug"), ("QUIPU__A[99999999999999]", "1"), ("OTHER__LOG", "2")];
        let texts = of_pairs(&set);
        let keys: Vec<_> = texts.keys().map(String::as_str).collect();
        assert_eq!(keys, ["\"a[99999999999999]\"", "log.level"]);
    }

    #[test]
    fn a_value_that_is_no_text_is_told_by_its_variable() {
        // As the library tells it.
        let told = r#"env variable "log__level" contains non-Unicode data: "c2VjcmV0\xFF""#;
        let problem = not_text(&ConfigError::Message(told.to_owned()));
        assert_eq!(problem.to_string(), "QUIPU__LOG__LEVEL must be UTF-8");
    }
}
