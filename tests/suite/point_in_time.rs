//! A server is brought back to a moment by the very lines of docs/OPERATIONS.md, "Point-in-time recovery".

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use quipu_tests::{CommandOutput, Database, ScratchFolder, Setup, blocks, draft, eventually, free_port};

const GUIDE: &str = include_str!("../../docs/OPERATIONS.md");

#[tokio::test]
async fn a_server_goes_back_to_a_moment_as_the_guide_says() {
    let lines = lines_of_the_guide();
    let [settings, base, restore] = &lines[..] else { panic!("{} blocks in the guide", lines.len()) };
    let server = Server::make(settings);
    let mut gateway = Setup::new(Database::Postgres).start_through(|_| server.url()).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10_000).await;
    let before_base = merchant.create(&draft::withdrawal_ars(100)).await;
    server.bash(base).ok();
    let after_base = merchant.create(&draft::deposit("ARS", "bank_transfer", 200)).await;
    let moment =
        server.sql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')");
    let undone = merchant.create(&draft::withdrawal_ars(300)).await;
    assert_eq!(gateway.terminate().await, Some(0));
    server.archive_all().await;
    server.script("kill", &[]).ok();

    server.bash(&restore.replace("2026-11-22 10:15:00", &moment)).ok();
    gateway.restart().await;
    gateway.check();
    let merchant = merchant.moved_to(&gateway);
    for (id, status) in [(&before_base, 200), (&after_base, 200), (&undone, 404)] {
        assert_eq!(merchant.api.get(&format!("/api/v1/payments/{id}")).await.status, status, "{id}");
    }
    let (_, frozen) = merchant.balance("ARS").await;
    assert!([0, 100].contains(&frozen), "nothing is frozen for what is not there");
    // Life goes on, on a line of history of its own.
    merchant.create(&draft::withdrawal_ars(400)).await;
    assert_eq!(server.sql("SELECT timeline_id > 1 FROM pg_control_checkpoint()"), "t");
    gateway.check();
    drop(gateway);
}

/// The blocks of the section, in their order.
fn lines_of_the_guide() -> Vec<String> {
    let (_, section) = GUIDE.split_once("### Point-in-time recovery").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("an end");
    blocks(section).into_iter().map(|block| block.lines).collect()
}

/// A server of the test's own, by the script of the test bed, and what is restored of it.
struct Server {
    scratch: ScratchFolder,
    folder: PathBuf,
    port: u16,
}

impl Server {
    fn make(settings: &str) -> Self {
        let scratch = ScratchFolder::new();
        let port = free_port();
        let folder = scratch.path().join("servers/first");
        let server = Self { scratch, folder, port };
        open_to_all(server.scratch.path());
        server.script("make", &[&port.to_string()]).ok();
        server.bash("mkdir /archive /base").ok();
        let configure =
            format!("cat >>'{}/postgresql.conf' <<'END'\n{settings}\nEND\n", server.folder.display());
        server.bash(&configure).ok();
        server.script("kill", &[]).ok();
        server.script("start", &[]).ok();
        server
    }

    fn url(&self) -> String {
        format!("postgres://quipu:none@127.0.0.1:{}/postgres", self.port)
    }

    fn script(&self, word: &str, arguments: &[&str]) -> CommandOutput {
        script(word, &self.folder, arguments)
    }

    /// Runs lines of the guide as the server's user, with its folders in the test's.
    fn bash(&self, lines: &str) -> CommandOutput {
        let room = self.folder.parent().expect("a parent").to_str().expect("UTF-8");
        let mut lines = lines.to_owned();
        for name in ["archive", "base", "restored"] {
            for before in [" ", "=", ">"] {
                lines = lines.replace(&format!("{before}/{name}"), &format!("{before}{room}/{name}"));
            }
        }
        let client = format!("export PGHOST=127.0.0.1 PGPORT={} PGUSER=quipu PGDATABASE=postgres", self.port);
        self.script("as", &["bash", "-euo", "pipefail", "-c", &format!("{client}\n{lines}")])
    }

    fn sql(&self, statement: &str) -> String {
        self.bash(&format!("psql --no-psqlrc -At -c \"{statement}\"")).ok().trim().to_owned()
    }

    /// Has the archive hold everything that was written.
    async fn archive_all(&self) {
        let last = self.sql("SELECT pg_walfile_name(pg_switch_wal())");
        eventually("the log to be archived", async || {
            (self.sql("SELECT last_archived_wal FROM pg_stat_archiver") >= last).then_some(())
        })
        .await;
    }
}

fn script(word: &str, folder: &Path, arguments: &[&str]) -> CommandOutput {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bed/own-server.sh");
    Command::new(script).arg(word).arg(folder).args(arguments).output().expect("bash").into()
}

/// The server's user is another.
fn open_to_all(folder: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder, mode).expect("a folder of ours");
}

impl Drop for Server {
    fn drop(&mut self) {
        for folder in [self.folder.clone(), self.folder.with_file_name("restored")] {
            let _stopped = script("remove", &folder, &[]);
        }
    }
}
