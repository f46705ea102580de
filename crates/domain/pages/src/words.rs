//! The texts of the pages, from one message file for each language.

use std::{borrow::Cow, sync::LazyLock};

use fluent_bundle::{FluentArgs, FluentResource, concurrent::FluentBundle};
use unic_langid::LanguageIdentifier;

use crate::language::Language;

type Bundle = FluentBundle<FluentResource>;

/// The messages of every language, in the order of [`Language::ALL`], read once.
static BUNDLES: LazyLock<Vec<Bundle>> = LazyLock::new(|| Language::ALL.into_iter().map(bundle).collect());

const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../messages/en.ftl"),
        Language::Spanish => include_str!("../messages/es.ftl"),
        Language::Turkish => include_str!("../messages/tr.ftl"),
        Language::Sinhala => include_str!("../messages/si.ftl"),
        Language::Georgian => include_str!("../messages/ka.ftl"),
        Language::Portuguese => include_str!("../messages/pt.ftl"),
    }
}

/// Reads the message file of a language. If a message has a mistake, the others are read all the same; the
/// tests refuse such a file.
fn bundle(language: Language) -> Bundle {
    let tag: LanguageIdentifier = language.code().parse().unwrap_or_default();
    let mut bundle = Bundle::new_concurrent(vec![tag]);
    // Isolating marks are invisible, and would be copied together with a value.
    bundle.set_use_isolating(false);
    let resource = FluentResource::try_new(source(language).to_owned());
    bundle.add_resource_overriding(resource.unwrap_or_else(|(partial, _)| partial));
    bundle
}

/// The texts of one language.
#[derive(Debug, Clone, Copy)]
pub struct Words(Language);

impl Words {
    /// The texts of this language.
    pub const fn of(language: Language) -> Self {
        Self(language)
    }

    /// The language of the texts.
    pub const fn language(self) -> Language {
        self.0
    }

    /// A message without variables.
    pub fn say(self, key: &str) -> String {
        self.say_with(key, &[])
    }

    /// A message with values for its variables.
    pub fn say_with(self, key: &str, values: &[(&str, &str)]) -> String {
        let mut arguments = FluentArgs::new();
        for (name, value) in values {
            arguments.set(Cow::Owned((*name).to_owned()), Cow::Owned::<str>((*value).to_owned()));
        }
        let told = find(self.0, key, &arguments).or_else(|| find(Language::English, key, &arguments));
        debug_assert!(told.is_some(), "there is no message {key}");
        told.unwrap_or_default()
    }
}

fn find(language: Language, key: &str, arguments: &FluentArgs<'_>) -> Option<String> {
    let place = Language::ALL.iter().position(|known| *known == language)?;
    let bundle = BUNDLES.get(place)?;
    let pattern = bundle.get_message(key)?.value()?;
    let mut errors = Vec::new();
    let text = bundle.format_pattern(pattern, Some(arguments), &mut errors);
    debug_assert!(errors.is_empty(), "{key} in {language:?}: {errors:?}");
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// All messages of a file with the variables that each names.
    fn messages(language: Language) -> BTreeMap<String, BTreeSet<String>> {
        let mut found = BTreeMap::new();
        let mut key = String::new();
        for line in source(language).lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, _)) = line.split_once(" = ").filter(|_| !line.starts_with(' ')) {
                name.clone_into(&mut key);
                assert!(found.insert(key.clone(), BTreeSet::new()).is_none(), "{key} stands twice");
            }
            let variables: &mut BTreeSet<String> = match found.get_mut(&key) {
                Some(variables) => variables,
                None => continue,
            };
            let names = line.split("{ $").skip(1).filter_map(|rest| rest.split_once(" }"));
            variables.extend(names.map(|(name, _)| name.to_owned()));
        }
        found
    }

    #[test]
    fn every_file_is_read_without_a_mistake() {
        for language in Language::ALL {
            let resource = FluentResource::try_new(source(language).to_owned());
            assert!(resource.is_ok(), "{language:?}: {:?}", resource.err().map(|(_, errors)| errors));
        }
    }

    #[test]
    fn every_language_has_every_message_with_the_same_variables() {
        let english = messages(Language::English);
        assert!(english.len() > 60);
        for language in Language::ALL {
            let others = messages(language);
            for (key, variables) in &english {
                assert_eq!(others.get(key), Some(variables), "{key} in {language:?}");
            }
            assert_eq!(others.len(), english.len(), "{language:?} has messages that English has not");
        }
    }

    #[test]
    fn every_message_is_used() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut code = String::new();
        for part in ["src", "templates"] {
            for file in std::fs::read_dir(folder.join(part)).expect("a folder") {
                code.push_str(&std::fs::read_to_string(file.expect("a file").path()).expect("a text"));
            }
        }
        for key in messages(Language::English).keys() {
            let used = |key: &str| code.contains(&format!("\"{key}\""));
            // A story is told by its headline's key, and its text by the same with an ending.
            assert!(used(key) || key.strip_suffix("-text").is_some_and(used), "nobody says {key}");
        }
    }

    #[test]
    fn numbers_that_stand_on_one_page_have_names_of_their_own() {
        let labels = [
            "reference",
            "payment-number",
            "field-purpose",
            "field-barcode",
            "field-voucher",
            "field-bank-account",
            "field-clabe",
            "field-cbu",
        ];
        for language in Language::ALL {
            let names: BTreeSet<_> = labels.iter().map(|label| Words::of(language).say(label)).collect();
            assert_eq!(names.len(), labels.len(), "{language:?}: {names:?}");
        }
    }

    #[test]
    fn no_message_was_left_in_english() {
        let words = |language, key: &str, variables: &BTreeSet<String>| {
            let values: Vec<_> = variables.iter().map(|name| (name.as_str(), "1")).collect();
            Words::of(language).say_with(key, &values)
        };
        // Names of standards are the same everywhere, and a word may be the same in two languages.
        let shared =
            ["field-clabe", "field-swift", "field-payid", "field-bsb", "payid-abn", "title-of", "days"];
        for (key, variables) in messages(Language::English) {
            for language in &Language::ALL[1..] {
                let same = words(*language, &key, &variables) == words(Language::English, &key, &variables);
                assert!(!same || shared.contains(&key.as_str()), "{key} in {language:?}");
            }
        }
    }
}
