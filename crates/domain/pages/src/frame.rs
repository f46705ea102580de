//! The frame around every page of a merchant: the brand, the languages, the files.

use crate::{assets, brand::Brand, language::Language, words::Words};

/// A link to the same page in another language.
pub(crate) struct Choice {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    pub(crate) href: String,
}

/// The frame of a page.
pub(crate) struct Frame {
    pub(crate) words: Words,
    pub(crate) language: &'static str,
    pub(crate) title: String,
    pub(crate) merchant: String,
    pub(crate) logo: Option<String>,
    pub(crate) letter: String,
    pub(crate) test: Option<String>,
    pub(crate) style: String,
    pub(crate) colours: String,
    pub(crate) icon: String,
    pub(crate) choices: Vec<Choice>,
}

impl Frame {
    /// A page with the title `what`. `href` gives the address of the page in another language.
    pub(crate) fn new(
        brand: &Brand,
        words: Words,
        root: &str,
        what: &str,
        href: impl Fn(Language) -> String,
    ) -> Self {
        let choice = |language: Language| Choice {
            code: language.code(),
            name: language.own_name(),
            href: href(language),
        };
        Self {
            words,
            language: words.language().code(),
            title: words.say_with("title-of", &[("what", what), ("merchant", &brand.name)]),
            merchant: brand.name.clone(),
            logo: brand.logo_path().map(|path| format!("{root}{path}")),
            letter: initial(&brand.name),
            test: None,
            style: assets::style(root),
            colours: assets::colours(root, brand.accent),
            icon: assets::icon(root),
            choices: Language::ALL.into_iter().map(choice).collect(),
        }
    }

    /// The same frame, marked as one of the test environment.
    pub(crate) fn of_test(mut self, is_test: bool) -> Self {
        self.test = is_test.then(|| self.words.say("test-mark"));
        self
    }
}

/// The letter that stands for a merchant without a logo. Georgian has capitals that no name begins with, and that older
/// devices cannot show.
fn initial(name: &str) -> String {
    match name.chars().find(|letter| letter.is_alphanumeric()).unwrap_or('•') {
        georgian @ '\u{10D0}'..='\u{10FF}' => georgian.to_string(),
        letter => letter.to_uppercase().collect(),
    }
}
