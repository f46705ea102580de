//! What is in `deploy/`: two nodes start from their own files and work as one, and the rest says what is true.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use quipu_tests::{Client, Database, ScratchFolder, TestDatabase, binary, draft, eventually, redis_url};
use serde_json::{Value, json};

pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn text(path: &str) -> String {
    let path = project().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Two nodes, from `deploy/two-nodes/*.toml`; addresses, secrets and folders come by the environment, as in production.
struct Cluster {
    folder: ScratchFolder,
    database: TestDatabase,
}

struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // A child that has ended is as good as one that was killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Cluster {
    fn command(&self, node: &str, words: &[&str]) -> Command {
        let folder = self.folder.path();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(binary()).args(words).stdin(Stdio::null());
        command.arg("--config").arg(project().join(format!("deploy/two-nodes/{node}.toml")));
        for (key, value) in [
            ("MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
            ("DATABASE_URL", self.database.url().expect("PostgreSQL")),
            ("REDIS_URL", &redis_url()),
            ("LISTEN", "127.0.0.1:0"),
            ("METRICS_LISTEN", "127.0.0.1:0"),
            ("DATA_DIR", &folder.join(node).display().to_string()),
            ("ATTACHMENTS_URL", &format!("file://{}", folder.join("attachments").display())),
            ("SIMULATOR__DELAY", "100ms"),
            // More than a test that asks again and again uses up.
            ("LIMITS__STANDARD_PER_MINUTE", "100000"),
        ] {
            command.env(format!("QUIPU__{key}"), value);
        }
        command
    }

    fn run(&self, words: &[&str]) -> Value {
        let output = self.command("one", words).output().expect("the binary can be run");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    async fn start(&self, node: &str) -> (Node, Client) {
        let log = self.folder.path().join(format!("{node}.log"));
        let file = std::fs::File::create(&log).expect("a log");
        let mut serve = self.command(node, &["serve"]);
        let running =
            Node(serve.stdout(Stdio::null()).stderr(file).spawn().expect("the node can be started"));
        let client = eventually("the node to be ready", async || {
            let lines = std::fs::read_to_string(&log).ok()?;
            let mut lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let serving = lines.find(|line| line["message"] == "serving")?;
            let client = Client::anonymous(serving["listen"].as_str()?);
            let ready = client.try_send(reqwest::Method::GET, "/readyz", None, &[]).await.ok()?;
            (ready.status == 200).then_some(client)
        })
        .await;
        (running, client)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_start_from_their_files_and_work_as_one() {
    let cluster =
        Cluster { folder: ScratchFolder::new(), database: TestDatabase::create(Database::Postgres).await };
    cluster.run(&["migrate"]);
    let staff = cluster.run(&["operator", "create", "--name", "Ana", "--role", "admin"]);
    let (first, one) = cluster.start("one").await;
    let (_second, two) = cluster.start("two").await;
    let token = staff["token"].as_str().expect("a token");
    let made = one.with_bearer(token).post("/operator/v1/merchants", &json!({ "name": "Shop" })).await.data();
    let keys = format!("/operator/v1/merchants/{}/api-keys", made["merchant_id"]);
    let key = two.with_bearer(token).post(&keys, &json!({ "environment": "test" })).await.data();
    let key = key["key"].as_str().expect("a key");
    let (one, two) = (one.with_api_key(key), two.with_api_key(key));

    let id = one.create(&draft::deposit_mxn(1_000)).await.ok()["transaction_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(two.payment(&id).await["amount"], 1_000);
    let left = async |client: &Client| -> u64 {
        let answer = client.get("/api/v1/payments").await;
        answer.header("x-ratelimit-remaining").expect("a budget").parse().expect("a number")
    };
    // A node that did not hear from Redis in time counts by itself, and a busy machine is slow.
    eventually("Redis to count for both: what one node allows is missing on the other", async || {
        let (before, there, after) = (left(&one).await, left(&two).await, left(&one).await);
        (before == there + 1 && there == after + 1).then_some(())
    })
    .await;

    // What the dead node had begun, the other finishes.
    let owed = one.create(&draft::deposit_mxn(2_000)).await.ok()["transaction_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    drop(first);
    eventually("the other node to settle it", async || {
        (two.payment(&owed).await["status"] == "completed").then_some(())
    })
    .await;
    assert_eq!(cluster.run(&["check"])["clean"], true);
}

#[test]
fn the_bill_of_materials_has_every_part_with_its_licence() {
    let folder = ScratchFolder::new();
    let script = project().join("deploy/bill_of_materials.py");
    let output = Command::new("python3").arg(script).arg(folder.path()).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill = std::fs::read(folder.path().join("quipu.cdx.json")).expect("a bill");
    let bill: Value = serde_json::from_slice(&bill).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
    assert_eq!(bill["metadata"]["component"]["name"], "quipu");
    let components = bill["components"].as_array().expect("components");
    let names: BTreeSet<_> = components.iter().filter_map(|part| part["name"].as_str()).collect();
    for part in ["actix-web", "diesel", "libsqlite3-sys", "ring", "rustls", "quipu-ledger"] {
        assert!(names.contains(part), "{part} is missing");
    }
    for stranger in ["mockall", "proptest", "jsonschema", "quipu-tests"] {
        assert!(!names.contains(stranger), "{stranger} is for tests only");
    }
    assert!(components.iter().all(|part| part["licenses"][0]["expression"].is_string()));
    let licences = std::fs::read_to_string(folder.path().join("LICENCES.txt")).expect("a list");
    assert!(licences.contains("\nring ") && licences.contains("Permission is hereby granted"));
}

#[test]
fn the_unit_and_the_container_run_commands_that_exist() {
    let help = Command::new(binary()).arg("--help").output().expect("the binary can be run");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let unit = text("deploy/quipu.service");
    let lines =
        unit.lines().filter_map(|line| line.strip_prefix("Exec")?.split_once("/usr/local/bin/quipu "));
    let commands: Vec<_> = lines.filter_map(|(_, words)| words.split(' ').next()).collect();
    assert_eq!(commands, ["migrate", "serve"]);
    for command in commands {
        assert!(help.contains(&format!("\n  {command}")), "{command} is no command");
    }
    // It is read by the program that would run it, as if the binary under test were installed.
    let folder = ScratchFolder::new();
    let installed = folder.path().join("quipu.service");
    std::fs::write(&installed, unit.replace("/usr/local/bin/quipu ", &format!("{} ", binary().display())))
        .expect("written");
    match Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(&installed).output() {
        Ok(judged) => {
            let said = String::from_utf8_lossy(&judged.stderr).into_owned();
            let about: Vec<_> = said.lines().filter(|line| line.contains("quipu.service")).collect();
            assert!(judged.status.success() && about.is_empty(), "{said}");
        }
        // Not every machine that tests has systemd.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
    let container = text("deploy/Containerfile");
    assert!(container.contains("CMD [\"serve\"]") && container.contains("USER quipu"));
}
