//! Which node has what in hand, as its leases in the database say.

use std::time::Duration;

use quipu_tests::{Gateway, Merchant, eventually};
use serde_json::Value;
use tokio::time::timeout;

/// A node under the name that its leases have.
pub(super) struct Node<'a> {
    gateway: &'a Gateway,
    name: String,
}

impl<'a> Node<'a> {
    /// The only node on its database.
    pub(super) fn alone(gateway: &'a Gateway) -> Self {
        let name = gateway.query_sql("SELECT node FROM nodes").pop().expect("it has beaten");
        Self { gateway, name }
    }

    /// Waits until it knows that another node lives, from when on it claims what it does.
    pub(super) async fn knows_of_another(&self) {
        let last = self.last_beat();
        eventually("its next heartbeat", async || (self.last_beat() != last).then_some(())).await;
    }

    fn last_beat(&self) -> Vec<String> {
        self.gateway.query_sql(&format!("SELECT beat_at FROM nodes WHERE node = '{}'", self.name))
    }

    /// Creates payments until this node is the one that claims their work.
    pub(super) async fn claims(&self, merchant: &Merchant, mut draft: impl FnMut() -> Value) -> String {
        let claimed = async {
            loop {
                let id = merchant.create(&draft()).await;
                let holder =
                    format!("SELECT lease_node FROM work WHERE subject = '{id}' AND lease_node IS NOT NULL");
                let holder =
                    eventually("a node to claim it", async || self.gateway.query_sql(&holder).pop()).await;
                if holder == self.name {
                    return id;
                }
            }
        };
        timeout(Duration::from_mins(1), claimed).await.expect("this node claims one in time")
    }
}
