//! The dispatcher: has what is owed fetched, sent and recorded, from its beginning to its end.

use std::{sync::Arc, time::Duration};

use quipu_webhooks::{Endpoint, Handover, Owed};

use crate::{
    claims,
    inner::{Inner, Parts},
    recorder,
};

/// How long attempts under way may take after the end was announced: as long as one lasts, and a little.
const DRAIN: Duration = Duration::from_secs(20);

/// Delivers what is owed. Cheap to clone; all clones are one dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) inner: Arc<Inner>,
}

impl Dispatcher {
    /// A dispatcher with nothing in hand.
    pub fn new(parts: Parts) -> Self {
        Self { inner: Arc::new(Inner::new(parts)) }
    }

    /// Works until `stop` completes, then lets attempts under way end, records them and gives the rest back. Runs once.
    ///
    /// # Panics
    /// If it is run a second time.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let waiting = self.inner.outcomes_to_record().expect("a dispatcher runs once");
        let recorder = tokio::spawn(recorder::run(Arc::clone(&self.inner), waiting));
        let claims = tokio::spawn(claims::run(Arc::clone(&self.inner)));
        stop.await;
        self.inner.announce_the_end();
        let _ = claims.await;
        if tokio::time::timeout(DRAIN, self.inner.attempts_ended()).await.is_err() {
            tracing::warn!("attempts under way were abandoned; they will be made again");
        }
        let _ = recorder.await;
    }
}

impl Handover for Dispatcher {
    fn hand_over(&self, deliveries: Vec<Owed>) {
        self.inner.take_in(deliveries);
    }

    fn endpoint_changed(&self, endpoint: &Endpoint) {
        self.inner.board().changed(&Arc::new(endpoint.clone()));
    }

    fn look(&self) {
        self.inner.look.notify_one();
    }
}
