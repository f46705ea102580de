//! Rate limits of several nodes, which share a Redis and can do without it (docs/API.md, "Rate limits").

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use quipu_tests::{Client, Database, Gateway, Merchant, Setup, draft, eventually, free_port};
use serde_json::json;

use super::{limits::announced, people::text};

const BALANCE: &str = "/api/v1/balance";
const LIMIT: i64 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_a_budget() {
    let setup = Setup::new(Database::Postgres).with_redis().set("LIMITS__PAYMENT_CREATE_PER_MINUTE", "3");
    let gateway = setup.set("LIMITS__STANDARD_PER_MINUTE", "4").start().await;
    let node = gateway.another_node().await;
    let merchant = gateway.merchant().await;
    // A node that waited too long for Redis limits by its share until it has found it again, so all is tried anew.
    let as_one = [(200, 3), (200, 2), (200, 1), (200, 0), (429, 0), (429, 0)];
    eventually("two nodes to share a budget", async || {
        let [here, there] = a_key_on_both(&merchant, &gateway, &node).await;
        let mut told = Vec::new();
        for caller in [&here, &there, &here, &there, &here, &there] {
            let answer = caller.get(BALANCE).await;
            told.push((answer.status, announced(&answer).1));
        }
        (told == as_one).then_some(())
    })
    .await;
    eventually("two nodes to share a budget of creations", async || {
        let [here, there] = a_key_on_both(&merchant, &gateway, &node).await;
        let mut told = Vec::new();
        for caller in [&here, &there, &there, &here, &there] {
            told.push(caller.create(&draft::deposit_mxn(5)).await.status);
        }
        (told == [200, 200, 200, 429, 429]).then_some(())
    })
    .await;
}

/// A new key of the merchant, for use on either node.
async fn a_key_on_both(merchant: &Merchant, one: &Gateway, other: &Gateway) -> [Client; 2] {
    let key = text(&merchant.issue(&json!({})).await, "key");
    [one.anonymous().with_api_key(&key), other.anonymous().with_api_key(&key)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_refuses_nobody_and_a_found_one_is_shared_again() {
    let mut redis = Redis::start().await;
    let setup = Setup::new(Database::Postgres).set("REDIS_URL", &redis.url());
    let gateway = setup.set("LIMITS__STANDARD_PER_MINUTE", &LIMIT.to_string()).start().await;
    let node = gateway.another_node().await;
    let merchant = gateway.merchant().await;
    let fresh = async || a_key_on_both(&merchant, &gateway, &node).await;
    // Not at once, perhaps: a node that waited too long for Redis limits by its share until it has found it again.
    eventually("limits to be shared", async || is_shared(&fresh().await).await.then_some(())).await;

    redis.stop();
    // Each node limits by its own share, which is at least one and at most the whole.
    for caller in fresh().await {
        let answer = caller.get(BALANCE).await;
        answer.ok();
        let (limit, _) = announced(&answer);
        assert!((1..=LIMIT).contains(&limit), "a share of {limit}");
        for _ in 1..limit {
            caller.get(BALANCE).await.ok();
        }
        caller.get(BALANCE).await.refused(429, "RATE_LIMITED");
    }
    merchant.api.create(&draft::deposit_mxn(5)).await.ok();

    redis.resume();
    eventually("limits to be shared again", async || is_shared(&fresh().await).await.then_some(())).await;
}

/// Whether what one node counts is seen by the other.
async fn is_shared([here, there]: &[Client; 2]) -> bool {
    let (first, second) = (here.get(BALANCE).await, there.get(BALANCE).await);
    (announced(&first), announced(&second)) == ((LIMIT, LIMIT - 1), (LIMIT, LIMIT - 2))
}

/// A Redis of this test's own, to be killed.
struct Redis {
    port: u16,
    process: Option<Child>,
}

impl Redis {
    async fn start() -> Self {
        let port = free_port();
        let mut redis = Self { port, process: None };
        redis.resume();
        eventually("Redis to answer", async || TcpStream::connect(("127.0.0.1", port)).ok()).await;
        redis
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// It is there once its port answers; the gateway retries by itself.
    fn resume(&mut self) {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "redis-server", "--bind", "127.0.0.1"]);
        command.args(["--port", &self.port.to_string(), "--save", "", "--appendonly", "no"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().expect("redis-server can be started"));
    }

    fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
