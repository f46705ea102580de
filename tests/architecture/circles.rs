//! No circle of imports between the files of a crate, nor between the folders at its top, so that a reader can
//! follow the imports of any file or folder downwards to an end.
//!
//! A folder's root file (`mod.rs`, `lib.rs`, `main.rs`) counts like any other file, with one exception: the
//! files of a folder may import from the root files of the folders around them, which hold what these files
//! share.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{files, root};

/// Folders and files that hold nothing but tests.
const TESTS: &[&str] = &["tests", "route_matrix"];

/// The path of a file's module in its crate; empty for the crate's root file.
type Place = Vec<String>;

fn place_of(source: &Path, file: &Path) -> Place {
    let relative = file.strip_prefix(source).expect("below the source").with_extension("");
    let mut place: Place =
        relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if place.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        place.pop();
    }
    place
}

/// The code without comments, up to the tests at its end.
fn code_of(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("source is UTF-8");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join(" ")
}

/// The paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in inside.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("never empty").push(letter);
    }
    let whole = parts.iter().filter(|part| !part.trim().is_empty());
    whole.flat_map(|part| paths(part)).map(|path| format!("{}{path}", before.trim())).collect()
}

fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("use ") {
        let is_word = code[..start].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        if let Some((tree, _)) = code[start + 4..].split_once(';').filter(|_| is_word) {
            found.extend(paths(tree));
        }
    }
    found
}

/// The file that an import leads to.
fn target(files: &BTreeMap<Place, String>, importer: &Place, path: &str) -> Option<Place> {
    let parts: Vec<&str> = path.split("::").map(str::trim).collect();
    let supers = parts.iter().take_while(|part| **part == "super").count();
    let mut full: Place = match parts.first().copied()? {
        "crate" => Place::new(),
        "self" => importer.clone(),
        "super" => importer[..importer.len().checked_sub(supers)?].to_vec(),
        first if files.contains_key(&[importer.as_slice(), &[first.to_owned()]].concat()) => importer.clone(),
        _ => return None,
    };
    let named = parts.iter().skip_while(|part| matches!(**part, "crate" | "self" | "super"));
    full.extend(named.map(|part| (*part).to_owned()));
    while !files.contains_key(&full) {
        full.pop()?;
    }
    Some(full)
}

/// For each file of a crate, the files from which it imports.
fn arrows(files: &BTreeMap<Place, String>) -> BTreeMap<Place, BTreeSet<Place>> {
    let arrows_of = |(place, code): (&Place, &String)| {
        let targets = imports(code).into_iter().filter_map(|path| target(files, place, &path));
        // The root files of the folders around a file do not count.
        (place.clone(), targets.filter(|target| !place.starts_with(target)).collect())
    };
    files.iter().map(arrows_of).collect()
}

/// Removes files that import nothing of the rest until there are none; the files that stay import each other
/// in circles.
fn circles(mut arrows: BTreeMap<Place, BTreeSet<Place>>) -> BTreeMap<Place, BTreeSet<Place>> {
    loop {
        let ends: Vec<Place> =
            arrows.iter().filter(|(_, to)| to.is_empty()).map(|(from, _)| from.clone()).collect();
        if ends.is_empty() {
            return arrows;
        }
        for end in ends {
            arrows.remove(&end);
            for to in arrows.values_mut() {
                to.remove(&end);
            }
        }
    }
}

/// The same arrows between the files and folders at the top of a crate.
fn arrows_at_the_top(arrows: &BTreeMap<Place, BTreeSet<Place>>) -> BTreeMap<Place, BTreeSet<Place>> {
    let mut at_the_top = BTreeMap::<Place, BTreeSet<Place>>::new();
    for (from, to) in arrows.iter().filter(|(from, _)| !from.is_empty()) {
        let top = &from[..1];
        let others = to.iter().filter_map(|to| to.get(..1)).filter(|to| *to != top);
        at_the_top.entry(top.to_vec()).or_default().extend(others.map(<[_]>::to_vec));
    }
    at_the_top
}

#[test]
fn no_file_or_folder_imports_itself_by_way_of_others() {
    let sources = files(&root().join("crates"), "toml");
    let sources = sources.iter().filter_map(|manifest| Some(manifest.parent()?.join("src")));
    let mut seen = 0;
    for source in sources.filter(|source| source.is_dir()) {
        let files: BTreeMap<Place, String> = files(&source, "rs")
            .iter()
            .map(|file| (place_of(&source, file), code_of(file)))
            .filter(|(place, _)| !place.iter().any(|part| TESTS.contains(&part.as_str())))
            .collect();
        seen += files.len();
        let arrows = arrows(&files);
        for arrows in [arrows_at_the_top(&arrows), arrows] {
            let left = circles(arrows);
            assert!(left.is_empty(), "{}: a circle is among these imports: {left:#?}", source.display());
        }
    }
    assert!(seen > 100, "only {seen} files: are they still below crates?");
}

#[test]
fn a_circle_is_found_and_a_chain_is_none() {
    let tree = |second: &str| {
        let files = [("one", "use crate::two::{Two, three::Three};"), ("two", second), ("two/three", "")];
        let place = |name: &str| name.split('/').map(str::to_owned).collect::<Place>();
        circles(arrows(&files.map(|(name, code)| (place(name), code.to_owned())).into()))
    };
    assert!(tree("use self::three::Three;").is_empty());
    assert_eq!(tree("use super::one::One; mod three;").len(), 2);
}

#[test]
fn folders_can_be_in_a_circle_though_their_files_are_not() {
    let files =
        [("one/low", ""), ("one/high", "use crate::two::middle;"), ("two/middle", "use crate::one::low;")];
    let place = |name: &str| name.split('/').map(str::to_owned).collect::<Place>();
    let arrows = arrows(&files.map(|(name, code)| (place(name), code.to_owned())).into());
    assert_eq!(circles(arrows_at_the_top(&arrows)).len(), 2);
    assert!(circles(arrows).is_empty());
}
