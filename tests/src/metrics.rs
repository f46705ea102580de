//! What a gateway measures of itself.

use reqwest::Method;
use serde_json::Value;

use crate::{Client, Gateway, eventually};

impl Gateway {
    /// A client of `/metrics`, on the address that the log tells of. The gateway must log in JSON.
    pub async fn metrics(&self) -> Client {
        let address = eventually("the address of the metrics in the log", async || {
            let log = self.log();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            // A gateway that was started again has another one.
            let served = lines.rfind(|line| line["message"] == "metrics are served")?;
            served["listen"].as_str().map(str::to_owned)
        })
        .await;
        Client::undocumented(&format!("http://{address}"))
    }

    /// How a metric without labels stands; zero while nothing was measured.
    pub async fn measured(&self, name: &str) -> f64 {
        let text = self.metrics().await.send(Method::GET, "/metrics", None, &[]).await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }
}
