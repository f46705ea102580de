//! The metrics of a gateway.

use reqwest::Method;
use serde_json::Value;

use crate::{Client, Gateway, eventually};

impl Gateway {
    /// A client of `/metrics`, at the address in the log. The gateway must log in JSON.
    pub async fn metrics(&self) -> Client {
        let address = eventually("the address of the metrics in the log", async || {
            let log = self.log();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            // A restarted gateway has another address.
            let served = lines.rfind(|line| line["message"] == "metrics are served")?;
            served["listen"].as_str().map(str::to_owned)
        })
        .await;
        Client::undocumented(&format!("http://{address}"))
    }

    /// The value of a metric without labels; 0 if nothing was measured yet.
    pub async fn measured(&self, name: &str) -> f64 {
        let text = self.metrics().await.send(Method::GET, "/metrics", None, &[]).await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }
}
