//! Every line of the guides is run as it stands, in the order in which a reader would.

use std::collections::BTreeSet;

use quipu_payments::FailureCode;
use quipu_tests::{Block, Database, Gateway, Setup, blocks, document, free_port};

/// A line of the shell that waits until this one, which has no single quotes, succeeds, and fails after a minute.
fn waiting_for(line: &str) -> String {
    format!("timeout 60 bash -c 'until {line}; do sleep 0.1; done'")
}

/// One script of all blocks of a guide. What stays in a terminal of its own runs beside the rest; the server is ours.
fn script(text: &str) -> String {
    let mut script = String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
    for Block { kind, lines } in blocks(text) {
        match kind.as_str() {
            "sh" => script.push_str(&lines),
            "sh server" => assert_eq!(lines, "make run", "the tests start the server themselves"),
            "sh listener" => {
                script.extend(["(", &lines, ") >listener.out 2>&1 &\n"]);
                script.push_str(&waiting_for("grep -q listening listener.out"));
            }
            "text" | "json" => {}
            other => panic!("a block of the kind {other:?} is not run by anything"),
        }
        script.push('\n');
    }
    script
}

/// A gateway whose folder looks like a clone of the project: `data`, and the binary where cargo puts it.
async fn clone_with_a_gateway() -> Gateway {
    let gateway = Setup::new(Database::Sqlite).start().await;
    let folder = gateway.data_folder();
    std::os::unix::fs::symlink(".", folder.join("data")).expect("a link");
    std::fs::create_dir_all(folder.join("target/release")).expect("a folder");
    let binary = folder.join("target/release/quipu");
    std::fs::write(&binary, "#!/bin/sh\nexec $QUIPU \"$@\"\n").expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&binary, mode).expect("its mode");
    gateway
}

/// Runs a guide, changed by `change`, and answers what it printed.
fn run(gateway: &Gateway, guide: &str, change: impl FnOnce(String) -> String) -> String {
    let script = change(script(&document(&format!("docs/{guide}"))));
    let output = tokio::task::block_in_place(|| gateway.bash(&script));
    output.ok().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn getting_started_ends_with_a_verified_webhook() {
    let gateway = clone_with_a_gateway().await;
    // Several listeners run at once in these tests: each has a port of its own.
    let port = free_port().to_string();
    let verified = waiting_for("[ \"$(grep -c \"signature verifies\" listener.out)\" -ge 2 ]");
    let ending = format!("\n{verified}\ncat listener.out\n");
    let printed = run(&gateway, "GETTING-STARTED.md", |script| script.replace("9099", &port) + &ending);
    assert!(printed.contains("\"status\":\"completed\""), "{printed}");
    for event in ["payment.created", "payment.completed"] {
        let verified = |line: &str| line.starts_with(event) && line.ends_with("  signature verifies");
        assert!(printed.lines().any(verified), "{event} was not verified\n{printed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn testing_shows_what_the_simulator_does() {
    let gateway = clone_with_a_gateway().await;
    let printed = run(&gateway, "TESTING.md", |script| script);
    let reached =
        |status: &str| printed.lines().filter(|line| line.ends_with(&format!(" is {status}"))).count();
    let counts = ["completed", "failed", "expired", "refunded", "cancelled"].map(reached);
    assert_eq!(counts, [2, 1, 1, 1, 1], "{printed}");
    // The words of both guides are those of the simulator.
    let words = |text: &str| -> BTreeSet<String> {
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("@simulator.test`"));
        rows.map(|(word, _)| word.to_owned()).collect()
    };
    assert_eq!(words(&document("docs/TESTING.md")), words(&document("docs/API.md")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_live_onboards_a_merchant() {
    let gateway = clone_with_a_gateway().await;
    let printed = run(&gateway, "GOING-LIVE.md", |script| script);
    for shown in ["first test key", "first live key", "\"clean\": true"] {
        assert!(printed.contains(shown), "{shown} is not there\n{printed}");
    }
    let key = std::fs::read_to_string(gateway.data_folder().join("live-key.json")).expect("a key");
    assert!(key.contains("qp_prod_sk_"), "{key}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_are_handled_as_the_program_says() {
    let gateway = clone_with_a_gateway().await;
    let printed = run(&gateway, "ERRORS.md", |script| script + BEHIND_A_PROXY);
    assert_eq!(printed, "processing\ncompleted\ncompleted\n");
}

/// The guide's program again, behind a proxy that answers in words of its own first, and then breaks off an answer.
const BEHIND_A_PROXY: &str = r#"
cat >proxy.py <<'PYTHON'
import http.server

answers = [(502, b"<html>Bad Gateway</html>", 0), (200, b'{"status":', 9), (200, b'{"status":"completed"}', 0)]

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        status, body, missing = answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_port, flush=True)
while answers:
    server.handle_request()
PYTHON
python3 proxy.py >proxy.port &
timeout 60 bash -c "until [ -s proxy.port ]; do sleep 0.1; done"
python3 pay.py "http://127.0.0.1:$(cat proxy.port)" key proxied ana@example.com
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versioning_finds_the_release() {
    let gateway = clone_with_a_gateway().await;
    let printed = run(&gateway, "VERSIONING.md", |script| script);
    assert!(printed.contains(env!("CARGO_PKG_VERSION")), "{printed}");
}

/// What each error wants is said of each that there is, and of no other.
#[test]
fn every_error_code_has_its_row() {
    let described: serde_json::Value = serde_json::from_str(&document("docs/openapi.json")).expect("JSON");
    let codes: BTreeSet<_> = described["components"]["schemas"]["ErrorCode"]["enum"]
        .as_array()
        .expect("codes")
        .iter()
        .map(|code| code.as_str().expect("a name").to_owned())
        .collect();
    let guide = document("docs/ERRORS.md");
    let rows = guide.lines().filter(|line| line.starts_with("| `"));
    let named: BTreeSet<_> = rows.flat_map(codes_of).collect();
    assert_eq!(named, codes);
}

/// A merchant's program that reads the code of a failure finds in the table each that is our own, and no other.
#[test]
fn every_failure_code_has_its_row() {
    let guide = document("docs/API.md");
    let (_, table) = guide.split_once("\n| `code` | The payment |\n| --- | --- |\n").expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let named: BTreeSet<_> = rows.flat_map(codes_of).collect();
    assert_eq!(named, FailureCode::NAMES.map(str::to_owned).into());
}

/// The codes in the first cell of a row.
fn codes_of(row: &str) -> impl Iterator<Item = String> {
    row.split(" | ").next().into_iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned)
}

#[test]
fn the_page_that_compares_names_each_of_the_others() {
    let page = document("docs/COMPARISON.md");
    for other in ["Hyperswitch", "Kill Bill", "BTCPay Server", "a hosted provider", "Quipu"] {
        assert!(page.contains(&format!("\n## Choose {other}\n")), "{other}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_applications_page_onboards_from_the_shell() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let page = script(&document("crates/app/README.md"));
    let lines = format!("quipu() {{ $QUIPU \"$@\"; }}\n{page}");
    let output = tokio::task::block_in_place(|| gateway.bash(&lines));
    let printed = output.ok();
    assert!(printed.contains("\"clean\": true"), "{printed}");
}
