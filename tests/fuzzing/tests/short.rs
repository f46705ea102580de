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
fn the_fuzzer_is_built_of_the_versions_of_which_the_product_is_built() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let product = packages(&root.join("Cargo.lock"));
    let fuzzer = packages(&root.join("fuzz/Cargo.lock"));
    let names: BTreeSet<_> = product.iter().map(|(name, _)| name).collect();
    let others: Vec<_> =
        fuzzer.iter().filter(|package| names.contains(&package.0) && !product.contains(package)).collect();
    assert!(others.is_empty(), "`cargo update --precise` in /fuzz sets the product's versions: {others:?}");
    // Its own dependency, which the product has not.
    assert!(fuzzer.iter().any(|(name, _)| name == "libfuzzer-sys"), "is it still the fuzzer's lock?");
}

/// The names and versions of a lock.
fn packages(lock: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(lock).expect("a lock");
    let member = |package: &str, name: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        value.unwrap_or_default().trim_matches('"').to_owned()
    };
    let packages = text.split("[[package]]").skip(1);
    packages.map(|package| (member(package, "name"), member(package, "version"))).collect()
}

#[test]
fn the_corpus_of_the_configuration_has_every_key() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../quipu.example.toml");
    let example = std::fs::read_to_string(example).expect("the example");
    let files = corpus("configuration");
    // The whole example is a file of the corpus too. Fuzzing begins sooner with files of few keys.
    let small = files.iter().map(|file| String::from_utf8_lossy(file)).filter(|file| *file != example);
    let written: BTreeSet<_> = small.flat_map(|file| keys(&file)).collect();
    let missing: Vec<_> = keys(&example).into_iter().filter(|key| !written.contains(key)).collect();
    assert!(missing.is_empty(), "no small file has {missing:?}");
}

/// The keys that are set, and those of the example that have no fixed default.
fn keys(text: &str) -> Vec<String> {
    let (mut table, mut keys) = (String::new(), Vec::new());
    for line in text.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = format!("{name}.");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|(name, _)| !name.starts_with('#')) {
            keys.push(format!("{table}{name}"));
        }
    }
    keys
}

#[test]
fn every_reader_takes_something_of_its_corpus() {
    // A corpus that is refused at the door tests only the door.
    for (name, _) in READERS {
        let taken = corpus(name).iter().filter(|file| give(name, file)).count();
        assert!(taken >= 1, "{name} takes nothing");
    }
}
