//! Claims due deliveries from the store while there is room in memory, and releases those that find no room.
//!
//! It fetches endpoint by endpoint. A queue in the order of time would fill up with deliveries to a dead
//! endpoint, and all others would wait behind them. Which endpoints have something due is asked by time as long as few
//! deliveries are due; else it walks over all endpoints for which something waits, of which there may be a million.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    iter::from_fn,
    sync::Arc,
    time::Duration,
};

use quipu_kernel::{StoreError, Tenant, Timestamp, locked};
use quipu_webhooks::{DeliveryKey, DueEndpoints, EndpointId, Owed, Waiting, Wanted};
use tokio::time::{Instant, timeout};

use crate::{board::Board, in_hand::InHand};

/// The shortest pause before what is due next: an endpoint that fails at once has many retries that fall due one by
/// one, and each look costs a commit.
const SHORTEST_REST: Duration = Duration::from_millis(25);
/// The longest pause between two looks at the store: this node is not notified of deliveries that other nodes leave.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// The most deliveries fetched or released in one commit.
const AT_ONCE: u32 = 1_000;
/// The most endpoints read again in one query.
const READ_AT_ONCE: usize = 1_000;
/// After this many failed claims in a row, or failed releases, no more are tried: the reason is the store, and not
/// a few locked rows.
const MOST_LOCKED: usize = 3;
/// How often claimed deliveries are searched for that are not here.
const SEARCH_EVERY: Duration = Duration::from_mins(1);
/// How long a delivery is due before it can be lost: far longer than until a commit hands it over.
const LOST_AFTER: Duration = Duration::from_mins(2);
/// More deliveries than a node claims: those in memory, and those whose outcomes are not recorded yet.
const MOST_CLAIMED: u32 = 50_000;
/// How long one look goes on walking over endpoints: while more is due than was asked for by time, and else only to find
/// what disabled endpoints have left. The next look goes on where it ended, and changed endpoints are read in between.
const WALK: Duration = Duration::from_millis(250);
const SHORT_WALK: Duration = Duration::from_millis(50);
/// The pause after an error.
const RECOVERY: Duration = Duration::from_millis(500);

/// Fetches until the dispatcher stops, then releases the waiting deliveries.
pub(crate) async fn run(in_hand: Arc<InHand>) {
    let (mut search, mut walked_to) = (Search::new(), None);
    while !in_hand.is_stopping() {
        // A locked row makes one of these fail; the others are done all the same.
        let read = read_again(&in_hand).await;
        let returned = give_back(&in_hand).await;
        let released = search.release_lost(&in_hand).await;
        let fetched = fetch(&in_hand, &mut walked_to).await;
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

/// Fetches deliveries while there is room; returns the time until more are due. It walks on from the endpoint
/// `walked_to`, and leaves there the one at which the next look goes on.
async fn fetch(in_hand: &Arc<InHand>, walked_to: &mut Option<EndpointId>) -> Result<Duration, StoreError> {
    let queue = &in_hand.parts.queue;
    let now = in_hand.parts.clock.now();
    let DueEndpoints { endpoints, are_all } = queue.due(now).await?;
    let mut asked: HashSet<_> = endpoints.iter().map(|(_, id)| id.clone()).collect();
    let mut endpoints = VecDeque::from(endpoints);
    let mut locked_out = serve(in_hand, now, &mut endpoints).await?;
    // Where locked rows made it give up, the walk asks for the rest.
    for (_, id) in endpoints {
        asked.remove(&id);
    }
    let (begun, patience) = (Instant::now(), if are_all { SHORT_WALK } else { WALK });
    loop {
        let Waiting { endpoints, next } = queue.waiting(now, walked_to.as_ref()).await?;
        *walked_to = next;
        let mut others = endpoints.into_iter().filter(|(_, id)| !asked.contains(id)).collect();
        locked_out = locked_out.or(serve(in_hand, now, &mut others).await?);
        if walked_to.is_none() || begun.elapsed() >= patience {
            break;
        }
    }
    if let Some(error) = locked_out {
        return Err(error);
    }
    if !are_all && walked_to.is_some() {
        return Ok(Duration::ZERO);
    }
    let next = queue.next_due(now).await?;
    Ok(next.map_or(LONGEST_REST, |next| next.since(in_hand.parts.clock.now())))
}

/// Claims for these endpoints while there is room, in portions: commits stay short, and a portion that brings less than it
/// asked for leaves room for the next. Fails if nothing can be claimed for several endpoints in a row. Locked rows of fewer are
/// answered and left for the next look; after some in a row the rest of the endpoints stays.
async fn serve(
    in_hand: &Arc<InHand>,
    now: Timestamp,
    endpoints: &mut VecDeque<(Tenant, EndpointId)>,
) -> Result<Option<StoreError>, StoreError> {
    let (mut locked_out, mut failures) = (None, 0);
    while !in_hand.is_stopping() && failures < MOST_LOCKED {
        let wanted = in_hand.board().wanted(&mut from_fn(|| endpoints.pop_front()), AT_ONCE);
        if wanted.is_empty() {
            break;
        }
        let tried = wanted.len();
        match claim(in_hand, now, wanted).await {
            Ok(left) => {
                failures = 0;
                left.into_iter().rev().for_each(|one| endpoints.push_front(one));
            }
            Err(error) if tried < MOST_LOCKED => {
                failures += tried;
                locked_out = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(locked_out)
}

/// Claims a portion for the board. Returns the endpoints to be asked for once more, since the bytes of the claim were
/// used up.
async fn claim(
    in_hand: &Arc<InHand>,
    now: Timestamp,
    asked: Vec<Wanted>,
) -> Result<Vec<(Tenant, EndpointId)>, StoreError> {
    let claimed = claim_portion(in_hand, now, &asked).await?;
    let was_cut = bytes_of(&claimed) >= Wanted::BYTES_AT_ONCE;
    let mut left = Vec::new();
    {
        let mut board = in_hand.board();
        for one in asked {
            let got = claimed.iter().filter(|owed| owed.endpoint.id == one.endpoint);
            let (got, bytes) = got.fold((0, 0), |(got, bytes), owed| (got + 1, bytes + owed.bytes()));
            if got == one.most || bytes >= one.bytes {
                board.note_stored(&one.endpoint);
            } else if was_cut {
                left.push((one.tenant, one.endpoint));
            }
        }
    }
    forget_released(in_hand, &claimed);
    in_hand.take_in(claimed, Board::take_in_wanted);
    Ok(left)
}

fn bytes_of(claimed: &[Owed]) -> usize {
    claimed.iter().map(Owed::bytes).sum()
}

/// Drops deliveries that were just claimed from those to be released. An earlier release of them succeeded and its
/// answer was lost; releasing them once more would give away what this node is sending.
fn forget_released(in_hand: &InHand, claimed: &[Owed]) {
    let mut returned = locked(&in_hand.returned);
    if !returned.is_empty() {
        let key = |owed: &Owed| (owed.endpoint.id.clone(), owed.event_id.clone());
        let claimed: HashSet<_> = claimed.iter().map(key).collect();
        returned.retain(|owed| !claimed.contains(&key(owed)));
    }
}

/// Claims a portion. If that fails, each of its endpoints is claimed separately, so that an endpoint with
/// locked rows delays no other for long.
async fn claim_portion(
    in_hand: &Arc<InHand>,
    now: Timestamp,
    asked: &[Wanted],
) -> Result<Vec<Owed>, StoreError> {
    let queue = &in_hand.parts.queue;
    let mut failures = match queue.claim(now, asked.to_vec()).await {
        Err(error) if asked.len() > 1 => vec![error],
        claimed => return claimed,
    };
    let (mut claimed, mut in_a_row) = (Vec::new(), 0);
    for one in asked {
        match queue.claim(now, vec![one.clone()]).await {
            Ok(mut some) => {
                claimed.append(&mut some);
                in_a_row = 0;
            }
            Err(error) => {
                failures.push(error);
                in_a_row += 1;
            }
        }
        if in_a_row == MOST_LOCKED || bytes_of(&claimed) >= Wanted::BYTES_AT_ONCE {
            break;
        }
    }
    match failures.pop() {
        Some(error) if claimed.is_empty() => Err(error),
        Some(error) => {
            tracing::warn!(%error, "what is owed to some endpoints could not be fetched");
            Ok(claimed)
        }
        None => Ok(claimed),
    }
}
