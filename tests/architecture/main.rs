//! Which crate may depend on which: dependencies point one way, from the application inwards to the kernel.

mod circles;
mod links;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// For each domain crate all it may depend on, tests included: other domain crates below it, and libraries
/// that compute but do no input or output.
const DOMAIN: &[(&str, &[&str])] = &[
    // url judges what merchants give as addresses in the web. uuid only writes and reads text; the random bytes come
    // from the Entropy port.
    ("quipu-kernel", &["url", "uuid"]),
    // jsonwebtoken and standardwebhooks check our tokens and signatures with other people's code.
    ("quipu-signing", &["quipu-kernel", "base64", "hex", "ring", "jsonwebtoken", "standardwebhooks"]),
    // quipu-signing makes, hashes and seals the keys and secrets that merchants and staff get.
    ("quipu-merchants", &["quipu-kernel", "quipu-signing", "async-trait"]),
    // quipu-signing has the one hash function, over which entries and the audit log are chained.
    ("quipu-ledger", &["quipu-kernel", "quipu-signing", "async-trait"]),
    ("quipu-webhooks", &["quipu-kernel", "quipu-signing", "quipu-merchants", "async-trait"]),
    ("quipu-commit", &["quipu-kernel", "quipu-merchants", "quipu-ledger", "quipu-webhooks", "async-trait"]),
    (
        "quipu-payments",
        &[
            "quipu-kernel",
            "quipu-signing",
            "quipu-merchants",
            "quipu-ledger",
            "quipu-webhooks",
            "quipu-commit",
            "async-trait",
        ],
    ),
    // Pages are text made of payments: templates, messages and codes are computed, and a logo is drawn again in memory,
    // and guides are written as HTML.
    (
        "quipu-pages",
        &[
            "quipu-kernel",
            "quipu-signing",
            "quipu-merchants",
            "quipu-payments",
            "askama",
            "fast_qr",
            "fluent-bundle",
            "image",
            "pulldown-cmark",
            "unic-langid",
        ],
    ),
    ("quipu-tickets", &["quipu-kernel", "quipu-merchants", "quipu-webhooks", "quipu-commit", "async-trait"]),
];

/// What every domain crate may use.
const DOMAIN_COMMON: &[&str] = &["mockall", "proptest", "serde", "serde_json", "thiserror", "time"];

/// Implementations of the domain's ports, and readers of what comes from outside. None of them sees another.
const ADAPTERS: &[&str] = &[
    "quipu-http",
    "quipu-store",
    "quipu-rails",
    "quipu-limits",
    "quipu-bankfiles",
    "quipu-delivery",
    "quipu-attachments",
    "quipu-configuration",
];

/// Histories in memory: they use the domain crates and nothing else of ours. Adapters use them in tests only.
const SIMULATION: &str = "quipu-simulation";

/// Every parser of untrusted input, wherever it is. Only tests use it.
const FUZZING: &str = "quipu-fuzzing";

/// The gateway from outside. The edge's own tests borrow its judgement of exchanges.
const TESTS: &str = "quipu-tests";

/// Names that have no business in a domain crate's source.
const FOREIGN_TO_DOMAIN: &[&str] = &["tokio", "actix", "diesel", "reqwest", "redis", "anyhow"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each package of the workspace with the names of its direct dependencies of every kind.
fn workspace() -> BTreeMap<String, BTreeSet<String>> {
    dependencies(|_| true)
}

/// The same, of one kind: none for what is part of the product.
fn dependencies_of_kind(kind: Option<&str>) -> BTreeMap<String, BTreeSet<String>> {
    dependencies(|dependency| dependency["kind"].as_str() == kind)
}

fn dependencies(counts: impl Fn(&Value) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        all.filter(|dependency| counts(dependency)).map(name).collect()
    };
    packages.iter().map(|package| (name(package), dependencies(package))).collect()
}

#[test]
fn a_domain_crate_depends_only_on_what_its_list_allows() {
    let workspace = workspace();
    for (name, allowed) in DOMAIN {
        for dependency in &workspace[*name] {
            let allowed =
                allowed.contains(&dependency.as_str()) || DOMAIN_COMMON.contains(&dependency.as_str());
            assert!(allowed, "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn every_crate_is_known_here() {
    let known: BTreeSet<_> = DOMAIN
        .iter()
        .map(|(name, _)| *name)
        .chain(ADAPTERS.iter().copied())
        .chain([SIMULATION, FUZZING, TESTS, "quipu"])
        .collect();
    let workspace = workspace();
    let found: BTreeSet<_> = workspace.keys().map(String::as_str).collect();
    assert_eq!(found, known, "a crate came or went: give it its place in this file and in deny.toml");
}

#[test]
fn no_adapter_sees_another_and_nobody_but_the_application_sees_an_adapter() {
    for (name, dependencies) in workspace() {
        // The benchmark measures the store without HTTP in front of it, on payments that the simulator issued.
        let may_see: &[&str] = match name.as_str() {
            "quipu" => ADAPTERS,
            TESTS => &["quipu-store", "quipu-rails"],
            // Who parses untrusted input.
            FUZZING => {
                &["quipu-http", "quipu-rails", "quipu-bankfiles", "quipu-attachments", "quipu-configuration"]
            }
            _ => &[],
        };
        for adapter in ADAPTERS {
            assert!(
                !dependencies.contains(*adapter) || may_see.contains(adapter),
                "{name} must not depend on {adapter}"
            );
        }
        assert!(
            name == "quipu" || !dependencies.contains("quipu"),
            "{name} must not depend on the application"
        );
    }
}

#[test]
fn the_simulation_sees_only_the_domain_and_nothing_that_runs_sees_it() {
    let workspace = workspace();
    let domain: Vec<_> = DOMAIN.iter().map(|(name, _)| *name).collect();
    for dependency in workspace[SIMULATION].iter().filter(|name| name.starts_with("quipu")) {
        assert!(domain.contains(&dependency.as_str()), "{SIMULATION} must not depend on {dependency}");
    }
    for (name, dependencies) in dependencies_of_kind(None).into_iter().filter(|(name, _)| name != FUZZING) {
        for tests_only in [SIMULATION, FUZZING, TESTS] {
            assert!(!dependencies.contains(tests_only), "{name} must not be built with {tests_only}");
        }
    }
}

#[test]
fn errors_without_a_type_stay_in_the_application() {
    for (name, dependencies) in workspace() {
        assert!(name == "quipu" || !dependencies.contains("anyhow"), "{name} must not depend on anyhow");
    }
}

#[test]
fn no_domain_source_speaks_of_runtimes_databases_or_http_servers() {
    let mut seen = 0;
    for file in files(&root().join("crates/domain"), "rs") {
        let source = std::fs::read_to_string(&file).expect("source is UTF-8");
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            let foreign = FOREIGN_TO_DOMAIN.iter().find(|name| line.contains(&format!("{name}::")));
            assert!(foreign.is_none(), "{}:{}: {foreign:?} in a domain crate", file.display(), number + 1);
        }
        seen += 1;
    }
    assert!(seen > 10, "only {seen} files: is this still where the domain lives?");
}

/// All files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder's entry").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found
}

/// The fuzzers are a workspace of their own, which no other test builds.
#[test]
fn the_lock_file_of_the_fuzzers_knows_the_dependencies_of_each_crate() {
    let lock = std::fs::read_to_string(root().join("fuzz/Cargo.lock")).expect("a lock file");
    let product = dependencies_of_kind(None);
    let mut seen = 0;
    for package in lock.split("[[package]]") {
        let quoted = |line: &str| line.trim().split('"').nth(1).map(str::to_owned);
        let mut lines = package.lines();
        let name = lines.find(|line| line.starts_with("name = ")).and_then(quoted);
        let Some((name, expected)) = name.as_ref().and_then(|name| product.get_key_value(name)) else {
            continue;
        };
        let listed = lines.skip_while(|line| *line != "dependencies = [").skip(1);
        // A version follows the name if there are several of it.
        let listed = listed.map_while(quoted).filter_map(|text| text.split(' ').next().map(str::to_owned));
        assert_eq!(&listed.collect::<BTreeSet<_>>(), expected, "{name} in fuzz/Cargo.lock");
        seen += 1;
    }
    assert!(seen > 10, "only {seen} crates of the product are in it");
}
