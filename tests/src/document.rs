//! The project's documents, and the blocks of code in them.

use std::path::Path;

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The words after its fence.
    pub kind: String,
    /// Its lines, without a break after the last one.
    pub lines: String,
}

/// The text of one of the project's files, by its path from the project's folder.
#[track_caller]
pub fn document(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of a text, in their order.
#[track_caller]
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, opened)) = rest.split_once("\n```") {
        let (kind, body) = opened.split_once('\n').expect("a fence ends its line");
        let (lines, after) =
            body.split_once("\n```").unwrap_or_else(|| panic!("a block of {kind} does not end"));
        found.push(Block { kind: kind.trim().to_owned(), lines: lines.to_owned() });
        rest = after;
    }
    found
}

/// The lines of each block of this kind.
#[track_caller]
pub fn blocks_of(text: &str, kind: &str) -> Vec<String> {
    blocks(text).into_iter().filter(|block| block.kind == kind).map(|block| block.lines).collect()
}
