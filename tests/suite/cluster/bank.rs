//! What a customer pays in and is paid out over a provider. It tells of every outcome more than once and in any order, at
//! whichever node answers.

use quipu_tests::{
    Answer, Setup, eventually,
    provider::{Behaviour, Endpoint, Provider},
};
use serde_json::{Value, json};

use super::nodes::Nodes;

/// What the provider's payments are in; all others go over the simulator.
pub(super) const CURRENCY: &str = "UYU";
pub(super) const BANKED: i64 = 70;
pub(super) const PAID_OUT: i64 = 20;

pub(super) struct Bank(pub(super) Provider);

impl Bank {
    /// A provider that takes some orders without saying so, and loses some answers.
    pub(super) async fn open(orders: usize) -> Self {
        const WAYS: [Behaviour; 8] = [
            Behaviour::Honest,
            Behaviour::TakeAndFail,
            Behaviour::Honest,
            Behaviour::Close,
            Behaviour::Honest,
            Behaviour::Honest,
            Behaviour::TakeAndTalkNonsense,
            Behaviour::Honest,
        ];
        let provider = Provider::start().await;
        for endpoint in [Endpoint::Instructions, Endpoint::Payouts] {
            provider.next(endpoint, WAYS.into_iter().cycle().take(orders));
        }
        Self(provider)
    }

    /// Adds it to the settings of the nodes, who soon ask about what they do not know.
    pub(super) fn configure(&self, setup: Setup) -> Setup {
        self.0.configure(setup).set("RAILS__STATUS_SCHEDULE", "500ms,1s")
    }

    /// Waits until the order is taken on.
    pub(super) async fn takes_on(&self, reference: &str) {
        eventually("the provider to take it on", async || self.0.order(reference)).await;
    }

    /// Reports an amount that nobody ordered, at two nodes at once.
    pub(super) async fn report_another_amount(&self, nodes: &Nodes, reference: &str) {
        let mut event = self.0.event("payment.completed", reference);
        event["amount"] = json!(BANKED - 1);
        for answer in self.tell_twice(nodes, &event).await {
            let outcome = &answer.data()["outcome"];
            assert!(["parked", "known"].contains(&outcome.as_str().expect("text")), "{answer}");
        }
    }

    /// Reports what happened: each event at two nodes at once, and all under a second name once more.
    pub(super) async fn report(&self, nodes: &Nodes, kinds: &[&str], reference: &str) {
        let events: Vec<Value> =
            kinds.iter().chain(kinds).map(|kind| self.0.event(kind, reference)).collect();
        for event in events {
            for answer in self.tell_twice(nodes, &event).await {
                assert_ne!(answer.data()["outcome"], "parked", "{event}");
            }
        }
    }

    async fn tell_twice(&self, nodes: &Nodes, event: &Value) -> [Answer; 2] {
        tokio::join!(self.tell(nodes, event), self.tell(nodes, event)).into()
    }

    /// Tells one node after the other until one has answered.
    async fn tell(&self, nodes: &Nodes, event: &Value) -> Answer {
        eventually("a callback to be answered", async || {
            let answer = self.0.try_call_back(&nodes.any(), event).await?;
            (answer.status < 500).then_some(answer)
        })
        .await
    }
}
