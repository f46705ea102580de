//! Keeps what is in memory in step with the store: fetches due deliveries while there is room, and releases those that find
//! none.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use quipu_kernel::{StoreError, locked};
use quipu_webhooks::DeliveryKey;
use tokio::time::{Instant, timeout};

use crate::{fetch::Fetching, in_hand::InHand};

/// The shortest pause before what is due next: an endpoint that fails at once has many retries that fall due one by
/// one, and each look costs a commit.
const SHORTEST_REST: Duration = Duration::from_millis(25);
/// The longest pause between two looks at the store: this node is not notified of deliveries that other nodes leave.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// The most deliveries released in one commit.
const AT_ONCE: u32 = 1_000;
/// The most endpoints read again in one query.
const READ_AT_ONCE: usize = 1_000;
/// After this many failed releases no more are tried: the reason is the store, and not a few locked rows.
const MOST_LOCKED: usize = 3;
/// How often claimed deliveries are searched for that are not here.
const SEARCH_EVERY: Duration = Duration::from_mins(1);
/// How long a delivery is due before it can be lost: far longer than until a commit hands it over.
const LOST_AFTER: Duration = Duration::from_mins(2);
/// More deliveries than a node claims: those in memory, and those whose outcomes are not recorded yet.
const MOST_CLAIMED: u32 = 50_000;
/// The pause after an error.
const RECOVERY: Duration = Duration::from_millis(500);

/// Fetches until the dispatcher stops, then releases the waiting deliveries.
pub(crate) async fn run(in_hand: Arc<InHand>) {
    let (mut search, mut fetching) = (Search::new(), Fetching::default());
    while !in_hand.is_stopping() {
        // A locked row makes one of these fail; the others are done all the same.
        let read = read_again(&in_hand).await;
        let returned = give_back(&in_hand).await;
        let released = search.release_lost(&in_hand).await;
        let fetched = fetching.look(&in_hand, LONGEST_REST).await;
        let rest = match read.and(returned).and(released).and(fetched) {
            Ok(rest) => rest.clamp(SHORTEST_REST, LONGEST_REST),
            Err(error) => {
                tracing::warn!(%error, "due deliveries could not be fetched");
                RECOVERY
            }
        };
        let _ = timeout(rest, in_hand.look.notified()).await;
    }
    let mut waiting = in_hand.board().clear();
    locked(&in_hand.returned).append(&mut waiting);
    if let Err(error) = give_back(&in_hand).await {
        tracing::warn!(%error, "owed deliveries could not be given back; they are free when this node is gone");
    }
}

/// Reads the endpoints that other nodes have changed.
async fn read_again(in_hand: &Arc<InHand>) -> Result<(), StoreError> {
    let mut ids = in_hand.board().stale();
    while !ids.is_empty() {
        let portion = ids.split_off(ids.len().saturating_sub(READ_AT_ONCE));
        let found = match in_hand.parts.queue.endpoints_now(portion.clone()).await {
            Ok(found) => found,
            Err(error) => {
                ids.extend(portion);
                in_hand.board().were_not_read(ids);
                return Err(error);
            }
        };
        let mut found: HashMap<_, _> =
            found.into_iter().map(|endpoint| (endpoint.id.clone(), Arc::new(endpoint))).collect();
        for id in &portion {
            let returned = in_hand.board().was_read(id, found.remove(id).as_ref());
            in_hand.give_back_later(&returned);
        }
        in_hand.send_next();
    }
    Ok(())
}

/// Releases deliveries in portions, so that commits stay short and a locked row delays few others. They are kept
/// until the store has released them, so that none stays claimed by a node that has forgotten it.
async fn give_back(in_hand: &Arc<InHand>) -> Result<(), StoreError> {
    let mut returned = std::mem::take(&mut *locked(&in_hand.returned));
    let (mut kept, mut failures) = (Vec::new(), Vec::new());
    while !returned.is_empty() && failures.len() < MOST_LOCKED {
        let rest = returned.split_off(returned.len().min(AT_ONCE as usize));
        let portion = std::mem::replace(&mut returned, rest);
        if let Err(error) = in_hand.parts.queue.give_back(portion.clone()).await {
            failures.push(error);
            kept.extend(portion);
        }
    }
    // Those that could not be released come last, so that the others have their turn.
    returned.extend(kept);
    locked(&in_hand.returned).extend(returned);
    failures.pop().map_or(Ok(()), Err)
}

/// The search for deliveries that the store says this node has in hand, and that are not here.
struct Search {
    made: Instant,
    /// What was not here when it was last made.
    missing: HashSet<DeliveryKey>,
}

impl Search {
    fn new() -> Self {
        Self { made: Instant::now(), missing: HashSet::new() }
    }

    /// Releases what was not here twice in a row. Nothing is fetched meanwhile, so none of it is on its way here.
    async fn release_lost(&mut self, in_hand: &Arc<InHand>) -> Result<(), StoreError> {
        if self.made.elapsed() < SEARCH_EVERY {
            return Ok(());
        }
        self.made = Instant::now();
        let (queue, before) = (&in_hand.parts.queue, in_hand.parts.clock.now().minus(LOST_AFTER));
        let claimed = queue.long_in_hand(before, MOST_CLAIMED).await?;
        let missing = {
            let board = in_hand.board();
            let mut missing = board.missing_of(claimed);
            for owed in locked(&in_hand.returned).iter() {
                missing.remove(&owed.key());
            }
            missing
        };
        let lost: Vec<_> = missing.iter().filter(|key| self.missing.contains(*key)).cloned().collect();
        // What cannot be released now is lost at the next search too.
        self.missing = missing;
        for portion in lost.chunks(AT_ONCE as usize) {
            queue.release_lost(portion.to_vec()).await?;
            let deliveries = portion.len();
            tracing::warn!(
                deliveries,
                "deliveries were released that this node had claimed and did not have"
            );
        }
        Ok(())
    }
}
