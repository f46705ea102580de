//! Fetches due deliveries while there is room in memory.
//!
//! It fetches endpoint by endpoint. A queue in the order of time would fill up with deliveries to a dead
//! endpoint, and all others would wait behind them. Which endpoints have something due is asked by time as long as few
//! deliveries are due; else it walks over all endpoints for which something waits, of which there may be a million.
//! An endpoint that cannot be claimed, since somebody has locked its rows, comes after the others from then on.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    iter::from_fn,
    sync::Arc,
    time::Duration,
};

use quipu_kernel::{StoreError, Tenant, Timestamp, locked};
use quipu_webhooks::{DueEndpoints, EndpointId, Owed, Waiting, Wanted};
use tokio::time::Instant;

use crate::{board::Board, in_hand::InHand};

/// The most deliveries fetched in one commit.
const AT_ONCE: u32 = 1_000;
/// How long one look goes on walking over endpoints: while more is due than was asked for by time, and else only to find
/// what disabled endpoints have left. The next look goes on where it ended, and changed endpoints are read in between.
const WALK: Duration = Duration::from_millis(250);
const SHORT_WALK: Duration = Duration::from_millis(50);
/// After this many claims in a row that failed for one endpoint each, the others of the same list are left to a later look.
const MOST_IN_A_ROW: usize = 3;
/// After this many endpoints that could not be claimed a look ends: the reason may be the store, and not some locked rows.
const MOST_IN_A_LOOK: usize = 2 * MOST_IN_A_ROW;
/// The pause before endpoints that could not be claimed are asked for again.
const A_WHILE: Duration = Duration::from_millis(500);
/// The most endpoints that are remembered as such that could not be claimed.
const MOST_REMEMBERED: usize = 10_000;

/// An endpoint with its owner.
type Place = (Tenant, EndpointId);

/// What one look leaves to the next.
#[derive(Default)]
pub(crate) struct Fetching {
    /// Where the walk over the endpoints goes on.
    walked_to: Option<EndpointId>,
    /// Endpoints that could not be claimed.
    refused: HashSet<EndpointId>,
}

/// What a look has met so far.
#[derive(Default)]
struct Look {
    failed: HashSet<EndpointId>,
    error: Option<StoreError>,
    /// Whether something could be claimed.
    is_some: bool,
    /// What could not be claimed in an earlier look; it comes last.
    last: Vec<Place>,
}

impl Fetching {
    /// Fetches while there is room; returns the time until more is due.
    pub(crate) async fn look(
        &mut self,
        in_hand: &Arc<InHand>,
        longest_rest: Duration,
    ) -> Result<Duration, StoreError> {
        let queue = &in_hand.parts.queue;
        let now = in_hand.parts.clock.now();
        let mut look = Look::default();
        let DueEndpoints { endpoints, are_all } = queue.due(now).await?;
        self.serve_first(in_hand, now, &mut look, endpoints).await;
        let (begun, patience) = (Instant::now(), if are_all { SHORT_WALK } else { WALK });
        loop {
            let Waiting { endpoints, next } = queue.waiting(now, self.walked_to.as_ref()).await?;
            self.walked_to = next;
            self.serve_first(in_hand, now, &mut look, endpoints).await;
            if self.walked_to.is_none() || begun.elapsed() >= patience {
                break;
            }
        }
        let last = std::mem::take(&mut look.last);
        self.serve(in_hand, now, &mut look, last).await;
        match look.error {
            Some(error) if look.is_some => {
                tracing::warn!(%error, "due deliveries to some endpoints could not be fetched");
                return Ok(A_WHILE);
            }
            Some(error) => return Err(error),
            None => {}
        }
        if !are_all && self.walked_to.is_some() {
            return Ok(Duration::ZERO);
        }
        let next = queue.next_due(now).await?;
        Ok(next.map_or(longest_rest, |next| next.since(in_hand.parts.clock.now())))
    }

    /// Serves the endpoints that could be claimed when they were last asked for; the others are put off.
    async fn serve_first(
        &mut self,
        in_hand: &Arc<InHand>,
        now: Timestamp,
        look: &mut Look,
        endpoints: Vec<Place>,
    ) {
        let new = endpoints.into_iter().filter(|(_, id)| !look.failed.contains(id));
        let (last, first): (Vec<_>, Vec<_>) = new.partition(|(_, id)| self.refused.contains(id));
        let known: HashSet<_> = look.last.iter().map(|(_, id)| id.clone()).collect();
        look.last.extend(last.into_iter().filter(|(_, id)| !known.contains(id)));
        self.serve(in_hand, now, look, first).await;
    }

    /// Claims for these endpoints while there is room, in portions: commits stay short, and a portion that brings less than it
    /// asked for leaves room for the next.
    async fn serve(&mut self, in_hand: &Arc<InHand>, now: Timestamp, look: &mut Look, endpoints: Vec<Place>) {
        let (mut endpoints, mut in_a_row) = (VecDeque::from(endpoints), 0);
        while !in_hand.is_stopping() && in_a_row < MOST_IN_A_ROW && look.failed.len() < MOST_IN_A_LOOK {
            let wanted = in_hand.board().wanted(&mut from_fn(|| endpoints.pop_front()), AT_ONCE);
            if wanted.is_empty() {
                break;
            }
            let ids: Vec<_> = wanted.iter().map(|one| one.endpoint.clone()).collect();
            let Claimed { left, failed, error, in_a_row: at_last, is_some } =
                claim(in_hand, now, wanted).await;
            in_a_row = if is_some { at_last } else { in_a_row + at_last };
            let is_left = |id: &EndpointId| left.iter().any(|(_, left)| left == id);
            for id in ids.iter().filter(|id| !is_left(id)) {
                self.refused.remove(id);
            }
            if self.refused.len() < MOST_REMEMBERED {
                self.refused.extend(failed.iter().cloned());
            }
            look.is_some |= is_some;
            look.failed.extend(failed);
            look.error = error.or(look.error.take());
            left.into_iter().rev().for_each(|one| endpoints.push_front(one));
        }
    }
}

/// What became of a portion.
#[derive(Default)]
struct Claimed {
    /// The endpoints to be asked for once more: the bytes of the claim were used up, or they were not asked.
    left: Vec<Place>,
    /// The endpoints that could not be claimed, and why.
    failed: Vec<EndpointId>,
    error: Option<StoreError>,
    /// How many of them were the last ones that were tried.
    in_a_row: usize,
    /// Whether something could be claimed.
    is_some: bool,
}

/// Claims a portion for the board.
async fn claim(in_hand: &Arc<InHand>, now: Timestamp, asked: Vec<Wanted>) -> Claimed {
    let (taken, mut claimed) = claim_portion(in_hand, now, &asked).await;
    let was_cut = bytes_of(&taken) >= Wanted::BYTES_AT_ONCE;
    let untried: HashSet<_> = std::mem::take(&mut claimed.left).into_iter().map(|(_, id)| id).collect();
    let mut got: HashMap<_, (u32, usize)> = HashMap::new();
    for owed in &taken {
        let (count, bytes) = got.entry(owed.endpoint.id.clone()).or_default();
        (*count, *bytes) = (*count + 1, *bytes + owed.bytes());
    }
    {
        let mut board = in_hand.board();
        for one in asked {
            let (count, bytes) = got.get(&one.endpoint).copied().unwrap_or_default();
            if count == one.most || bytes >= one.bytes {
                board.note_stored(&one.endpoint);
            } else if untried.contains(&one.endpoint) || was_cut && !claimed.failed.contains(&one.endpoint) {
                claimed.left.push((one.tenant, one.endpoint));
            }
        }
    }
    forget_released(in_hand, &taken);
    in_hand.take_in(taken, Board::take_in_wanted);
    claimed
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
async fn claim_portion(in_hand: &Arc<InHand>, now: Timestamp, asked: &[Wanted]) -> (Vec<Owed>, Claimed) {
    let (queue, mut claimed, mut taken) = (&in_hand.parts.queue, Claimed::default(), Vec::new());
    let mut rest = asked.iter();
    match queue.claim(now, asked.to_vec()).await {
        Ok(all) => return (all, Claimed { is_some: true, ..claimed }),
        Err(error) => {
            claimed.error = Some(error);
            if let [one] = asked {
                (claimed.failed, claimed.in_a_row) = (vec![one.endpoint.clone()], 1);
                return (taken, claimed);
            }
        }
    }
    for one in rest.by_ref() {
        match queue.claim(now, vec![one.clone()]).await {
            Ok(mut some) => {
                taken.append(&mut some);
                (claimed.is_some, claimed.in_a_row) = (true, 0);
            }
            Err(error) => {
                claimed.failed.push(one.endpoint.clone());
                claimed.error = Some(error);
                claimed.in_a_row += 1;
            }
        }
        if claimed.in_a_row == MOST_IN_A_ROW || bytes_of(&taken) >= Wanted::BYTES_AT_ONCE {
            break;
        }
    }
    claimed.left = rest.map(|one| (one.tenant, one.endpoint.clone())).collect();
    if claimed.failed.is_empty() {
        claimed.error = None;
    }
    (taken, claimed)
}
