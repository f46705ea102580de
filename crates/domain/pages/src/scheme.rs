//! The page that plays the part of a payment scheme in the test environment.

use askama::Template;
use quipu_payments::{Payment, RedirectScheme, SchemeDecision, Status};

use crate::{
    brand::Brand,
    frame::Frame,
    language::Language,
    money::{self, Shown},
    rendered::rendered,
    story::is_live,
    words::Words,
};

/// Everything that the page is made from.
#[derive(Debug, Clone, Copy)]
pub struct SchemeView<'a> {
    /// The payment.
    pub payment: &'a Payment,
    /// The brand of its merchant.
    pub brand: &'a Brand,
    /// The words in the language of the page.
    pub words: Words,
    /// The path of the public address, without a slash at its end.
    pub root: &'a str,
    /// The page's own path, below the root.
    pub path: &'a str,
    /// The address to which the payer returns, if there is one.
    pub back: Option<&'a str>,
    /// The decision that the payer has just made.
    pub decision: Option<SchemeDecision>,
}

#[derive(Template)]
#[template(path = "scheme.html")]
struct SchemePage {
    frame: Frame,
    words: Words,
    amount: Shown,
    scheme: Option<String>,
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
    let left_open = view.decision == Some(SchemeDecision::Leave);
    let outcome = match payment.status() {
        Status::Pending | Status::Processing => left_open.then_some("scheme-left-open"),
        Status::Completed | Status::Refunded | Status::PartialRefund => Some("scheme-approved"),
        Status::Failed => Some("scheme-declined"),
        Status::Cancelled | Status::Expired => Some("scheme-over"),
    };
    let scheme = terms.redirect_scheme.map(name_of);
    let page = SchemePage {
        frame,
        words,
        amount: money::shown(terms.amount.minor(), terms.currency),
        scheme: scheme.map(|name| words.say_with("scheme-name", &[("name", name)])),
        outcome: outcome.map(|key| words.say(key)),
        open,
        action: href(words.language()),
        back: view.back.map(str::to_owned),
    };
    rendered(&page)
}
