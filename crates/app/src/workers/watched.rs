//! Passes commits on to the viewers of hosted pages.

use std::sync::Arc;

use quipu_commit::NewsDesk;
use quipu_http::Viewers;
use quipu_payments::PaymentReads;

use crate::stop_signal::StopSignal;

/// The worker that passes the news of commits to viewers.
pub(crate) struct Watched {
    pub(crate) viewers: Arc<Viewers>,
    pub(crate) news: Arc<dyn NewsDesk>,
    pub(crate) payments: Arc<dyn PaymentReads>,
}

impl Watched {
    /// Works until it is told to stop. Nothing is left half done: the streams end by themselves.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        tokio::select! {
            () = self.viewers.follow(&*self.news, &*self.payments) => stop.given().await,
            () = stop.given() => {}
        }
    }
}
