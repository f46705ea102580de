//! The page that stands in for a payment scheme's own in the test environment.

use askama::Template;
use quipu_payments::{Payment, RedirectScheme};

use crate::{
    brand::Brand,
    frame::Frame,
    language::Language,
    money::{self, Shown},
    story::is_live,
    words::Words,
};

/// What the payer chose there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeAnswer {
    /// The payment succeeds.
    Approve,
    /// It fails.
    Decline,
    /// It stays open.
    Leave,
}

impl SchemeAnswer {
    /// Reads the form's `decision`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "approve" => Some(Self::Approve),
            "decline" => Some(Self::Decline),
            "leave" => Some(Self::Leave),
            _ => None,
        }
    }
}

/// What the page is made of.
#[derive(Debug, Clone, Copy)]
pub struct SchemeView<'a> {
    /// The payment.
    pub payment: &'a Payment,
    /// Whose it is.
    pub brand: &'a Brand,
    /// In which language.
    pub words: Words,
    /// The path of the public address, without a slash at its end.
    pub root: &'a str,
    /// The page's own path, below the root.
    pub path: &'a str,
    /// Where the payer goes afterwards, if there is somewhere.
    pub back: Option<&'a str>,
    /// What was just chosen.
    pub answer: Option<SchemeAnswer>,
}

#[derive(Template)]
#[template(path = "scheme.html")]
struct SchemePage {
    frame: Frame,
    words: Words,
    amount: Shown,
    scheme: Option<&'static str>,
    outcome: Option<String>,
    open: bool,
    action: String,
    back: Option<String>,
}

const fn name_of(scheme: RedirectScheme) -> &'static str {
    match scheme {
        RedirectScheme::Visa => "Visa",
        RedirectScheme::Mc => "Mastercard",
        RedirectScheme::RedirectPay => "RedirectPay",
        RedirectScheme::Lqr => "LankaQR",
    }
}

/// The page as HTML.
pub fn scheme_page(view: SchemeView<'_>) -> String {
    let SchemeView { payment, brand, words, root, path, .. } = view;
    let terms = payment.terms();
    let href = |language: Language| format!("{root}{path}?lang={}", language.code());
    let frame = Frame::new(brand, words, root, &words.say("scheme-title"), href).of_test(true);
    let open = is_live(payment.status());
    let outcome = match view.answer {
        _ if !open => Some(words.say("scheme-over")),
        Some(SchemeAnswer::Leave) => Some(words.say("scheme-left-open")),
        _ => None,
    };
    let page = SchemePage {
        frame,
        words,
        amount: money::shown(terms.amount.get(), terms.currency),
        scheme: terms.redirect_scheme.map(name_of),
        outcome,
        open,
        action: href(words.language()),
        back: view.back.map(str::to_owned),
    };
    page.render().unwrap_or_default()
}
