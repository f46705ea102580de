//! Memory for the bodies of callers who are not authenticated yet.

use std::{
    cell::Cell,
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The bytes of one unit.
const UNIT: usize = 1024;
/// The most units for all unauthenticated callers together: 64 MiB.
const UNITS: usize = 64 * 1024;
/// The most of these units for one address.
const SHARE: usize = UNITS / 8;
/// How long a body may take when its sender is not to be waited for.
pub(crate) const IN_A_HURRY: Duration = Duration::from_secs(2);

/// A limit on the memory for the bodies of all unauthenticated callers together, and of each address among them.
#[derive(Default)]
pub(crate) struct Strangers(Arc<Mutex<Taken>>);

/// The units in use. An address is listed only while it uses some, so there are never more addresses than
/// units.
#[derive(Default)]
struct Taken {
    units: usize,
    of_each: HashMap<Option<IpAddr>, usize>,
}

impl Strangers {
    /// Room for the body of a caller at this address. It takes no units until bytes have arrived: a client
    /// that only announces a body must not keep the room from others.
    pub(crate) fn room(&self, address: Option<IpAddr>) -> Room {
        Room { taken: Arc::clone(&self.0), address, held: Cell::new(0) }
    }
}

/// The units that one body uses, until it is dropped.
pub(crate) struct Room {
    taken: Arc<Mutex<Taken>>,
    address: Option<IpAddr>,
    held: Cell<usize>,
}

impl Room {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        // The counts are consistent after every statement, so a thread that panicked left nothing half done.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for `bytes` in all. Returns whether there is enough left, in all and in the address's
    /// share.
    pub(crate) fn grow_to(&self, bytes: usize) -> bool {
        let lacks = bytes.div_ceil(UNIT).saturating_sub(self.held.get());
        let has_room = lacks == 0 || self.taken().take(self.address, lacks);
        if has_room {
            self.held.set(self.held.get() + lacks);
        }
        has_room
    }

    /// Completes when at least half of all room, or of the address's share, is taken, checked every two seconds
    /// from the call on.
    pub(crate) async fn is_needed(&self) {
        loop {
            tokio::time::sleep(IN_A_HURRY).await;
            if self.is_scarce() {
                return;
            }
        }
    }

    fn is_scarce(&self) -> bool {
        let taken = self.taken();
        let of_address = taken.of_each.get(&self.address).copied().unwrap_or_default();
        taken.units >= UNITS / 2 || of_address >= SHARE / 2
    }
}

impl Taken {
    fn take(&mut self, address: Option<IpAddr>, units: usize) -> bool {
        let of_address = self.of_each.get(&address).copied().unwrap_or_default();
        if self.units.saturating_add(units) > UNITS || of_address.saturating_add(units) > SHARE {
            return false;
        }
        self.units += units;
        self.of_each.insert(address, of_address + units);
        true
    }

    fn give_back(&mut self, address: Option<IpAddr>, units: usize) {
        self.units -= units;
        let of_address = self.of_each.remove(&address).unwrap_or_default();
        if of_address > units {
            self.of_each.insert(address, of_address - units);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.held.get() > 0 {
            self.taken().give_back(self.address, self.held.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn strangers_share_a_bound_and_give_back_what_they_held() {
        let strangers = Strangers::default();
        let rooms: Vec<_> = (0..64).map(|number| strangers.room(Some(address(number / 8)))).collect();
        let last = strangers.room(Some(address(8)));
        assert!(last.grow_to(1), "nobody holds anything yet");
        assert!(rooms[1..].iter().all(|room| room.grow_to(1) && room.grow_to(MIB)));
        assert!(rooms[0].grow_to(MIB - 1024));
        assert!(!rooms[0].grow_to(MIB));
        assert!(last.grow_to(1024), "as much as it has");
        assert!(!last.grow_to(1025));
        drop(rooms);
        assert!(last.grow_to(1025));
        drop(last);
        let taken = strangers.0.lock().expect("no panic");
        assert_eq!((taken.units, taken.of_each.len()), (0, 0));
    }

    #[test]
    fn an_address_takes_an_eighth_at_most() {
        let strangers = Strangers::default();
        let greedy: Vec<_> = (0..9).map(|_| strangers.room(Some(address(1)))).collect();
        assert!(greedy[..8].iter().all(|room| room.grow_to(MIB)));
        assert!(!greedy[8].grow_to(1));
        for other in [Some(address(2)), None] {
            assert!(strangers.room(other).grow_to(MIB));
        }
        drop(greedy);
        assert!(strangers.room(Some(address(1))).grow_to(8 * MIB));
    }

    #[test]
    fn room_is_scarce_when_half_of_it_is_taken() {
        let strangers = Strangers::default();
        let rooms: Vec<_> = (0..32).map(|number| strangers.room(Some(address(number)))).collect();
        assert!(rooms[1..].iter().all(|room| room.grow_to(MIB)));
        assert!(rooms[0].grow_to(MIB - 1024) && !rooms[1].is_scarce());
        assert!(rooms[0].grow_to(MIB) && rooms[1].is_scarce());
    }

    #[test]
    fn room_is_scarce_for_an_address_that_has_taken_half_of_its_share() {
        let strangers = Strangers::default();
        let (one, same) = (strangers.room(Some(address(1))), strangers.room(Some(address(1))));
        assert!(one.grow_to(4 * MIB - 1024) && !same.is_scarce());
        assert!(same.grow_to(1024) && one.is_scarce() && same.is_scarce());
        assert!(!strangers.room(Some(address(2))).is_scarce());
    }
}
