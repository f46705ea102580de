//! Where a page and what belongs to it is found.

use crate::language::Language;

/// The addresses of one payment's page. Only the token tells them from those of other payments.
#[derive(Debug, Clone)]
pub struct Place {
    path: String,
    language: Language,
}

impl Place {
    /// The page of this token. `root` is the path of the public address, without a slash at its end; most have none.
    pub fn new(root: &str, token: &str, language: Language) -> Self {
        Self { path: format!("{root}/payment-pages/{token}"), language }
    }

    /// The page in its language.
    pub fn page(&self) -> String {
        self.page_in(self.language)
    }

    /// The page in another language.
    pub fn page_in(&self, language: Language) -> String {
        format!("{}?lang={}", self.path, language.code())
    }

    /// The JSON that the script asks for.
    pub fn details(&self) -> String {
        format!("{}/details?lang={}", self.path, self.language.code())
    }

    /// The stream of changes.
    pub fn events(&self) -> String {
        format!("{}/events?lang={}", self.path, self.language.code())
    }

    /// Where the recipient's form goes.
    pub fn recipient(&self) -> String {
        format!("{}/recipient?lang={}", self.path, self.language.code())
    }
}
