//! The nodes that are alive, as a load balancer knows them.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use quipu_tests::{Answer, Client, Gateway, eventually};
use reqwest::Method;

/// The nodes by number; those that are down are none.
pub(crate) struct Nodes {
    alive: Mutex<Vec<Option<Client>>>,
    turn: AtomicUsize,
    progress: AtomicUsize,
}

impl Nodes {
    pub(crate) fn of(gateways: &[Gateway]) -> Self {
        let alive = gateways.iter().map(|gateway| Some(gateway.anonymous())).collect();
        Self { alive: Mutex::new(alive), turn: AtomicUsize::new(0), progress: AtomicUsize::new(0) }
    }

    pub(crate) fn lose(&self, node: usize) {
        self.alive()[node] = None;
    }

    pub(crate) fn regain(&self, node: usize, gateway: &Gateway) {
        self.alive()[node] = Some(gateway.anonymous());
    }

    /// How many rounds were lived.
    pub(crate) fn progress(&self) -> usize {
        self.progress.load(Ordering::Relaxed)
    }

    /// One more round was lived.
    pub(crate) fn advance(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// The next node in turn.
    pub(crate) fn any(&self) -> Client {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let alive: Vec<Client> = self.alive().iter().flatten().cloned().collect();
        alive[turn % alive.len()].clone()
    }

    /// Asks one node after the other until one answers what happened. The call can be repeated without harm.
    pub(crate) async fn ask(&self, who: &Client, method: &Method, path: &str, call: &Call) -> Answer {
        eventually(path, async || {
            let answer = self.once(who, method, path, call).await?;
            let in_use = answer.status == 409 && answer.text.contains("IDEMPOTENCY_KEY_IN_USE");
            (answer.status < 500 && !in_use).then_some(answer)
        })
        .await
    }

    /// Asks one node; none if it died over it.
    pub(crate) async fn once(
        &self,
        who: &Client,
        method: &Method,
        path: &str,
        call: &Call,
    ) -> Option<Answer> {
        let headers: Vec<(&str, &str)> =
            call.key.iter().map(|key| ("Idempotency-Key", key.as_str())).collect();
        let body = call.body.as_ref().map(|body| body.to_string().into_bytes());
        who.moved_to(&self.any()).try_send(method.clone(), path, body, &headers).await.ok()
    }

    fn alive(&self) -> MutexGuard<'_, Vec<Option<Client>>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is sent beside method and path.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) body: Option<serde_json::Value>,
    pub(crate) key: Option<String>,
}

impl Call {
    /// A body under a key.
    pub(crate) fn keyed(body: serde_json::Value) -> Self {
        Self { body: Some(body), key: Some(quipu_tests::draft::reference()) }
    }

    /// A body.
    pub(crate) fn of(body: serde_json::Value) -> Self {
        Self { body: Some(body), key: None }
    }
}
