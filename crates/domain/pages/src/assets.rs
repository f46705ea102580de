//! The files that a page loads: its style, its script, its icon, a merchant's colours. The name of each has a hash of its
//! content, so that a browser may keep it for ever and never shows an old one.

use std::sync::LazyLock;

use quipu_merchants::Accent;
use quipu_signing::sha256_hex;

use crate::accent::style_sheet;

/// The icon of all pages, as SVG.
pub const ICON: &str = include_str!("../assets/icon.svg");

const CSS: &str = "text/css; charset=utf-8";

static STYLE: LazyLock<File> =
    LazyLock::new(|| File::new("page", ".css", CSS, include_str!("../assets/page.css")));
static SCRIPT: LazyLock<File> = LazyLock::new(|| {
    File::new("page", ".js", "text/javascript; charset=utf-8", include_str!("../assets/page.js"))
});
static GUIDE: LazyLock<File> =
    LazyLock::new(|| File::new("guide", ".css", CSS, include_str!("../assets/guide.css")));
static ICON_FILE: LazyLock<File> = LazyLock::new(|| File::new("icon", ".svg", "image/svg+xml", ICON));

/// A file that all pages share.
struct File {
    stem: &'static str,
    ending: &'static str,
    content_type: &'static str,
    content: &'static str,
    name: String,
}

impl File {
    fn new(
        stem: &'static str,
        ending: &'static str,
        content_type: &'static str,
        content: &'static str,
    ) -> Self {
        let name = format!("{stem}-{}{ending}", hash(content));
        Self { stem, ending, content_type, content, name }
    }

    /// Whether a release has, or had, this file under this name.
    fn answers_to(&self, name: &str) -> bool {
        let hash = name.strip_prefix(self.stem).and_then(|rest| rest.strip_prefix('-'));
        hash.and_then(|rest| rest.strip_suffix(self.ending)).is_some_and(is_hash)
    }
}

/// The digits of a hash in a name.
const DIGITS: usize = 12;

fn hash(content: &str) -> String {
    sha256_hex(content.as_bytes())[..DIGITS].to_owned()
}

fn is_hash(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A file and its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its media type.
    pub content_type: &'static str,
    /// The content of the file.
    pub body: String,
    /// Whether the name asked for is that of this content. Otherwise nobody may keep it.
    pub is_lasting: bool,
}

/// The file with this name below `/assets`, if there is one. A merchant's colours are a file too, since a
/// page may not have inline styles. While nodes are replaced by a new release, a page may come from one node and its files
/// from another: a name with the hash of another release leads to the file of this one.
pub fn asset(name: &str) -> Option<Asset> {
    let shared = [&STYLE, &SCRIPT, &GUIDE, &ICON_FILE];
    if let Some(file) = shared.into_iter().find(|file| file.answers_to(name)) {
        let (content_type, body) = (file.content_type, file.content.to_owned());
        return Some(Asset { content_type, body, is_lasting: name == file.name });
    }
    let (digits, version) = name.strip_prefix("accent-")?.strip_suffix(".css")?.split_once('-')?;
    let body = style_sheet(Accent::of_hex(digits)?);
    is_hash(version).then(|| Asset { content_type: CSS, is_lasting: version == hash(&body), body })
}

/// The paths of the files, for a public address whose path is `root`.
pub(crate) fn style(root: &str) -> String {
    format!("{root}/assets/{}", STYLE.name)
}

pub(crate) fn script(root: &str) -> String {
    format!("{root}/assets/{}", SCRIPT.name)
}

pub(crate) fn guide_style(root: &str) -> String {
    format!("{root}/assets/{}", GUIDE.name)
}

pub(crate) fn icon(root: &str) -> String {
    format!("{root}/assets/{}", ICON_FILE.name)
}

pub(crate) fn colours(root: &str, accent: Accent) -> String {
    format!("{root}/assets/accent-{}-{}.css", accent.hex(), hash(&style_sheet(accent)))
}

/// What a page may do (Content Security Policy, level 3): load our own style, script, icon and logo, ask us,
/// send its form to us. Nothing may be inline, come from elsewhere, or run in a frame.
pub const fn policy() -> &'static str {
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accent::OWN_ACCENT;

    #[test]
    fn every_path_a_page_names_leads_to_a_file_and_no_other_does() {
        for path in [style(""), guide_style(""), script(""), icon(""), colours("", OWN_ACCENT)] {
            let name = path.strip_prefix("/assets/").expect("a path below /assets");
            let found = asset(name).expect(name);
            assert!(found.is_lasting, "{name}");
            // The same file as another release names it.
            let (stem, rest) = name.rsplit_once('-').expect("a hash");
            let other = format!("{stem}-{}{}", "0".repeat(DIGITS), &rest[DIGITS..]);
            assert_eq!(asset(&other), Some(Asset { is_lasting: false, ..found }), "{other}");
        }
        for name in [
            "",
            "page.css",
            "page-.css",
            "page-00000000000g.css",
            "page-000000000000.svg",
            "accent-.css",
            "accent-0f5c63.css",
            "accent-zzzzzz-000000000000.css",
            "accent-0f5c63",
            "../Cargo.toml",
        ] {
            assert_eq!(asset(name), None, "{name}");
        }
    }
}
