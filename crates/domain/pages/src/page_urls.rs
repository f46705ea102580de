//! The addresses of a payment's page and of what belongs to it.

use crate::language::Language;

/// The addresses of one payment's page. They differ from those of other payments by the token only.
#[derive(Debug, Clone)]
pub struct PageUrls {
    path: String,
    language: Language,
}

impl PageUrls {
    /// The addresses for this token. `root` is the path of the public address, without a slash at its end; it
    /// is usually empty.
    pub fn new(root: &str, token: &str, language: Language) -> Self {
        Self { path: format!("{root}/payment-pages/{token}"), language }
    }

    /// The address of the page in its language.
    pub fn page(&self) -> String {
        self.page_in(self.language)
    }

    /// The address of the page in another language.
    pub fn page_in(&self, language: Language) -> String {
        format!("{}?lang={}", self.path, language.code())
    }

    /// The address of the JSON that the script asks for.
    pub fn details(&self) -> String {
        format!("{}/details?lang={}", self.path, self.language.code())
    }

    /// The address of the stream of changes.
    pub fn events(&self) -> String {
        format!("{}/events?lang={}", self.path, self.language.code())
    }

    /// The address to which the recipient's form is sent.
    pub fn recipient(&self) -> String {
        format!("{}/recipient?lang={}", self.path, self.language.code())
    }
}
