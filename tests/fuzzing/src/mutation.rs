//! Files that are nearly right, for machines without a fuzzer.

use std::path::Path;

use quipu_simulation::Dice;

/// What readers take for special somewhere.
const WORDS: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"-1",
    b"1e999",
    b"9007199254740993",
    b"<!DOCTYPE x>",
    b"&x;",
    b"<![CDATA[",
    b"%00",
    b"&",
    b"=",
    b"\n",
];

/// The files of a reader's folder in the corpus, by name.
pub fn corpus(reader: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(reader);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a file")).collect()
}

/// One of the files with a few changes.
pub fn mutated(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.pick(corpus).clone();
    for _ in 0..=dice.below(4) {
        change(dice, &mut bytes, corpus);
    }
    bytes
}

fn place(dice: &mut Dice, bytes: &[u8]) -> usize {
    usize::try_from(dice.below(bytes.len() as u64 + 1)).unwrap_or(0)
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = place(dice, bytes);
    let to = (at + place(dice, &bytes[at..]).min(32)).min(bytes.len());
    match dice.below(6) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => drop(bytes.drain(at..to)),
        2 => {
            let again = bytes[at..to].to_vec();
            bytes.splice(at..at, again);
        }
        3 => drop(bytes.splice(at..to, dice.pick(&WORDS).iter().copied())),
        4 => bytes.truncate(at),
        _ => {
            let other = dice.pick(corpus);
            let from = place(dice, other);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}
