//! All open connections: how many there may be, and which are closed for new ones.

use std::{
    cell::Cell,
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use quipu_kernel::locked;

use futures_util::task::AtomicWaker;

/// For how many milliseconds an idle connection keeps its place while other places are free. A new one is
/// idle until its first request has arrived, and must not give way to the next new one.
const FRESH: u64 = 1_000;
/// For how many milliseconds a client that is in the middle of a request or an answer may be waited for before its
/// connection counts as idle.
const PATIENCE: u64 = 10_000;
/// The free places for which idle connections give way. Streams leave twice as many.
const FREE: usize = 1_024;
/// The mark of a connection that is not idle.
const BUSY: u64 = u64::MAX;

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing: no request is being answered.
    Idle,
    /// It waits for its client to send more of a body, or to take more of an answer.
    Awaiting,
    /// A request is being answered.
    Busy,
}

/// The place of one connection in the crowd.
pub(super) struct Place {
    number: u64,
    crowd: Arc<Inner>,
    standing: Cell<Standing>,
    seen: Arc<Seen>,
    _share: Option<Share>,
}

/// One unit of an address's share: a connection, or an exchange on a proxy's connection.
#[derive(Debug)]
pub(crate) struct Share {
    address: IpAddr,
    crowd: Arc<Inner>,
}

/// The state by which the crowd judges whether a connection may be closed, and asks it to close.
#[derive(Debug)]
struct Seen {
    /// The address that holds the connection; `None` for a proxy's.
    address: Option<IpAddr>,
    /// From when on it counts as idle, in milliseconds since the crowd's beginning; `BUSY` if it does not.
    idle_since: AtomicU64,
    must_go: AtomicBool,
    waker: AtomicWaker,
}

#[derive(Debug)]
struct Inner {
    begun: Instant,
    at_most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    places: HashMap<u64, Arc<Seen>>,
    /// The number of shares that each address holds.
    held: HashMap<IpAddr, usize>,
}

/// All open connections.
#[derive(Debug, Clone)]
pub(crate) struct Crowd(Arc<Inner>);

impl Crowd {
    /// A crowd of at most `at_most` connections.
    pub(crate) fn new(at_most: usize) -> Self {
        Self(Arc::new(Inner { begun: Instant::now(), at_most, open: Mutex::default() }))
    }

    /// Returns a place for a new connection. Once three quarters of the places are taken, an address that holds more than an
    /// eighth of them gets no more, and the connection of its own that has been idle for longest gives way. Once
    /// they are scarce, the idlest of all gives way to somebody else. A proxy's connection has no
    /// address, since the proxy speaks for many clients.
    pub(super) fn admit(&self, address: Option<IpAddr>) -> Option<Place> {
        self.admit_at(self.0.now(), address)
    }

    fn admit_at(&self, now: u64, address: Option<IpAddr>) -> Option<Place> {
        let inner = &self.0;
        let mut open = inner.open();
        if inner.is_crowded(&open) {
            let is_full = open.places.len() >= inner.at_most;
            let greedy = address.filter(|address| inner.holds_enough(&open, *address));
            let makes_room = greedy.is_some() || inner.is_scarce(&open);
            let since = if is_full { Some(now) } else { now.checked_sub(FRESH) };
            if let Some(since) = since.filter(|_| makes_room) {
                open.ask_the_idlest_to_go(since, greedy);
            }
            if is_full || greedy.is_some() {
                return None;
            }
        }
        let number = open.next;
        open.next += 1;
        let seen = Arc::new(Seen {
            address,
            idle_since: AtomicU64::new(now),
            must_go: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        open.places.insert(number, Arc::clone(&seen));
        let share = address.map(|address| open.share(inner, address));
        Some(Place {
            number,
            crowd: Arc::clone(inner),
            standing: Cell::new(Standing::Idle),
            seen,
            _share: share,
        })
    }

    /// Counts a request for the client that a proxy forwards; `None` if that client already holds its share while
    /// connections are scarce.
    pub(super) fn share(&self, address: IpAddr) -> Option<Share> {
        let inner = &self.0;
        let mut open = inner.open();
        if inner.is_crowded(&open) && inner.holds_enough(&open, address) {
            return None;
        }
        Some(open.share(inner, address))
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Open> {
        // The map is consistent after every statement, so a thread that panicked left nothing half done.
        locked(&self.open)
    }

    fn is_crowded(&self, open: &Open) -> bool {
        open.places.len() >= self.at_most / 4 * 3
    }

    /// Whether no more than a quarter of the places are free, or [`FREE`] where that is less. Streams, which do not give way, may
    /// take more than three quarters of very many places; the idle connections of others are not closed for them.
    fn is_scarce(&self, open: &Open) -> bool {
        open.places.len() >= self.at_most - (self.at_most / 4).min(FREE)
    }

    fn holds_enough(&self, open: &Open, address: IpAddr) -> bool {
        open.held.get(&address).is_some_and(|held| *held > (self.at_most / 8).max(1))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(BUSY - 1)
    }
}

impl Open {
    fn share(&mut self, crowd: &Arc<Inner>, address: IpAddr) -> Share {
        *self.held.entry(address).or_default() += 1;
        Share { address, crowd: Arc::clone(crowd) }
    }

    /// Asks the connection that has been idle for longest to close, if it has been idle at least since
    /// `since`: of this address, or of all if there is none.
    fn ask_the_idlest_to_go(&self, since: u64, address: Option<IpAddr>) {
        let all = self.places.values().filter(|seen| address.is_none() || seen.address == address);
        let staying = all.filter(|seen| !seen.must_go.load(Ordering::Relaxed));
        let idlest = staying.min_by_key(|seen| seen.idle_since.load(Ordering::Relaxed));
        if let Some(seen) = idlest.filter(|seen| seen.idle_since.load(Ordering::Relaxed) <= since) {
            seen.must_go.store(true, Ordering::Relaxed);
            seen.waker.wake();
        }
    }
}

impl Place {
    /// Notes what the connection does.
    pub(super) fn note(&self, standing: Standing) {
        self.note_when(|| self.crowd.now(), standing);
    }

    fn note_when(&self, now: impl FnOnce() -> u64, standing: Standing) {
        if self.standing.replace(standing) != standing {
            let since = match standing {
                Standing::Idle => now(),
                Standing::Awaiting => now() + PATIENCE,
                Standing::Busy => BUSY,
            };
            self.seen.idle_since.store(since, Ordering::Relaxed);
        }
    }

    /// Whether the connection has to give way now. The waker is called when it has to.
    pub(super) fn must_go(&self, waker: &std::task::Waker) -> bool {
        self.must_go_when(|| self.crowd.now(), waker)
    }

    fn must_go_when(&self, now: impl FnOnce() -> u64, waker: &std::task::Waker) -> bool {
        self.seen.waker.register(waker);
        self.seen.must_go.load(Ordering::Relaxed) && self.seen.idle_since.load(Ordering::Relaxed) <= now()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.open().places.remove(&self.number);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.crowd.open();
        if let Some(held) = open.held.get_mut(&self.address) {
            *held -= 1;
            if *held == 0 {
                open.held.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn from(crowd: &Crowd, now: u64, last: u8) -> Option<Place> {
        crowd.admit_at(now, Some(IpAddr::from([10, 0, 0, last])))
    }

    fn gone(places: &[Place]) -> usize {
        places.iter().filter(|place| place.must_go_when(|| BUSY - 1, Waker::noop())).count()
    }

    #[test]
    fn in_a_crowd_the_idlest_gives_way_and_nobody_holds_more_than_a_share() {
        let crowd = Crowd::new(16);
        let places: Vec<_> = (0..12).map(|last| from(&crowd, 0, last).expect("room")).collect();
        assert_eq!(gone(&places), 0);
        places[0].note(Standing::Busy);
        let thirteenth = from(&crowd, FRESH, 12).expect("room");
        assert!(!places[0].must_go_when(|| FRESH, Waker::noop()), "it is being answered");
        assert_eq!(gone(&places), 1);

        let more: Vec<_> = (0..2).map(|_| from(&crowd, FRESH, 12)).collect();
        assert!(more.iter().all(Option::is_some));
        assert!(from(&crowd, FRESH, 12).is_none(), "it holds three of sixteen");
        drop((places, thirteenth));
        assert!(from(&crowd, FRESH, 12).is_some());
    }

    #[test]
    fn of_very_many_places_a_thousand_free_ones_are_enough() {
        let crowd = Crowd::new(10_000);
        let mut places: Vec<_> = (0..8_976).map(|_| crowd.admit_at(0, None).expect("room")).collect();
        assert_eq!(gone(&places), 0);
        places.push(crowd.admit_at(FRESH, None).expect("room"));
        assert_eq!(gone(&places), 1);
    }

    #[test]
    fn whose_client_is_waited_for_gives_way_after_those_who_are_idle_and_only_after_a_while() {
        let crowd = Crowd::new(16);
        let places: Vec<_> = (0..16).map(|last| from(&crowd, 0, last).expect("room")).collect();
        for place in &places {
            place.note_when(|| 0, Standing::Busy);
        }
        places[0].note_when(|| 0, Standing::Awaiting);
        places[1].note_when(|| 1_000, Standing::Idle);
        let goes = |now| {
            assert!(from(&crowd, now, 16).is_none(), "there is no room");
            let gone = places.iter().enumerate().filter(|(_, it)| it.must_go_when(|| now, Waker::noop()));
            gone.map(|(number, _)| number).collect::<Vec<_>>()
        };
        assert_eq!(goes(PATIENCE - 1), [1]);
        assert_eq!(goes(PATIENCE - 1), [1]);
        places[0].note_when(|| PATIENCE - 1, Standing::Awaiting);
        assert_eq!(goes(PATIENCE), [0, 1], "asking again is no progress");
        places[0].note_when(|| PATIENCE + 1, Standing::Busy);
        places[0].note_when(|| PATIENCE + 2, Standing::Awaiting);
        assert_eq!(goes(2 * PATIENCE + 1), [1], "it has sent some more");
    }

    #[test]
    fn whoever_holds_its_share_makes_nobody_else_give_way() {
        let crowd = Crowd::new(16);
        let others: Vec<_> = (0..13).map(|last| from(&crowd, 0, last).expect("room")).collect();
        let own: Vec<_> = (0..3).map(|_| from(&crowd, 1, 20).expect("room")).collect();
        for now in [FRESH, FRESH + 1, FRESH + 2] {
            assert!(from(&crowd, now, 20).is_none(), "it holds three of sixteen");
        }
        assert_eq!((gone(&others), gone(&own)), (0, 3));
    }

    #[test]
    fn whom_a_proxy_speaks_for_holds_no_more_than_a_share_in_a_crowd() {
        let crowd = Crowd::new(16);
        let [greedy, other] = [7, 8].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut places: Vec<_> = (0..11).map(|_| crowd.admit_at(0, None).expect("room")).collect();
        let mut shares: Vec<_> = (0..11).map(|_| crowd.share(greedy).expect("no crowd")).collect();
        places.push(crowd.admit_at(0, None).expect("room"));
        assert!(crowd.share(greedy).is_none(), "it holds eleven of sixteen");
        assert!(crowd.share(other).is_some());
        shares.truncate(2);
        assert!(crowd.share(greedy).is_some());
    }

    #[test]
    fn who_has_just_come_gives_way_only_when_no_place_is_left() {
        let crowd = Crowd::new(16);
        let places: Vec<_> = (0..16).map(|last| from(&crowd, 5, last).expect("room")).collect();
        assert_eq!(gone(&places), 0);
        assert!(from(&crowd, 5, 16).is_none());
        assert_eq!(gone(&places), 1);
    }
}
