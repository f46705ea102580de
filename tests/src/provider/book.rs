//! The calls that the provider has received, and its behaviour for the next ones.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use tokio::sync::watch;

/// The endpoints of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// `POST /instructions`.
    Instructions,
    /// `POST /payouts`.
    Payouts,
    /// `GET /payments/{rail_reference}`.
    Status,
}

/// How a call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// As the protocol requires.
    Honest,
    /// The order is accepted and never answered.
    TakeAndHang,
    /// The order is accepted, and answered as the protocol requires once [`answer_late`] is called.
    ///
    /// [`answer_late`]: super::Provider::answer_late
    TakeAndWait,
    /// The order is neither accepted nor answered.
    Hang,
    /// The order is accepted; the answer is not JSON.
    TakeAndTalkNonsense,
    /// The order is accepted; the answer is an internal error of the provider.
    TakeAndFail,
    /// The order is not accepted; the connection is closed.
    Close,
    /// The order is refused.
    Reject,
    /// The answer never ends.
    Endless,
}

impl Behaviour {
    pub(super) const fn takes_on(self) -> bool {
        matches!(
            self,
            Self::Honest
                | Self::TakeAndHang
                | Self::TakeAndWait
                | Self::TakeAndTalkNonsense
                | Self::TakeAndFail
        )
    }
}

/// An order that the provider has accepted.
#[derive(Debug, Clone)]
pub struct Order {
    /// Deposit or payout.
    pub endpoint: Endpoint,
    /// The gateway's request.
    pub body: Value,
    /// How many times it was sent.
    pub times: usize,
    /// The answer to status questions.
    pub status: String,
}

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) orders: BTreeMap<String, Order>,
    pub(super) calls: Vec<Endpoint>,
    pub(super) unsigned: usize,
    /// Whether those who wait for an answer get it.
    pub(super) is_answering: watch::Sender<bool>,
    next: BTreeMap<Endpoint, VecDeque<Behaviour>>,
    usual: BTreeMap<Endpoint, Behaviour>,
}

impl Book {
    pub(super) fn expect(&mut self, endpoint: Endpoint, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.next.entry(endpoint).or_default().extend(behaviours);
    }

    pub(super) fn forget(&mut self, endpoint: Endpoint) {
        self.next.remove(&endpoint);
        self.usual.remove(&endpoint);
    }

    pub(super) fn set_usual(&mut self, endpoint: Endpoint, behaviour: Behaviour) {
        self.usual.insert(endpoint, behaviour);
    }

    /// Notes a call; returns its behaviour.
    pub(super) fn arrive(&mut self, endpoint: Endpoint) -> Behaviour {
        self.calls.push(endpoint);
        let next = self.next.get_mut(&endpoint).and_then(VecDeque::pop_front);
        next.or_else(|| self.usual.get(&endpoint).copied()).unwrap_or(Behaviour::Honest)
    }

    /// Accepts an order, once for each reference.
    pub(super) fn take_on(&mut self, endpoint: Endpoint, body: Value) {
        let reference = body["rail_reference"].as_str().expect("a rail_reference").to_owned();
        let order = self.orders.entry(reference).or_insert_with(|| Order {
            endpoint,
            body,
            times: 0,
            status: "pending".to_owned(),
        });
        order.times += 1;
    }
}
