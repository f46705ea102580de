//! Pages with a single message, and the front page.

use askama::Template;

use crate::{accent::OWN_ACCENT, assets, rendered::rendered, words::Words};

/// The message of a page that shows no payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// No payment has this address.
    NoPage,
    /// Too many requests came from the client's address.
    TooMany,
    /// The gateway cannot answer now.
    Unavailable,
}

#[derive(Template)]
#[template(path = "notice.html")]
struct NoticePage {
    language: &'static str,
    headline: String,
    text: String,
    style: String,
    colours: String,
    icon: String,
}

impl Notice {
    /// The page as HTML, for a public address whose path is `root`.
    pub fn html(self, words: Words, root: &str) -> String {
        let (headline, text) = match self {
            Self::NoPage => ("no-page", "no-page-text"),
            Self::TooMany => ("too-many", "too-many-text"),
            Self::Unavailable => ("unavailable", "unavailable-text"),
        };
        let page = NoticePage {
            language: words.language().code(),
            headline: words.say(headline),
            text: words.say(text),
            style: assets::style(root),
            colours: assets::colours(root, OWN_ACCENT),
            icon: assets::icon(root),
        };
        rendered(&page)
    }
}

/// A link of the front page.
#[derive(Debug, Clone)]
pub struct FrontLink {
    /// The name of the page it leads to.
    pub what: &'static str,
    /// The address it leads to.
    pub href: String,
    /// The link's words.
    pub text: String,
}

#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage<'a> {
    links: &'a [FrontLink],
    style: String,
    colours: String,
    icon: String,
}

/// The front page as HTML. It is for developers, so it is in English only.
pub fn front(links: &[FrontLink], root: &str) -> String {
    let page = FrontPage {
        links,
        style: assets::style(root),
        colours: assets::colours(root, OWN_ACCENT),
        icon: assets::icon(root),
    };
    rendered(&page)
}
