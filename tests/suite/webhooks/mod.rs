//! Webhooks: the resource, what is told to whom, and what becomes of what could not be told.

mod delivery;
mod guide;
mod guides_rust;
mod hostile;
mod in_request;
mod kills;
mod log;
mod resource;
mod side_by_side;

use quipu_tests::{Client, Database, Gateway, Setup};
use serde_json::{Value, json};

/// A gateway that tries again soon.
async fn impatient(database: Database) -> Gateway {
    let setup = Setup::new(database).set("WEBHOOKS__RETRY_SCHEDULE", "300ms,300ms");
    setup.start().await
}

/// Makes an endpoint that hears these events, and answers it with its secret.
async fn endpoint(api: &Client, url: &str, events: &[&str]) -> Value {
    api.post("/api/v1/webhooks", &json!({ "url": url, "events": events })).await.data()
}

fn path_of(endpoint: &Value, rest: &str) -> String {
    format!("/api/v1/webhooks/{}{rest}", endpoint["id"].as_str().expect("an id"))
}
