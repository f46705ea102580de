//! Bodies that arrive after their sender was refused, or after what they are about has changed.

use std::time::Duration;

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::people::{key_with_id, text};

on_both_databases!(
    who_is_revoked_while_the_body_arrives_changes_nothing,
    an_endpoint_that_is_disabled_while_a_retry_arrives_is_not_retried,
);

/// A request whose body has begun.
struct Late {
    stream: TcpStream,
    rest: String,
}

impl Late {
    async fn begin(gateway: &Gateway, path: &str, credential: &str, body: &str) -> Self {
        let address = gateway.anonymous().base_url().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{credential}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.expect("the gateway reads");
        // The gateway asks for the body only of a caller that it has let in.
        let mut asked = [0; 25];
        stream.read_exact(&mut asked).await.expect("an answer begins");
        assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
        let (first, rest) = body.split_at(5);
        stream.write_all(first.as_bytes()).await.expect("the gateway reads");
        Self { stream, rest: rest.to_owned() }
    }

    /// Sends the rest; answers what comes back.
    async fn finish(mut self) -> String {
        self.stream.write_all(self.rest.as_bytes()).await.expect("the gateway reads");
        let mut answer = String::new();
        let answered = timeout(Duration::from_mins(1), self.stream.read_to_string(&mut answer)).await;
        answered.expect("in time").expect("an answer");
        answer
    }
}

async fn who_is_revoked_while_the_body_arrives_changes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let (key_id, key) = key_with_id(&merchant, &json!({})).await;
    let new = json!({ "name": "Olga", "role": "admin" });
    let olga = operator.post("/operator/v1/operators", &new).await.data();
    let bearer = format!("Authorization: Bearer {}", text(&olga, "token"));

    let draft = draft::deposit_mxn(100).to_string();
    let by_key = Late::begin(&gateway, "/api/v1/payments", &format!("X-API-Key: {key}"), &draft).await;
    let by_token = Late::begin(&gateway, "/operator/v1/operators", &bearer, &new.to_string()).await;
    operator.delete(&merchant.operator_path(&format!("/api-keys/{key_id}"))).await.ok();
    operator.delete(&format!("/operator/v1/operators/{}", text(&olga, "operator_id"))).await.ok();
    sleep(Duration::from_secs(2)).await;
    for (late, code) in [(by_key, "API_KEY_REVOKED"), (by_token, "TOKEN_INVALID")] {
        let answer = late.finish().await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains(code), "{answer}");
    }
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 0);
    gateway.check();
}

async fn an_endpoint_that_is_disabled_while_a_retry_arrives_is_not_retried(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (_, key) = key_with_id(&merchant, &json!({})).await;
    let hook = merchant.api.post("/api/v1/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
    let path = format!("/api/v1/webhooks/{}", text(&hook, "id"));
    let credential = format!("X-API-Key: {key}");
    let late = Late::begin(&gateway, &format!("{path}/retry"), &credential, "{\"event_ids\": []}").await;
    merchant.api.put(&format!("{path}/disable"), &json!({})).await.data();
    let answer = late.finish().await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("INVALID_STATUS_TRANSITION"), "{answer}");
}
