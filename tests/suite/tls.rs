//! TLS to PostgreSQL and to Redis, with good certificates and bad ones.

use std::process::{Child, Command, Stdio};

use quipu_tests::{
    Authority, Database, Gateway, ScratchFolder, Setup, TestDatabase, TlsServer, draft, eventually, free_port,
};
use serde_json::json;

/// What becomes of each `sslmode`, with and without the authority: `None` is a connection, a text is in what is told.
type Expected = (&'static str, bool, Option<&'static str>);

const UNKNOWN_ISSUER: &str = "invalid peer certificate";

const GOOD: &[Expected] = &[
    ("disable", false, Some("no encryption")),
    ("allow", false, None),
    ("prefer", false, None),
    ("require", false, None),
    ("require", true, None),
    ("verify-ca", true, None),
    ("verify-full", true, None),
    // The operating system does not know the authority.
    ("verify-full", false, Some(UNKNOWN_ISSUER)),
];
const WRONG_NAME: &[Expected] =
    &[("require", false, None), ("verify-ca", true, None), ("verify-full", true, Some(UNKNOWN_ISSUER))];
const WRONG_AUTHORITY: &[Expected] = &[
    ("require", false, None),
    ("require", true, Some(UNKNOWN_ISSUER)),
    ("verify-ca", true, Some(UNKNOWN_ISSUER)),
    ("verify-full", true, Some(UNKNOWN_ISSUER)),
];
const EXPIRED: &[Expected] = &[("require", false, None), ("verify-ca", true, Some(UNKNOWN_ISSUER))];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sslmode_takes_the_certificates_that_it_should() {
    let gateway = Gateway::start(Database::Postgres).await;
    let url = gateway.postgres_url().expect("a server");
    let (ours, other) = (Authority::new(), Authority::new());
    let folder = ScratchFolder::new();
    let file = ours.write_to(folder.path());
    for (identity, expected) in [
        (ours.issue("127.0.0.1"), GOOD),
        (ours.issue("db.example"), WRONG_NAME),
        (other.issue("127.0.0.1"), WRONG_AUTHORITY),
        (ours.issue_expired("127.0.0.1"), EXPIRED),
    ] {
        let server = TlsServer::before(url, &identity).await;
        for (mode, is_known, told) in expected {
            let root = if *is_known { format!("&sslrootcert={}", file.display()) } else { String::new() };
            let through = server.url(url, &format!("?sslmode={mode}{root}"));
            let output = tokio::task::block_in_place(|| {
                gateway.run_elsewhere(&[("QUIPU__DATABASE_URL", &through)], &["migrate"])
            });
            match told {
                None => drop(output.ok()),
                Some(told) => {
                    assert_eq!(output.status, Some(2), "{mode} {is_known}: {}", output.stdout);
                    assert!(output.stderr.contains(told), "{mode} {is_known}: {}", output.stderr);
                }
            }
        }
    }
    // The bed's server itself has no TLS.
    for (mode, works) in
        [("disable", true), ("allow", true), ("prefer", true), ("require", false), ("verify-full", false)]
    {
        let output =
            gateway.run_elsewhere(&[("QUIPU__DATABASE_URL", &format!("{url}?sslmode={mode}"))], &["migrate"]);
        assert_eq!(output.status == Some(0), works, "{mode}: {}", output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_serves_with_every_connection_encrypted() {
    let (authority, folder) = (Authority::new(), ScratchFolder::new());
    let file = authority.write_to(folder.path());
    let database = TestDatabase::create(Database::Postgres).await;
    let server = TlsServer::before(database.url().expect("a server"), &authority.issue("127.0.0.1")).await;
    // Whatever does not ask for TLS is refused, so a connection in the clear would be missed.
    let query = format!("?sslmode=verify-full&sslrootcert={}", file.display());
    let mut gateway = Setup::new(Database::Postgres).start_through(|url| server.url(url, &query)).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::withdrawal_ars(100)).await;
    merchant.wait_for(&id, "completed").await;
    merchant.api.get("/api/v1/payments").await.ok();
    gateway.check();
    assert!(server.encrypted() > 4, "{}", server.encrypted());
    assert!(!gateway.log().contains("other nodes are not heard"));
    assert_eq!(gateway.terminate().await, Some(0));
}

/// A Redis that takes connections by TLS only, with a test's own certificate.
struct TlsRedis {
    port: u16,
    process: Child,
}

impl TlsRedis {
    fn start(folder: &ScratchFolder, authority: &Authority, name: &str) -> Self {
        let port = free_port();
        let authority_file = authority.write_to(folder.path());
        let [certificate, key] = authority.issue(name).write_to(folder.path());
        let process = Command::new("redis-server")
            .args(["--port", "0", "--tls-port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--tls-auth-clients", "no"])
            .arg("--tls-cert-file")
            .arg(certificate)
            .arg("--tls-key-file")
            .arg(key)
            .arg("--tls-ca-cert-file")
            .arg(authority_file)
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        Self { port, process }
    }

    fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}/", self.port)
    }
}

impl Drop for TlsRedis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_shared_through_a_redis_behind_tls() {
    let (authority, folder) = (Authority::new(), ScratchFolder::new());
    let redis = TlsRedis::start(&folder, &authority, "127.0.0.1");
    let file = authority.write_to(folder.path()).display().to_string();
    // It is ready once Redis is.
    let setup =
        Setup::new(Database::Sqlite).set("REDIS_URL", &redis.url()).environment("SSL_CERT_FILE", &file);
    let gateway = setup.set("LIMITS__STANDARD_PER_MINUTE", "5").start().await;
    let merchant = gateway.merchant().await;
    // A node that waited too long for Redis limits by its share, which is less, until it has found it again.
    eventually("limits to be shared", async || {
        let answer = merchant.key(&json!({})).await.get("/api/v1/balance").await;
        (answer.header("X-RateLimit-Remaining") == Some("4")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_with_a_bad_certificate_is_not_spoken_to() {
    let (believed, other) = (Authority::new(), Authority::new());
    for (issuer, name) in [(&other, "127.0.0.1"), (&believed, "redis.example")] {
        let (folder, believing) = (ScratchFolder::new(), ScratchFolder::new());
        let redis = TlsRedis::start(&folder, issuer, name);
        let file = believed.write_to(believing.path()).display().to_string();
        let setup = Setup::new(Database::Sqlite).set("REDIS_URL", &redis.url());
        let gateway = setup.environment("SSL_CERT_FILE", &file).start_unready().await;
        eventually("the refusal to be told", async || {
            gateway.log().contains("(its certificate is not accepted: ").then_some(())
        })
        .await;
        let ready = gateway.anonymous().get("/readyz").await;
        assert_eq!((ready.status, &ready.json()["checks"]["redis"]), (503, &false.into()), "{ready}");
        // Calls are served all the same, by this node's own limits.
        gateway.v1().get("/api/v1/balance").await.ok();
    }
}
