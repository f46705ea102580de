//! A short look at every reader, with files of the corpus as they are and changed at random.

use std::{collections::BTreeSet, path::Path};

use quipu_fuzzing::{READERS, corpus, give, mutated};
use quipu_simulation::{Dice, Seeds};

/// Changed files for each reader.
const RUNS: u64 = 20_000;

#[test]
fn no_reader_panics_or_contradicts_itself() {
    for (name, _) in READERS {
        let files = corpus(name);
        for seed in Seeds::of(RUNS).0 {
            let bytes = mutated(&mut Dice::new(seed), &files);
            let outcome = std::panic::catch_unwind(|| give(name, &bytes));
            assert!(outcome.is_ok(), "{name} fails, seed {seed}, on {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn every_reader_has_a_target_of_libfuzzer() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let entries = std::fs::read_dir(targets).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").path().with_extension(""));
    let names: BTreeSet<_> =
        names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    assert_eq!(names, READERS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn every_reader_takes_something_of_its_corpus() {
    // A corpus that is refused at the door tests only the door.
    for (name, _) in READERS {
        let taken = corpus(name).iter().filter(|file| give(name, file)).count();
        assert!(taken >= 1, "{name} takes nothing");
    }
}
