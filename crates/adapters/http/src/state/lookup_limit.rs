//! A limit on look-ups of credentials.
//!
//! A good key works from an address that others misuse. But each of thousands of guessed keys causes a
//! look-up in the database, which must not slow down callers with good keys. So an address that has used up
//! its failures may cause only a few look-ups of credentials that are not in memory.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

use quipu_kernel::{Timestamp, locked};

/// How many credentials are remembered in each of two generations.
const REMEMBERED: usize = 20_000;
/// How many addresses are distrusted at once. Beyond this only the budget of failures applies.
const DISTRUSTED: usize = 50_000;

/// How a credential may be looked up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// At once.
    Freely,
    /// Within the look-up budget of its address.
    Distrusted,
}

#[derive(Default)]
struct Memory {
    young: HashSet<String>,
    old: HashSet<String>,
    /// The addresses that have used up their failures, each with its end in Unix seconds.
    distrusted: HashMap<String, i64>,
    /// The Unix second of the last sweep of expired entries.
    swept: i64,
}

impl Memory {
    fn distrusts(&self, address: &str, now: Timestamp) -> bool {
        self.distrusted.get(address).is_some_and(|until| *until > now.seconds())
    }
}

/// The credentials that were found lately, and the addresses that failed too often.
#[derive(Default)]
pub(crate) struct Lookups(Mutex<Memory>);

impl Lookups {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        // The memory is consistent after every statement, so a thread that panicked left nothing half done.
        locked(&self.0)
    }

    /// How `address`, which is made only if any is distrusted, may have this credential looked up.
    pub(crate) fn asked(&self, address: impl FnOnce() -> String, credential: &str, now: Timestamp) -> Asked {
        let memory = self.memory();
        if memory.distrusted.is_empty()
            || memory.young.contains(credential)
            || memory.old.contains(credential)
            || !memory.distrusts(&address(), now)
        {
            return Asked::Freely;
        }
        Asked::Distrusted
    }

    /// Whether `address` has used up its failures.
    pub(crate) fn distrusts(&self, address: &str, now: Timestamp) -> bool {
        self.memory().distrusts(address, now)
    }

    /// Remembers a credential that was found, by all the `names` under which it may be looked up: one that is kept
    /// under a retired master key is looked up under the current one first.
    pub(crate) fn found(&self, names: &[String]) {
        let mut memory = self.memory();
        for name in names {
            if memory.young.contains(name) {
                continue;
            }
            if memory.young.len() >= REMEMBERED {
                memory.old = std::mem::take(&mut memory.young);
            }
            memory.young.insert(name.clone());
        }
    }

    /// Remembers until `until`, in Unix seconds, that an address has used up its failures.
    pub(crate) fn distrust(&self, address: &str, until: i64, now: Timestamp) {
        let mut memory = self.memory();
        let now = now.seconds();
        // In a flood this is called for each of its requests, and most of the sweeps would find nothing.
        if memory.distrusted.len() >= DISTRUSTED && memory.swept != now {
            memory.swept = now;
            memory.distrusted.retain(|_, until| *until > now);
        }
        // One that is listed is renewed, however many others are.
        if memory.distrusted.len() < DISTRUSTED || memory.distrusted.contains_key(address) {
            memory.distrusted.insert(address.to_owned(), until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lookups: &Lookups, address: &str, credential: &str, now: Timestamp) -> Asked {
        lookups.asked(|| address.to_owned(), credential, now)
    }

    #[test]
    fn an_address_that_failed_too_often_asks_freely_only_for_what_was_found() {
        let (lookups, at) = (Lookups::default(), |second: i64| Timestamp::from_millis(second * 1000));
        assert_eq!(asked(&lookups, "a", "unknown", at(0)), Asked::Freely);
        lookups.found(&["good".to_owned()]);
        lookups.distrust("a", 60, at(0));
        assert_eq!(asked(&lookups, "a", "unknown", at(59)), Asked::Distrusted);
        assert_eq!(asked(&lookups, "a", "good", at(59)), Asked::Freely);
        assert_eq!(asked(&lookups, "b", "unknown", at(59)), Asked::Freely);
        assert_eq!(asked(&lookups, "a", "unknown", at(60)), Asked::Freely);
    }

    #[test]
    fn a_credential_is_remembered_for_a_generation_at_least() {
        let lookups = Lookups::default();
        lookups.distrust("a", i64::MAX, Timestamp::from_millis(0));
        lookups.found(&["first".to_owned()]);
        for number in 1..=REMEMBERED {
            lookups.found(&[number.to_string()]);
        }
        assert_eq!(asked(&lookups, "a", "first", Timestamp::from_millis(0)), Asked::Freely);
    }

    #[test]
    fn an_address_is_distrusted_to_its_end_however_many_others_come() {
        let (lookups, at) = (Lookups::default(), |second: i64| Timestamp::from_millis(second * 1000));
        for number in 0..DISTRUSTED {
            lookups.distrust(&number.to_string(), 50, at(0));
        }
        lookups.distrust("late", 60, at(49));
        assert!(lookups.distrusts("0", at(49)) && !lookups.distrusts("late", at(49)));
        lookups.distrust("0", 51, at(49));
        lookups.distrust("late", 60, at(50));
        assert!(lookups.distrusts("late", at(50)), "there is room again");
        assert!(lookups.distrusts("0", at(50)) && !lookups.distrusts("1", at(50)), "one was renewed");
    }
}
