//! A gateway process: started, killed, restarted on the same data, and removed with the test.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{Client, CommandOutput, Database, Merchant, ScratchFolder, Setup, TestDatabase, eventually};

/// A running gateway: `quipu serve --dev`, unless it was restarted for production.
#[derive(Debug)]
pub struct Gateway {
    // Fields are dropped in this order: the process before its database and its folder.
    process: Option<Process>,
    database: Arc<TestDatabase>,
    data: Arc<ScratchFolder>,
    setup: Setup,
    credentials: Value,
    anonymous: Client,
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Gateway {
    /// Starts a gateway with the usual settings.
    pub async fn start(database: Database) -> Self {
        Setup::new(database).start().await
    }

    pub(crate) async fn launch(setup: Setup, database: Arc<TestDatabase>, data: Arc<ScratchFolder>) -> Self {
        let mut gateway = Self::unstarted(setup, database, data);
        gateway.spawn().await;
        gateway
    }

    fn unstarted(setup: Setup, database: Arc<TestDatabase>, data: Arc<ScratchFolder>) -> Self {
        let (credentials, anonymous) = (Value::Null, Client::anonymous(""));
        Self { process: None, database, data, setup, credentials, anonymous }
    }

    async fn spawn(&mut self) {
        self.forget_address();
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a log file");
        let earlier = self.log().len();
        let mut serve = self.command(self.setup.serve);
        serve.stdin(Stdio::null()).stderr(log);
        serve.stdout(File::create(self.stdout_path()).expect("a file for what it prints"));
        self.process = Some(Process(serve.spawn().expect("the gateway can be started")));
        let (credentials, anonymous) = eventually("the gateway to be ready", async || {
            self.assert_alive();
            let mut credentials: Value =
                serde_json::from_slice(&std::fs::read(self.credentials_path()).ok()?).ok()?;
            if !self.setup.serve.contains(&"--dev") {
                credentials["base_url"] = serving_line(&self.log()[earlier..])?["listen"].take();
            }
            let url = credentials["base_url"].as_str().filter(|url| !url.is_empty())?;
            // The documents describe this release only.
            let is_other = self.setup.binary.is_some();
            let client = if is_other { Client::undocumented(url) } else { Client::anonymous(url) };
            let ready = client.try_send(reqwest::Method::GET, "/readyz", None, &[]).await.ok()?;
            (ready.status == 200 || !self.setup.waits_for_all).then_some((credentials, client))
        })
        .await;
        self.credentials = credentials;
        self.anonymous = anonymous;
    }

    /// Clears the address in the file with the credentials. The file outlives a restart; its address does
    /// not, and must not be mistaken for the new one.
    fn forget_address(&self) {
        let Ok(bytes) = std::fs::read(self.credentials_path()) else { return };
        let mut credentials: Value = serde_json::from_slice(&bytes).expect("dev-credentials.json is JSON");
        credentials["base_url"] = json!("");
        std::fs::write(self.credentials_path(), credentials.to_string()).expect("the file can be written");
    }

    #[track_caller]
    fn assert_alive(&self) {
        let pid = self.pid();
        assert!(Path::new(&format!("/proc/{pid}/fd/0")).exists(), "the gateway ended early:\n{}", self.log());
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().map(|process| process.0.id()).expect("the gateway runs")
    }

    /// The binary with this gateway's data, database and settings, ready for further arguments.
    fn command(&self, arguments: &[&str]) -> Command {
        // The kernel ends the gateway when the test's thread ends, even if the test was killed.
        let mut command = match self.setup.descriptors {
            Some(most) => {
                let mut limited = Command::new("prlimit");
                limited.arg(format!("--nofile={most}")).arg("setpriv");
                limited
            }
            None => Command::new("setpriv"),
        };
        let other = self.setup.binary.clone();
        command.args(["--pdeathsig", "KILL", "--"]).arg(other.unwrap_or_else(binary)).args(arguments);
        command.arg("--data").arg(self.data.path());
        command.current_dir(self.data.path());
        command.envs(self.setup.environment.iter().map(|(name, value)| (name, value)));
        if let Some(url) = self.database.url()
            && !self.setup.environment.iter().any(|(name, _)| name == "QUIPU__DATABASE_URL")
        {
            command.env("QUIPU__DATABASE_URL", url);
        }
        command
    }

    /// Runs another command of the binary on this gateway's data and database, like an operator in a shell.
    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).stdin(Stdio::null()).output().expect("the binary can be run").into()
    }

    /// Starts another command of the binary with its standard output in a file; dropping the result kills it.
    pub fn spawn_command(&self, arguments: &[&str], output: &Path) -> impl Drop + use<> {
        let file = File::create(output).expect("a file for what it prints");
        let child = self.command(arguments).stdin(Stdio::null()).stdout(file).spawn();
        Process(child.expect("the binary can be run"))
    }

    /// Runs a command with further environment variables, for failures before the start.
    pub fn run_under(&self, environment: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
        let mut environment = environment.to_vec();
        if let Some(url) = self.database.url() {
            environment.insert(0, ("QUIPU__DATABASE_URL", url));
        }
        self.run_in(self.data.path(), &environment, arguments)
    }

    /// Runs a command in a data folder of its own.
    pub fn run_elsewhere(&self, environment: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
        self.run_in(ScratchFolder::new().path(), environment, arguments)
    }

    fn run_in(&self, folder: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
        // If it starts after all, it ends by itself.
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary()).args(arguments).arg("--data").arg(folder).current_dir(folder);
        command.envs(self.setup.environment.iter().map(|(name, value)| (name, value)));
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).output().expect("the binary can be run").into()
    }

    /// Runs a line of bash in which `$QUIPU` is the binary with this gateway's data and database.
    pub fn bash(&self, line: &str) -> CommandOutput {
        let quipu = format!("{} --data {}", binary().display(), self.data.path().display());
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", line]).env("QUIPU", quipu).current_dir(self.data.path());
        if let Some(url) = self.database.url() {
            command.env("QUIPU__DATABASE_URL", url);
        }
        command.stdin(Stdio::null()).output().expect("bash can be run").into()
    }

    /// Runs one SQL statement on the gateway's database, bypassing the gateway; returns the error if it is
    /// refused.
    pub fn execute_sql(&self, statement: &str) -> Result<(), String> {
        const THROUGH_PYTHON: &str = "import sqlite3, sys
\
             with sqlite3.connect(sys.argv[1]) as database: database.execute(sys.argv[2])";
        let mut command;
        if let Some(url) = self.postgres_url() {
            command = Command::new("psql");
            command.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command", statement, url]);
        } else {
            command = Command::new("python3");
            command.args(["-c", THROUGH_PYTHON]).arg(self.data.path().join("quipu.db")).arg(statement);
        }
        let output = CommandOutput::from(command.output().expect("a client of the database"));
        if output.status == Some(0) { Ok(()) } else { Err(output.stderr) }
    }

    /// The first column of a query's rows on the gateway's database, bypassing the gateway.
    #[track_caller]
    pub fn query_sql(&self, query: &str) -> Vec<String> {
        const THROUGH_PYTHON: &str = "import sqlite3, sys
\
             with sqlite3.connect(sys.argv[1]) as database:
\
             \x20   for row in database.execute(sys.argv[2]): print(str(row[0]).replace('\\n', ' '))";
        let mut command;
        if let Some(url) = self.postgres_url() {
            command = Command::new("psql");
            command.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "-At", "--command", query, url]);
        } else {
            command = Command::new("python3");
            command.args(["-c", THROUGH_PYTHON]).arg(self.data.path().join("quipu.db")).arg(query);
        }
        let output = CommandOutput::from(command.output().expect("a client of the database"));
        output.ok().lines().map(str::to_owned).collect()
    }

    /// Runs `quipu check`, which verifies every invariant of the ledger from the rows. Panics with its report
    /// on a breach.
    #[track_caller]
    pub fn check(&self) {
        self.run(&["check"]).ok();
    }

    /// Sends `kill -9`: the gateway does not drain.
    pub fn kill(&mut self) {
        drop(self.process.take());
    }

    /// Sends SIGTERM, and returns the exit status after the drain.
    pub async fn terminate(&mut self) -> Option<i32> {
        self.send_signal("-TERM");
        let mut process = self.process.take().expect("the gateway runs");
        let status = eventually("the gateway to drain", || {
            std::future::ready(process.0.try_wait().expect("a child can be waited for"))
        })
        .await;
        status.code()
    }

    /// Sends SIGSTOP: the process stands still, as a machine does that is moved or has no memory left.
    pub fn pause(&self) {
        self.send_signal("-STOP");
    }

    /// Sends SIGCONT: the process goes on where it stood still.
    pub fn go_on(&self) {
        self.send_signal("-CONT");
    }

    fn send_signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status();
        assert!(sent.expect("kill can be run").success());
    }

    /// Starts it again on the same data after `kill` or `terminate`. Clients made before use the old address.
    pub async fn restart(&mut self) {
        assert!(self.process.is_none(), "still running");
        self.spawn().await;
    }

    /// Starts it again as in production: without `--dev`, with the same master key.
    pub async fn restart_for_production(&mut self) {
        let key = std::fs::read_to_string(self.data.path().join("master.key")).expect("the key of --dev");
        self.setup.serve = &["serve"];
        self.restart_with(|setup| setup.set("MASTER_KEY", key.trim())).await;
    }

    /// Starts it again with changed settings.
    pub async fn restart_with(&mut self, change: impl FnOnce(Setup) -> Setup) {
        self.setup = change(self.setup.clone());
        self.restart().await;
    }

    /// A gateway that does not run yet, with the same keys and credentials and an empty database of its own.
    pub async fn elsewhere(&self) -> Self {
        let database = TestDatabase::create(self.setup.database).await;
        Self::unstarted(self.setup.clone(), Arc::new(database), Arc::new(self.folder_with_keys()))
    }

    /// A node on the same PostgreSQL database with the same keys and another setup, that does not run yet.
    pub fn successor(&self, setup: Setup) -> Self {
        assert_eq!(self.setup.database, Database::Postgres, "SQLite belongs to one process");
        Self::unstarted(setup, Arc::clone(&self.database), Arc::new(self.folder_with_keys()))
    }

    fn folder_with_keys(&self) -> ScratchFolder {
        let folder = ScratchFolder::new();
        for file in ["dev-credentials.json", "master.key"] {
            std::fs::copy(self.data.path().join(file), folder.path().join(file)).expect("the file is there");
        }
        folder
    }

    /// Another node, if the database allows one: SQLite belongs to one process.
    pub async fn second_node(&self) -> Option<Self> {
        match self.setup.database {
            Database::Sqlite => None,
            Database::Postgres => Some(self.another_node().await),
        }
    }

    /// A second gateway on the same PostgreSQL database with the same master key, as in a cluster.
    pub async fn another_node(&self) -> Self {
        assert_eq!(self.setup.database, Database::Postgres, "SQLite belongs to one process");
        let folder = Arc::new(self.folder_with_keys());
        Self::launch(self.setup.clone(), Arc::clone(&self.database), folder).await
    }

    /// A caller without credentials.
    pub fn anonymous(&self) -> Client {
        self.anonymous.clone()
    }

    /// The demo merchant of version 1, pre-funded.
    pub fn v1(&self) -> Client {
        self.anonymous.with_api_key(&self.credential("/v1/api_key"))
    }

    /// The demo merchant of version 2, pre-funded.
    pub fn v2(&self) -> Client {
        self.anonymous.with_hmac(&self.credential("/v2/merchant_id"), &self.credential("/v2/hmac_secret"))
    }

    /// The operator of `--dev`.
    pub fn operator(&self) -> Client {
        self.anonymous.with_bearer(&self.credential("/operator_token"))
    }

    /// A member of `dev-credentials.json` by JSON pointer, numbers as text.
    pub fn credential(&self, pointer: &str) -> String {
        match self.credentials.pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            other => panic!("dev-credentials.json has {other:?} at {pointer}"),
        }
    }

    /// A new version 1 merchant with a test key of all scopes and empty balances.
    pub async fn merchant(&self) -> Merchant {
        Merchant::onboard(&self.operator(), &self.anonymous).await
    }

    /// Its standard error, over all its restarts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Fails if a thread of the gateway panicked, even if the call was answered.
    #[track_caller]
    pub fn assert_no_panic(&self) {
        let log = self.log();
        let panic = log.lines().find(|line| line.contains("panicked at"));
        assert!(panic.is_none(), "the gateway panicked: {panic:?}");
    }

    /// The standard output of `serve` since the last start.
    pub fn stdout(&self) -> String {
        std::fs::read_to_string(self.stdout_path()).unwrap_or_default()
    }

    /// The data folder.
    pub fn data_folder(&self) -> &Path {
        self.data.path()
    }

    /// URL of its PostgreSQL database; `None` on SQLite.
    pub fn postgres_url(&self) -> Option<&str> {
        self.database.url()
    }

    fn log_path(&self) -> PathBuf {
        self.data.path().join("gateway.log")
    }

    fn stdout_path(&self) -> PathBuf {
        self.data.path().join("gateway.out")
    }

    fn credentials_path(&self) -> PathBuf {
        self.data.path().join("dev-credentials.json")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().rev().take(40).collect();
            eprintln!("--- the gateway's last words ({:?})", self.setup.database);
            lines.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// The line of a JSON log with the address where calls are answered.
fn serving_line(log: &str) -> Option<Value> {
    let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line["message"] == "serving")
}

/// The binary under test: `QUIPU_BIN`, or the debug build of this workspace.
pub fn binary() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/quipu");
    let path = std::env::var_os("QUIPU_BIN").map_or_else(built, PathBuf::from);
    // Absolute, because the gateway runs in another folder.
    path.canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo build -p quipu`", path.display()))
}
