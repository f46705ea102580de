//! No link of a document leads nowhere: the file is there, and so is the heading.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{files, root};

/// The anchors of a page, as they follow from its headings: small letters, blanks become hyphens, and of the rest only
/// letters, digits, hyphens and underscores stay. A heading that stands there again gets a number.
fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::<String, u32>::new();
    prose(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let times = seen.entry(slug.clone()).or_default();
            *times += 1;
            if *times == 1 { slug } else { format!("{slug}-{}", *times - 1) }
        })
        .collect()
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn links(text: &str) -> Vec<String> {
    let prose: Vec<_> = prose(text).collect();
    let prose = prose.join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend(files(&root().join("crates"), "md"));
    pages.extend(files(&root().join("deploy"), "md"));
    pages.extend(["README.md", "CONTRIBUTING.md", "tests/README.md"].map(|page| root().join(page)));
    // Not deeper: the browser tests keep pages of other people in `node_modules`.
    let below = std::fs::read_dir(root().join("tests")).expect("the tests");
    let below = below.map(|entry| entry.expect("a folder's entry").path().join("README.md"));
    pages.extend(below.filter(|page| page.exists()));
    pages
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

#[test]
fn documents_link_only_to_files_and_headings_that_exist() {
    let (mut dead, mut seen) = (Vec::new(), 0);
    for page in pages() {
        let folder = page.parent().expect("a file is in a folder");
        for target in links(&read(&page)) {
            // Rust paths are resolved by rustdoc, which refuses dead ones.
            if target.contains("::") || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, anchor) =
                target.split_once('#').map_or((target.as_str(), None), |(file, it)| (file, Some(it)));
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let leads_somewhere = match anchor {
                Some(anchor) if file.extension().is_some_and(|it| it == "md") && file.exists() => {
                    anchors(&read(&file)).iter().any(|known| known == anchor)
                }
                _ => file.exists(),
            };
            if !leads_somewhere {
                dead.push(format!("{} links to {target}", page.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} links: are the documents still here?");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// Comments cite a heading as `docs/API.md, "Create"`.
#[test]
fn comments_cite_only_headings_that_exist() {
    let root = root();
    let (mut dead, mut seen) = (Vec::new(), 0);
    for folder in ["crates", "tests", "fuzz"] {
        for source in files(&root.join(folder), "rs") {
            let text = read(&source);
            for cited in text.split("docs/").skip(1) {
                let Some((page, rest)) = cited.split_once(".md, \"") else { continue };
                if page.contains(|c: char| !c.is_ascii_uppercase() && c != '-') {
                    continue;
                }
                // A long citation goes on in the next line of the comment.
                let heading = rest.split_once('"').expect("a citation ends").0;
                let lines = heading.lines().map(|line| line.trim().trim_start_matches(['/', '!']).trim());
                let heading = lines.collect::<Vec<_>>().join(" ");
                seen += 1;
                let page = read(&root.join("docs").join(page).with_extension("md"));
                let mut headings = prose(&page).filter(|line| line.starts_with('#'));
                if !headings.any(|line| line.trim_start_matches('#').trim() == heading) {
                    dead.push(format!("{} cites {heading:?}", source.display()));
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} citations: are they written in another way?");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn headings_become_anchors() {
    let text = "# One two\n```\n# no heading\n```\n## `Idempotency-Key`: what, and why?\n## One two\n";
    assert_eq!(anchors(text), ["one-two", "idempotency-key-what-and-why", "one-two-1"]);
}
