//! The dispatcher: runs the tasks that fetch, send and record deliveries.

use std::sync::Arc;

use quipu_webhooks::{Deliverer, Endpoint, EndpointId, Owed};

use crate::{
    board::Board,
    claims,
    in_hand::{InHand, Parts},
    recorder, rounds,
};

/// Sends pending deliveries. Cheap to clone; all clones are one dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) in_hand: Arc<InHand>,
}

impl Dispatcher {
    /// A dispatcher without deliveries. Its attempts run on the runtime on which this is called.
    ///
    /// # Panics
    /// If it is called outside a runtime.
    pub fn new(parts: Parts) -> Self {
        Self { in_hand: Arc::new(InHand::new(parts)) }
    }

    /// Works until `stop` completes, then waits a limited time for the attempts in progress, records them and
    /// releases the rest. Ends earlier only if a part of it has panicked. Runs once.
    ///
    /// # Panics
    /// If it is run a second time.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let waiting = self.in_hand.outcomes_to_record().expect("a dispatcher runs once");
        let mut recorder = tokio::spawn(recorder::run(Arc::clone(&self.in_hand), waiting));
        let mut claims = tokio::spawn(claims::run(Arc::clone(&self.in_hand)));
        let mut rounds = tokio::spawn(rounds::run(Arc::clone(&self.in_hand)));
        tokio::select! {
            () = stop => {}
            // These tasks end before the stop only by a panic.
            _ = &mut recorder => return,
            _ = &mut claims => return,
            _ = &mut rounds => return,
        }
        self.in_hand.announce_the_end();
        let _ = tokio::join!(claims, rounds, recorder);
    }
}

impl Deliverer for Dispatcher {
    fn hand_over(&self, deliveries: Vec<Owed>) {
        self.in_hand.take_in(deliveries, Board::take_in);
    }

    fn endpoint_changed(&self, endpoint: &Endpoint) {
        self.in_hand.follow(&Arc::new(endpoint.clone()));
    }

    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>) {
        {
            let mut board = self.in_hand.board();
            match endpoints {
                None => board.any_changed_elsewhere(),
                Some(endpoints) => {
                    for id in endpoints {
                        board.changed_elsewhere(id);
                    }
                }
            }
        }
        self.in_hand.look.notify_one();
    }

    fn look(&self) {
        self.in_hand.ask_for_a_round();
    }
}
