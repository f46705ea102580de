//! The files that a page loads: its style, its script, its icon. The name of each has a hash of its content,
//! so that a browser may keep it for ever and never shows an old one.

use std::sync::LazyLock;

use quipu_merchants::Accent;
use quipu_signing::sha256_hex;

use crate::accent::style_sheet;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
const GUIDE: &str = include_str!("../assets/guide.css");
/// The icon of all pages, as SVG.
pub const ICON: &str = include_str!("../assets/icon.svg");

static STYLE_NAME: LazyLock<String> = LazyLock::new(|| named("page", STYLE, "css"));
static SCRIPT_NAME: LazyLock<String> = LazyLock::new(|| named("page", SCRIPT, "js"));
static GUIDE_NAME: LazyLock<String> = LazyLock::new(|| named("guide", GUIDE, "css"));
static ICON_NAME: LazyLock<String> = LazyLock::new(|| named("icon", ICON, "svg"));

fn named(stem: &str, content: &str, ending: &str) -> String {
    let hash = sha256_hex(content.as_bytes());
    format!("{stem}-{}.{ending}", &hash[..12])
}

/// A file and its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its media type.
    pub content_type: &'static str,
    /// The content of the file.
    pub body: String,
}

/// The file with this name below `/assets`, if there is one. A merchant's colours are a file too, since a
/// page may not have inline styles.
pub fn asset(name: &str) -> Option<Asset> {
    let asset = |content_type, body: &str| Some(Asset { content_type, body: body.to_owned() });
    if name == *STYLE_NAME {
        return asset("text/css; charset=utf-8", STYLE);
    }
    if name == *SCRIPT_NAME {
        return asset("text/javascript; charset=utf-8", SCRIPT);
    }
    if name == *GUIDE_NAME {
        return asset("text/css; charset=utf-8", GUIDE);
    }
    if name == *ICON_NAME {
        return asset("image/svg+xml", ICON);
    }
    let digits = name.strip_prefix("accent-")?.strip_suffix(".css")?;
    let sheet = style_sheet(Accent::of_hex(digits)?);
    asset("text/css; charset=utf-8", &sheet)
}

/// The paths of the files, for a public address whose path is `root`.
pub(crate) fn style(root: &str) -> String {
    format!("{root}/assets/{}", *STYLE_NAME)
}

pub(crate) fn script(root: &str) -> String {
    format!("{root}/assets/{}", *SCRIPT_NAME)
}

pub(crate) fn guide_style(root: &str) -> String {
    format!("{root}/assets/{}", *GUIDE_NAME)
}

pub(crate) fn icon(root: &str) -> String {
    format!("{root}/assets/{}", *ICON_NAME)
}

pub(crate) fn colours(root: &str, accent: Accent) -> String {
    format!("{root}/assets/accent-{}.css", accent.hex())
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
            assert!(asset(name).is_some(), "{name}");
        }
        for name in ["", "page.css", "accent-.css", "accent-zzzzzz.css", "accent-0f5c63", "../Cargo.toml"] {
            assert_eq!(asset(name), None, "{name}");
        }
    }
}
