//! A Redis of a test's own.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use redis::aio::MultiplexedConnection;
use tokio::time::interval;

use crate::DEADLINE;

/// The name of the memory of a Redis in use.
pub(crate) const IN_USE: &str = "in_use";

/// A port below those that the system hands out, so that nobody is given it while its Redis is down.
fn free_port() -> u16 {
    let candidates = std::iter::repeat_with(|| 20_000 + (uuid::Uuid::new_v4().as_u128() % 12_000) as u16);
    let mut free = candidates.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.next().expect("the candidates never end")
}

/// Where the Redis on that port saves its data, if it is told to.
fn file(port: u16) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("redis-{port}.rdb"))
}

/// A Redis process of a test's own, which ends with it.
pub(crate) struct PrivateRedis {
    port: u16,
    process: Child,
}

impl PrivateRedis {
    pub(crate) fn start() -> Self {
        let port = free_port();
        let _ = std::fs::remove_file(file(port));
        Self::start_on(port)
    }

    /// One that nodes have used for a while without a pause, and that knows what they allowed.
    pub(crate) async fn start_in_use() -> Self {
        let redis = Self::start();
        let mut connection = redis.connection().await;
        let (now, _): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await.expect("the time");
        let info: String = redis::cmd("INFO").query_async(&mut connection).await.expect("a text");
        let run = info.lines().find_map(|line| line.strip_prefix("run_id:")).expect("a run");
        let mut call = redis::cmd("HSET");
        call.arg("quipu:limits:memory").arg(&[("name", IN_USE), ("since", "0"), ("run", run)]);
        call.arg("heard").arg(now).exec_async(&mut connection).await.expect("done");
        redis
    }

    pub(crate) async fn save(&self) {
        redis::cmd("SAVE").exec_async(&mut self.connection().await).await.expect("done");
    }

    /// A connection, as soon as there can be one.
    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url()).expect("an address");
        let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
        loop {
            if let Ok(connection) = client.get_multiplexed_async_connection().await {
                return connection;
            }
            assert!(Instant::now() < deadline, "Redis does not start");
            looks.tick().await;
        }
    }

    pub(crate) fn start_on(port: u16) -> Self {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--dir", env!("CARGO_TARGET_TMPDIR"), "--dbfilename", &format!("redis-{port}.rdb")])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server must be installed; `make test` does that");
        Self { port, process }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.process.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    pub(crate) async fn flush(&self) {
        let mut connection = self.connection().await;
        redis::cmd("FLUSHALL").exec_async(&mut connection).await.expect("done");
    }

    /// A node is there that does nothing. It announces itself a little ahead of time, to be heard of for longer.
    pub(crate) async fn announce(&self, node: &str) {
        let mut connection = self.connection().await;
        let (now, _): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await.expect("the time");
        let mut call = redis::cmd("ZADD");
        call.arg("quipu:limits:nodes")
            .arg(now + 2)
            .arg(node)
            .exec_async(&mut connection)
            .await
            .expect("done");
    }

    /// That node has told what it allowed.
    pub(crate) async fn tell(&self, node: &str) {
        let mut call = redis::cmd("HSET");
        call.arg("quipu:limits:told_at").arg(node).arg(1);
        call.exec_async(&mut self.connection().await).await.expect("done");
    }

    /// Waits until Redis knows of so many nodes.
    pub(crate) async fn until_known(&self, count: usize) {
        let mut connection = self.connection().await;
        let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
        loop {
            let mut call = redis::cmd("ZCARD");
            call.arg("quipu:limits:nodes");
            let known: usize = call.query_async(&mut connection).await.expect("a number");
            if known == count {
                return;
            }
            assert!(Instant::now() < deadline, "Redis knows of {known} nodes");
            looks.tick().await;
        }
    }

    /// Waits until each of so many nodes knows of the others, which they learn every few seconds.
    pub(crate) async fn until_counted(&self, count: usize) {
        let mut connection = self.connection().await;
        let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
        let scores = |connection: &mut MultiplexedConnection| {
            let mut connection = connection.clone();
            async move {
                let mut call = redis::cmd("ZRANGE");
                call.arg("quipu:limits:nodes").arg(0).arg(-1).arg("WITHSCORES");
                call.query_async::<Vec<(String, i64)>>(&mut connection).await.expect("a set")
            }
        };
        let first = scores(&mut connection).await;
        loop {
            let now = scores(&mut connection).await;
            let announced =
                now.iter().filter(|(node, at)| first.iter().any(|(known, then)| known == node && at > then));
            if announced.count() == count {
                return;
            }
            assert!(Instant::now() < deadline, "the nodes are not announced: {now:?}");
            looks.tick().await;
        }
    }

    /// Waits until each of so many nodes has read who is there now: it has the answer before it asks again.
    pub(crate) async fn until_heard(&self, count: usize) {
        self.until_counted(count).await;
        self.until_counted(count).await;
    }

    pub(crate) fn kill(mut self) -> u16 {
        self.end();
        self.port
    }

    fn end(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.end();
        }
    }
}
