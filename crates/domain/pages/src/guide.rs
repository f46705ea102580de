//! The guides of `docs/` as pages, so that a merchant can read on the gateway itself the guides of its
//! release.

use askama::Template;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::{accent::OWN_ACCENT, assets, rendered::rendered};

/// A guide: the last part of its address, its title, and its text in Markdown.
#[derive(Debug, Clone, Copy)]
pub struct Guide {
    /// The last part of its address, and the name of its file in `docs/` in small letters.
    pub name: &'static str,
    /// The words of a link to it.
    pub title: &'static str,
    text: &'static str,
}

macro_rules! guides {
    ($($name:literal, $title:literal, $file:literal;)+) => {
        &[$(Guide { name: $name, title: $title, text: include_str!(concat!("../../../../docs/", $file)) },)+]
    };
}

/// The guides for merchants, in the order in which a merchant needs them.
pub static GUIDES: &[Guide] = guides! {
    "getting-started", "Getting started", "GETTING-STARTED.md";
    "api", "Guide for merchants", "API.md";
    "webhooks", "Webhooks", "WEBHOOKS.md";
    "signing", "Signing version 2 calls", "SIGNING.md";
    "testing", "Testing with the simulator", "TESTING.md";
    "errors", "Errors, and what to do", "ERRORS.md";
    "going-live", "Going live", "GOING-LIVE.md";
    "versioning", "Versions and deprecation", "VERSIONING.md";
    "comparison", "When to choose something else", "COMPARISON.md";
    "rail-protocol", "The protocol between Quipu and a payment provider", "RAIL-PROTOCOL.md";
};

#[derive(Template)]
#[template(path = "guide.html")]
struct GuidePage<'a> {
    title: &'a str,
    body: &'a str,
    home: String,
    style: String,
    guide_style: String,
    colours: String,
    icon: String,
}

impl Guide {
    /// The guide of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        GUIDES.iter().find(|guide| guide.name == name)
    }

    /// The page as HTML, for a public address whose path is `root`.
    pub fn html(&self, root: &str) -> String {
        let page = GuidePage {
            title: self.title,
            body: &self.body(root),
            home: format!("{root}/"),
            style: assets::style(root),
            guide_style: assets::guide_style(root),
            colours: assets::colours(root, OWN_ACCENT),
            icon: assets::icon(root),
        };
        rendered(&page)
    }

    fn body(&self, root: &str) -> String {
        let mut events: Vec<_> = Parser::new_ext(self.text, Options::ENABLE_TABLES).collect();
        name_headings(&mut events);
        let mut body = String::new();
        html::push_html(&mut body, linked(events, root).into_iter());
        body
    }
}

/// Gives each heading the anchor that links inside the guides use.
fn name_headings(events: &mut [Event<'_>]) {
    for at in 0..events.len() {
        let end = |event: &Event<'_>| matches!(event, Event::End(TagEnd::Heading(_)));
        let Some(length) = events[at..].iter().position(end) else { return };
        let words = events[at..at + length].iter().filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        });
        let name = slug(&words.collect::<String>());
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(name.into());
        }
    }
}

/// The anchor of a heading: `Retries and idempotency` is `retries-and-idempotency`.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

/// Turns links into links to pages that the gateway serves. A link to anything else of the project is
/// removed, and its words stay.
fn linked<'a>(events: Vec<Event<'a>>, root: &str) -> Vec<Event<'a>> {
    let mut is_kept = true;
    let keep = |event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = target(&dest_url, root);
            is_kept = dest_url.is_some();
            dest_url.map(|to| Event::Start(Tag::Link { link_type, dest_url: CowStr::from(to), title, id }))
        }
        Event::End(TagEnd::Link) if !is_kept => None,
        // Nothing in a guide is markup of its own.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        event => Some(event),
    };
    events.into_iter().filter_map(keep).collect()
}

fn target(link: &str, root: &str) -> Option<String> {
    if link.starts_with('#') || link.starts_with("https://") {
        return Some(link.to_owned());
    }
    let (file, part) =
        link.split_once('#').map_or((link, String::new()), |(file, part)| (file, format!("#{part}")));
    if file == "openapi.json" {
        return Some(format!("{root}/api/v1/openapi.json"));
    }
    let guide = Guide::named(&file.strip_suffix(".md")?.to_ascii_lowercase())?;
    Some(format!("{root}/guides/{}{part}", guide.name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_link_of_a_guide_leads_to_a_heading_that_is_there() {
        let mut names = BTreeSet::new();
        for guide in GUIDES {
            let body = guide.body("/pay");
            names.insert(format!("/pay/guides/{}", guide.name));
            for rest in body.split(" id=\"").skip(1) {
                let id = rest.split('"').next().expect("an id");
                names.insert(format!("/pay/guides/{}#{id}", guide.name));
            }
        }
        for guide in GUIDES {
            let body = guide.body("/pay");
            assert!(body.len() > 1_000, "{}", guide.name);
            for link in body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let whole = if link.starts_with('#') {
                    format!("/pay/guides/{}{link}", guide.name)
                } else {
                    link.to_owned()
                };
                let is_known = names.contains(&whole)
                    || link.starts_with("https://")
                    || link == "/pay/api/v1/openapi.json";
                assert!(is_known, "{} links to {link}", guide.name);
            }
        }
    }

    #[test]
    fn a_page_runs_and_loads_nothing_of_its_text() {
        for guide in GUIDES {
            let page = guide.html("");
            assert!(page.contains(&format!("<title>{} · Quipu</title>", guide.title)), "{}", guide.name);
            for foreign in ["<script", "style=\"", "<img", "http-equiv"] {
                assert!(!page.contains(foreign), "{} has {foreign}", guide.name);
            }
        }
    }
}
