//! Servers of a test's own, to be killed, promoted and set up as no shared one can be.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};

use crate::fixture::until;

/// A folder for servers, which the servers' user may enter.
pub(crate) fn folder_of_servers() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a folder for the server's user");
    folder
}

/// A server, by the script of the test bed.
pub(crate) struct Server {
    folder: PathBuf,
    pub(crate) port: u16,
}

#[derive(diesel::QueryableByName)]
struct Yes {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    yes: bool,
}

#[derive(diesel::QueryableByName)]
struct Position {
    #[diesel(sql_type = diesel::sql_types::Text)]
    position: String,
}

impl Server {
    /// One that will be there, on a port that is free now, below those that the system hands out to others meanwhile.
    pub(crate) fn at(folder: PathBuf) -> Self {
        let candidates = std::iter::repeat_with(|| 20_000 + (uuid::Uuid::new_v4().as_u128() % 12_000) as u16);
        let mut free = candidates.filter(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
        Self { folder, port: free.next().expect("the candidates never end") }
    }

    pub(crate) fn script(&self, word: &str, arguments: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bed/own-server.sh");
        let output = Command::new(script).arg(word).arg(&self.folder).args(arguments).output().expect("bash");
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://quipu:none@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) async fn connect(&self) -> AsyncPgConnection {
        AsyncPgConnection::establish(&self.url()).await.expect("the server answers")
    }

    pub(crate) async fn catch_up_with(&self, primary: &Self) {
        let written = "SELECT CAST(pg_current_wal_flush_lsn() AS TEXT) AS position";
        let written: Position =
            diesel::sql_query(written).get_result(&mut primary.connect().await).await.expect("a position");
        let mut conn = self.connect().await;
        let replayed =
            format!("SELECT COALESCE(pg_last_wal_replay_lsn() >= '{}', false) AS yes", written.position);
        until(async || {
            let is_there: Yes = diesel::sql_query(&replayed).get_result(&mut conn).await.expect("an answer");
            is_there.yes
        })
        .await;
    }

    /// Gives away the numbers that transactions had which were lost, if there are fewer of them.
    pub(crate) async fn let_others_commit(&self, others: usize) {
        let mut conn = self.connect().await;
        for _ in 0..others {
            conn.batch_execute("SELECT pg_current_xact_id()").await.expect("committed");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left goes with the folder.
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bed/own-server.sh");
        let _ = Command::new(script).arg("remove").arg(&self.folder).output();
    }
}
