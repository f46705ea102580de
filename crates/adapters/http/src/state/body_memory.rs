//! Memory for the bodies of requests that are arriving, and for long answers that are being sent.

use std::{
    cell::Cell,
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use quipu_kernel::{MerchantId, locked};

/// The bytes of one unit.
const UNIT: usize = 1024;
/// The most units for all callers together who are not authenticated: 64 MiB.
const FOR_STRANGERS: usize = 64 * 1024;
/// The most units of a body that is short, as nearly all are.
const SHORT: usize = 16;
/// The most units for all short bodies of such callers: 32 MiB.
const FOR_SHORT_OF_STRANGERS: usize = 32 * 1024;
/// The most units for all authenticated callers together: 512 MiB.
const FOR_CALLERS: usize = 512 * 1024;
/// The most units for all long answers together: 256 MiB.
const FOR_ANSWERS: usize = 256 * 1024;
/// What part of these units one sender may use at most.
const PART: usize = 8;
/// How long a body may take when its sender is not to be waited for.
pub(crate) const IN_A_HURRY: Duration = Duration::from_secs(2);

/// Whose share of the memory a body or an answer counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    /// Somebody at this address who is not authenticated, or not yet.
    Stranger(Option<IpAddr>),
    /// A merchant, with all its keys.
    Merchant(MerchantId),
    /// All staff together.
    Staff,
}

/// A limit on the memory for the bodies of all strangers together, another for all authenticated callers, so
/// that the former take nothing from the latter, and a limit for each sender among them. The beginnings of strangers' bodies
/// have a limit of their own, so that a few who send long bodies do not keep out those who send short ones.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    short_of_strangers: Arc<Pool>,
    of_strangers: Arc<Pool>,
    of_callers: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    units: usize,
    taken: Mutex<Taken>,
}

/// The units in use. A sender is listed only while it uses some, so there are never more senders than units.
#[derive(Debug, Default)]
struct Taken {
    units: usize,
    of_each: HashMap<Sender, usize>,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self {
            short_of_strangers: Pool::of(FOR_SHORT_OF_STRANGERS),
            of_strangers: Pool::of(FOR_STRANGERS),
            of_callers: Pool::of(FOR_CALLERS),
        }
    }
}

/// A limit on the memory for the long answers of all authenticated callers, and for those of each.
#[derive(Debug)]
pub(crate) struct AnswerMemory(Arc<Pool>);

impl Default for AnswerMemory {
    fn default() -> Self {
        Self(Pool::of(FOR_ANSWERS))
    }
}

impl AnswerMemory {
    /// Room for an answer of so many bytes to this caller, if there is enough left. An answer longer than a share takes
    /// all of the share.
    pub(crate) fn room(&self, caller: Sender, bytes: usize) -> Option<MemoryShare> {
        let room = MemoryShare::of(&self.0, None, caller);
        room.grow_to(bytes.min(FOR_ANSWERS / PART * UNIT)).then_some(room)
    }
}

impl BodyMemory {
    /// Room for a body of this sender. It takes no units until bytes have arrived: a client that only
    /// announces a body must not keep the room from others.
    pub(crate) fn room(&self, sender: Sender) -> MemoryShare {
        match sender {
            Sender::Stranger(_) => {
                MemoryShare::of(&self.of_strangers, Some(&self.short_of_strangers), sender)
            }
            Sender::Merchant(_) | Sender::Staff => MemoryShare::of(&self.of_callers, None, sender),
        }
    }
}

/// The units that one body or answer uses, until it is dropped.
pub(crate) struct MemoryShare {
    /// Where the first units come from, if they come from elsewhere.
    beginning: Option<Held>,
    rest: Held,
    sender: Sender,
}

/// The units that were taken from a pool.
struct Held {
    pool: Arc<Pool>,
    units: Cell<usize>,
}

impl Held {
    fn none_of(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), units: Cell::new(0) }
    }

    /// Takes what is lacking to so many units. Returns whether there is enough left.
    fn grow_to(&self, units: usize, sender: Sender) -> bool {
        let lacks = units.saturating_sub(self.units.get());
        let has_room = lacks == 0 || self.pool.take(sender, lacks);
        if has_room {
            self.units.set(self.units.get() + lacks);
        }
        has_room
    }

    /// Whether there are few units left of those it was taken from.
    fn is_scarce(&self, sender: Sender) -> bool {
        self.units.get() > 0 && self.pool.is_scarce(sender)
    }
}

impl MemoryShare {
    fn of(pool: &Arc<Pool>, beginning: Option<&Arc<Pool>>, sender: Sender) -> Self {
        Self { beginning: beginning.map(Held::none_of), rest: Held::none_of(pool), sender }
    }

    /// Takes room for `bytes` in all. Returns whether there is enough left, in all and in the sender's share.
    pub(crate) fn grow_to(&self, bytes: usize) -> bool {
        let units = bytes.div_ceil(UNIT);
        let short = if self.beginning.is_some() { units.min(SHORT) } else { 0 };
        let begins = self.beginning.as_ref().is_none_or(|beginning| beginning.grow_to(short, self.sender));
        begins && self.rest.grow_to(units - short, self.sender)
    }

    /// Completes when at least half of all room, or of the sender's share, is taken where this one has units,
    /// checked every two seconds from the call on.
    pub(crate) async fn is_needed(&self) {
        loop {
            tokio::time::sleep(IN_A_HURRY).await;
            let held = self.beginning.iter().chain([&self.rest]);
            if held.into_iter().any(|held| held.is_scarce(self.sender)) {
                return;
            }
        }
    }
}

impl Pool {
    fn of(units: usize) -> Arc<Self> {
        Arc::new(Self { units, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // The counts are consistent after every statement, so a thread that panicked left nothing half done.
        locked(&self.taken)
    }

    fn take(&self, sender: Sender, units: usize) -> bool {
        let mut taken = self.taken();
        let all = taken.units.saturating_add(units);
        let of_sender = taken.of(sender).saturating_add(units);
        if all > self.units || of_sender > self.units / PART {
            return false;
        }
        taken.units = all;
        taken.of_each.insert(sender, of_sender);
        true
    }

    fn give_back(&self, sender: Sender, units: usize) {
        let mut taken = self.taken();
        taken.units -= units;
        let of_sender = taken.of_each.remove(&sender).unwrap_or_default();
        if of_sender > units {
            taken.of_each.insert(sender, of_sender - units);
        }
    }

    fn is_scarce(&self, sender: Sender) -> bool {
        let taken = self.taken();
        taken.units >= self.units / 2 || taken.of(sender) >= self.units / PART / 2
    }
}

impl Taken {
    fn of(&self, sender: Sender) -> usize {
        self.of_each.get(&sender).copied().unwrap_or_default()
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        for held in self.beginning.iter().chain([&self.rest]).filter(|held| held.units.get() > 0) {
            held.pool.give_back(self.sender, held.units.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;
    /// The bytes of a stranger's body that count elsewhere.
    const BEGINNING: usize = SHORT * UNIT;

    fn stranger(last: u8) -> Sender {
        Sender::Stranger(Some(IpAddr::from([192, 0, 2, last])))
    }

    #[test]
    fn strangers_share_a_bound_and_give_back_what_they_held() {
        let memory = BodyMemory::default();
        let rooms: Vec<_> = (0..64).map(|number| memory.room(stranger(number / 8))).collect();
        let last = memory.room(stranger(8));
        assert!(last.grow_to(BEGINNING + 1), "nobody holds anything yet");
        assert!(rooms[1..].iter().all(|room| room.grow_to(1) && room.grow_to(BEGINNING + MIB)));
        assert!(rooms[0].grow_to(BEGINNING + MIB - 1024));
        assert!(!rooms[0].grow_to(BEGINNING + MIB));
        assert!(last.grow_to(BEGINNING + 1024), "as much as it has");
        assert!(!last.grow_to(BEGINNING + 1025));
        drop(rooms);
        assert!(last.grow_to(BEGINNING + 1025));
        drop(last);
        for pool in [&memory.of_strangers, &memory.short_of_strangers] {
            let taken = pool.taken();
            assert_eq!((taken.units, taken.of_each.len()), (0, 0));
        }
    }

    #[test]
    fn a_sender_takes_an_eighth_at_most() {
        let memory = BodyMemory::default();
        let merchant = |number| Sender::Merchant(MerchantId(number));
        for (greedy, beginning, share, others) in [
            (stranger(1), BEGINNING, 8 * MIB, [stranger(2), Sender::Stranger(None)]),
            (merchant(1), 0, 64 * MIB, [merchant(2), Sender::Staff]),
        ] {
            let rooms: Vec<_> = (0..9).map(|_| memory.room(greedy)).collect();
            assert!(rooms[..8].iter().all(|room| room.grow_to(beginning + share / 8)));
            assert!(!rooms[8].grow_to(beginning + 1), "{greedy:?}");
            for other in others {
                assert!(memory.room(other).grow_to(MIB), "{other:?}");
            }
            drop(rooms);
            assert!(memory.room(greedy).grow_to(beginning + share));
        }
    }

    #[test]
    fn those_who_send_long_bodies_keep_out_no_short_one() {
        let memory = BodyMemory::default();
        let rooms: Vec<_> = (0..72).map(|number| memory.room(stranger(number / 9))).collect();
        let refused = rooms.iter().filter(|room| !room.grow_to(BEGINNING + MIB)).count();
        assert_eq!(refused, 8, "the last one of each sender");
        assert!(!memory.room(stranger(8)).grow_to(BEGINNING + 1));
        for last in 0..10 {
            assert!(memory.room(stranger(last)).grow_to(BEGINNING), "{last}");
        }
        let short: Vec<_> = (0..256).map(|_| memory.room(stranger(8))).collect();
        assert!(short.iter().all(|room| room.grow_to(BEGINNING)));
        assert!(!memory.room(stranger(8)).grow_to(1), "an eighth of the room for short ones");
    }

    #[test]
    fn strangers_take_nothing_from_authenticated_callers() {
        let memory = BodyMemory::default();
        let rooms: Vec<_> = (0..8).map(|number| memory.room(stranger(number))).collect();
        assert!(rooms.iter().all(|room| room.grow_to(BEGINNING + 8 * MIB)));
        assert!(!memory.room(stranger(8)).grow_to(BEGINNING + 1));
        assert!(memory.room(Sender::Merchant(MerchantId(1))).grow_to(64 * MIB));
    }

    #[test]
    fn room_is_scarce_when_half_of_it_is_taken() {
        let memory = BodyMemory::default();
        let rooms: Vec<_> = (0..32).map(|number| memory.room(stranger(number))).collect();
        let is_scarce = || memory.of_strangers.is_scarce(stranger(100));
        assert!(rooms[1..].iter().all(|room| room.grow_to(BEGINNING + MIB)));
        assert!(rooms[0].grow_to(BEGINNING + MIB - 1024) && !is_scarce());
        assert!(rooms[0].grow_to(BEGINNING + MIB) && is_scarce());
        assert!(!memory.of_callers.is_scarce(Sender::Staff));
    }

    #[test]
    fn room_is_scarce_for_a_sender_that_has_taken_half_of_its_share() {
        let memory = BodyMemory::default();
        let (one, same) = (memory.room(stranger(1)), memory.room(stranger(1)));
        let is_scarce = |last| memory.of_strangers.is_scarce(stranger(last));
        assert!(one.grow_to(BEGINNING + 4 * MIB - 1024) && !is_scarce(1));
        assert!(same.grow_to(BEGINNING + 1024) && is_scarce(1) && !is_scarce(2));
    }
}
