//! Every fenced block of a document is run, read or compared by something: this table says by what, and a block that is
//! not in it fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use quipu_tests::{Database, Gateway, blocks, blocks_of, document as read};
use serde_json::Value;

/// What stands for a block.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// A test that runs the whole document or this kind of block: its path below `tests/suite`, and a word of it.
    Suite(&'static str, &'static str),
    /// [`commands_exist`]: the programs and their options.
    Commands,
    /// [`members_are_known`]: every value is JSON, with members that the interface knows.
    Json,
    /// A test of this file.
    Here(&'static str),
    /// A configuration of another program, in which these words stand.
    Words(&'static [&'static str]),
}
use By::{Commands, Here, Json, Suite, Words};

/// A kind of block, how many of it are claimed, and by what.
type Claim = (&'static str, usize, By);

/// For each document the kinds of its blocks, how many there are, and what stands for them. A further claim of the same
/// blocks counts none.
const CLAIMED: &[(&str, &[Claim])] = &[
    ("README.md", &[("sh", 6, Suite("newcomer.rs", "the_readme_lines_work")), ("sh", 0, Commands)]),
    ("CONTRIBUTING.md", &[("sh", 1, Commands)]),
    ("crates/app/README.md", &[("sh", 1, Suite("guides.rs", "crates/app/README.md"))]),
    ("deploy/two-nodes/README.md", &[("sh", 1, Commands), ("nginx", 1, Words(&["8081", "8082"]))]),
    (
        "docs/ADDING-AN-ENDPOINT.md",
        &[("rust", 1, Here("the_row_of_the_endpoint_guide_is_in_the_table")), ("sh", 1, Commands)],
    ),
    ("docs/API.md", &[("json", 4, Json)]),
    ("docs/ERRORS.md", &[("sh", 1, Suite("guides.rs", "ERRORS.md"))]),
    (
        "docs/GETTING-STARTED.md",
        &[
            ("sh server", 1, Suite("guides.rs", "GETTING-STARTED.md")),
            ("sh listener", 1, Suite("guides.rs", "sh listener")),
            ("sh", 4, Suite("guides.rs", "GETTING-STARTED.md")),
            ("text", 1, Suite("guides.rs", "signature verifies")),
        ],
    ),
    ("docs/GOING-LIVE.md", &[("sh", 4, Suite("guides.rs", "GOING-LIVE.md"))]),
    (
        "docs/OPERATIONS.md",
        &[
            ("sh", 6, Commands),
            ("", 2, Words(&["sslmode=verify-full", "archive_command"])),
            ("yaml", 1, Words(&["quipu", "9090", "prometheus-rules.yml"])),
        ],
    ),
    (
        "docs/RAIL-PROTOCOL.md",
        &[
            ("toml", 1, Here("a_rails_section_is_read")),
            ("json", 4, Json),
            ("sh", 1, Here("the_rails_vector_is_what_openssl_says")),
        ],
    ),
    (
        "docs/SIGNING.md",
        &[
            ("text", 3, Suite("access/signers.rs", "the_worked_examples_are_the_published_vectors")),
            ("python", 1, Suite("access/signers.rs", "\"python\"")),
            ("javascript", 1, Suite("access/signers.rs", "\"javascript\"")),
            ("php", 1, Suite("access/signers.rs", "\"php\"")),
            ("sh", 1, Suite("access/signers.rs", "\"sh\"")),
        ],
    ),
    ("docs/TESTING.md", &[("sh", 6, Suite("guides.rs", "TESTING.md"))]),
    ("docs/VERSIONING.md", &[("sh", 1, Suite("guides.rs", "VERSIONING.md"))]),
    (
        "docs/WEBHOOKS.md",
        &[
            ("sh", 3, Commands),
            ("sh", 0, Here("the_webhook_guides_calls_are_answered")),
            ("json", 1, Json),
            ("python", 1, Suite("webhooks/guide.rs", "\"python\"")),
            ("javascript", 1, Suite("webhooks/guide.rs", "\"javascript\"")),
            ("php", 1, Suite("webhooks/guide.rs", "\"php\"")),
            ("rust", 1, Suite("webhooks/guide.rs", "Webhook::new(")),
        ],
    ),
];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn of_kind(document: &str, kind: &str) -> Vec<String> {
    blocks_of(&read(document), kind)
}

/// The documents that a person reads, and not those of crates, whose blocks rustdoc runs.
fn documents() -> Vec<String> {
    let in_docs = std::fs::read_dir(project().join("docs")).expect("the documents");
    let paths = in_docs.map(|entry| entry.expect("an entry").path());
    let pages = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let names = pages.map(|path| path.file_name().expect("a name").display().to_string());
    let mut found: Vec<_> = names.map(|name| format!("docs/{name}")).collect();
    found.extend(
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "crates/app/README.md", "deploy/two-nodes/README.md"]
            .map(str::to_owned),
    );
    found
}

#[test]
fn every_block_of_every_document_is_claimed() {
    for document in documents() {
        let mut found = BTreeMap::<String, usize>::new();
        for block in blocks(&read(&document)) {
            *found.entry(block.kind).or_default() += 1;
        }
        let claims = CLAIMED.iter().find(|(name, _)| *name == document).map_or(&[][..], |(_, claims)| claims);
        let mut claimed = BTreeMap::<String, usize>::new();
        for (kind, count, _) in claims {
            *claimed.entry((*kind).to_owned()).or_default() += count;
        }
        assert_eq!(found, claimed, "{document}: the blocks, and what stands for them in the table");
        for (kind, _, by) in claims {
            match by {
                Suite(file, word) => {
                    let test = read(&format!("tests/suite/{file}"));
                    assert!(test.contains(word), "{file} says nothing of {word}, for {document}");
                }
                Here(name) => assert!(include_str!("snippets.rs").contains(&format!("fn {name}(")), "{name}"),
                Commands => of_kind(&document, kind).iter().for_each(|lines| commands_exist(lines)),
                Json => of_kind(&document, kind).iter().for_each(|lines| members_are_known(&document, lines)),
                Words(words) => {
                    let all = of_kind(&document, kind).join("\n");
                    words.iter().for_each(|word| assert!(all.contains(word), "{word} in {document}"));
                }
            }
        }
    }
}

/// Programs that are not ours. What they do with these words is theirs to say.
const OTHERS: &[&str] = &[
    "curl",
    "export",
    "cargo",
    "pg_basebackup",
    "mkdir",
    "tar",
    "cat",
    "touch",
    "pg_ctl",
    "until",
    "psql",
    "END",
    "retry",
    "retry()",
    "restore_command",
    "recovery_target_time",
    "recovery_target_action",
];

/// Each line begins with a program that is known. Of the gateway's own the command is there with these options, and of
/// `make` the target.
fn commands_exist(lines: &str) {
    let makefile = read("Makefile");
    for line in lines.lines().flat_map(|line| line.split(" && ")) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let line = line.trim_end_matches(" &");
        let words: Vec<_> = line.split_whitespace().collect();
        match &words[..] {
            [] | ["make"] => {}
            ["make", targets @ ..] => {
                for target in targets.iter().take_while(|word| **word != "#") {
                    assert!(makefile.contains(&format!("\n{target}:")), "{line}: no target {target}");
                }
            }
            [program, rest @ ..] if program.trim_start_matches("target/release/") == "quipu" => {
                quipu_knows(line, rest);
            }
            [other, ..] => {
                assert!(OTHERS.contains(other), "{line:?}: {other} is not a program of this table");
            }
        }
    }
}

fn quipu_knows(line: &str, words: &[&str]) {
    let is_command = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
    let commands: Vec<_> = words.iter().take(2).take_while(is_command).copied().collect();
    let help = Command::new(quipu_tests::binary()).args(&commands).arg("--help").output().expect("it runs");
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.status.success(), "{line}: {}", String::from_utf8_lossy(&help.stderr));
    assert!(text.contains(&format!("Usage: quipu {}", commands.join(" "))), "{line}: {text}");
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(text.contains(&format!("{option} ")), "{line}: no option {option}");
    }
}

/// Members of messages with providers, which are no part of the documents of the interface.
const OF_RAILS: &[&str] = &["payment_id", "provider_reference", "instructions", "rail_reference", "…"];

fn members_are_known(document: &str, lines: &str) {
    let mut known: BTreeSet<String> = OF_RAILS.iter().map(|name| (*name).to_owned()).collect();
    for file in ["docs/openapi.json", "docs/openapi-operator.json"] {
        names_of_members(&serde_json::from_str(&read(file)).expect("JSON"), &mut known);
    }
    let values: Vec<Value> = serde_json::Deserializer::from_str(lines)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{document}: {error}\n{lines}"));
    assert!(!values.is_empty(), "{document}: nothing in {lines}");
    for value in values {
        every_member(&value, &mut |name| {
            assert!(known.contains(name), "{document}: nothing is called {name}");
        });
    }
}

fn names_of_members(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        found.extend(properties.keys().cloned());
    }
    let parts = schema.as_object().map(|members| members.values().collect::<Vec<_>>());
    let parts = parts.or_else(|| schema.as_array().map(|items| items.iter().collect()));
    parts.into_iter().flatten().for_each(|part| names_of_members(part, found));
}

fn every_member(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            each(name);
            every_member(value, each);
        }),
        Value::Array(items) => items.iter().for_each(|item| every_member(item, each)),
        _ => {}
    }
}

#[test]
fn the_rails_vector_is_what_openssl_says() {
    let [block] = &of_kind("docs/RAIL-PROTOCOL.md", "sh")[..] else { panic!("one block") };
    let output = Command::new("bash").args(["-o", "pipefail", "-ec", block]).output().expect("bash runs");
    let printed = String::from_utf8(output.stdout).expect("base64");
    let page = read("docs/RAIL-PROTOCOL.md");
    assert!(page.contains(&format!("| `webhook-signature` | `v1,{}` |", printed.trim())), "{printed}");
    let vectors: Value = serde_json::from_str(&read("tests/vectors/rail_protocol.json")).expect("JSON");
    let known = vectors["vectors"].as_array().expect("vectors").iter();
    let bodies: Vec<_> = known.filter_map(|vector| vector["body"].as_str()).collect();
    let body = block.split('\'').nth(1).expect("a body");
    assert!(bodies.contains(&body) && page.contains(&format!("| body | `{body}` |")), "{body}");
}

#[test]
fn the_row_of_the_endpoint_guide_is_in_the_table() {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let [block] = &of_kind("docs/ADDING-AN-ENDPOINT.md", "rust")[..] else { panic!("one block") };
    let routes = squeezed(&read("crates/adapters/http/src/route_table/payments.rs"));
    // The summary is shortened, and the refusals are left out.
    let shown = squeezed(block);
    for part in shown.strip_suffix("),").expect("the end of a row").split('…') {
        assert!(routes.contains(part.trim()), "{part}");
    }
}

/// A configuration with the rail that the protocol's page configures is read, and one with another member is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rails_section_is_read() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let [block] = &of_kind("docs/RAIL-PROTOCOL.md", "toml")[..] else { panic!("one block") };
    let section = block.replace("whsec_…", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    let file = gateway.data_folder().join("rail.toml");
    for (text, is_read) in [(section.clone(), true), (format!("{section}\nsecrets = \"x\"\n"), false)] {
        std::fs::write(&file, text).expect("written");
        let output = gateway.run(&["operator", "list", "--config", file.to_str().expect("UTF-8")]);
        assert_eq!(output.status == Some(0), is_read, "{}", output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_webhook_guides_calls_are_answered() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let api = gateway.v1();
    let hook =
        api.post("/api/v1/webhooks", &serde_json::json!({ "url": "http://127.0.0.1:9/" })).await.data();
    let calls = of_kind("docs/WEBHOOKS.md", "sh");
    let of_endpoints = calls.iter().find(|block| block.contains("$ID")).expect("the calls of an endpoint");
    let lines = format!(
        "BASE='{}' KEY='{}' ID='{}'\n{of_endpoints}",
        api.base_url(),
        gateway.credential("/v1/api_key"),
        hook["id"].as_str().expect("an id"),
    );
    let creation = calls.iter().find(|block| block.contains("webhook_url")).expect("a creation");
    let creation = creation
        .replace("http://127.0.0.1:8080", api.base_url())
        .replace("qp_test_sk_…", &gateway.credential("/v1/api_key"));
    let output = tokio::task::block_in_place(|| gateway.bash(&format!("set -e\n{lines}\n{creation}")));
    let printed = output.ok();
    let answers: Vec<Value> =
        serde_json::Deserializer::from_str(printed).into_iter().collect::<Result<_, _>>().expect("JSON");
    assert_eq!(answers.len(), 5, "{printed}");
    assert!(answers.iter().all(|answer| answer["success"] == true), "{printed}");
}
