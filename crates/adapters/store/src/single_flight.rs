//! Reads that several callers ask for at the same time and that are done once for all of them.
//!
//! The first caller leads and does the read. Callers who ask for the same page before the read begins share
//! its result, so each sees everything committed before it asked. A later caller starts a new read.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    sync::{Arc, Mutex},
};

use quipu_kernel::{Page, StoreError, Tenant, locked};
use quipu_payments::{Payment, PaymentFilter};
use tokio::sync::oneshot;

use crate::error::Fault;

/// The key of a list of payments: the tenant, the filter and the page.
pub(crate) type ListKey = (Tenant, PaymentFilter, Page);
/// A page of payments with the number of all that match.
pub(crate) type Listed = Arc<(Vec<Payment>, u64)>;
/// The lists of payments whose reads have not begun.
pub(crate) type PaymentLists = SingleFlight<ListKey, Listed>;

/// The result for a caller that shares a read; nothing if the leading caller has gone away.
pub(crate) type Told<V> = oneshot::Receiver<Result<V, StoreError>>;

type Companions<V> = Vec<oneshot::Sender<Result<V, StoreError>>>;
type Boarding<K, V> = Mutex<HashMap<K, Companions<V>>>;

/// The reads of one kind that have not begun.
pub(crate) struct SingleFlight<K: Eq + Hash, V> {
    boarding: Arc<Boarding<K, V>>,
}

/// The part of a caller in a read.
pub(crate) enum Seat<K: Eq + Hash, V> {
    /// The caller leads: it must do the read.
    Lead(Flight<K, V>),
    /// The caller shares a read that another caller is about to begin.
    Along(Told<V>),
}

impl<K: Clone + Eq + Hash, V> SingleFlight<K, V> {
    pub(crate) fn new() -> Self {
        Self { boarding: Arc::default() }
    }

    /// Leads a new read, or joins one that has not begun.
    pub(crate) fn board(&self, key: K) -> Seat<K, V> {
        match locked(&self.boarding).entry(key) {
            Entry::Occupied(mut companions) => {
                let (teller, told) = oneshot::channel();
                companions.get_mut().push(teller);
                Seat::Along(told)
            }
            Entry::Vacant(place) => {
                let key = place.key().clone();
                place.insert(Vec::new());
                Seat::Lead(Flight { key, boarding: Some(Arc::clone(&self.boarding)) })
            }
        }
    }
}

/// A read that has not begun. If it is dropped, the callers that share it get no result.
pub(crate) struct Flight<K: Eq + Hash, V> {
    key: K,
    /// `None` once the read has begun.
    boarding: Option<Arc<Boarding<K, V>>>,
}

impl<K: Eq + Hash, V> Flight<K, V> {
    /// Begins the read. Nobody can join it any more.
    pub(crate) fn depart(mut self) -> Landing<V> {
        Landing(self.close())
    }

    fn close(&mut self) -> Companions<V> {
        let boarding = self.boarding.take();
        boarding.and_then(|boarding| locked(&boarding).remove(&self.key)).unwrap_or_default()
    }
}

impl<K: Eq + Hash, V> Drop for Flight<K, V> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The callers that share a read which has begun.
pub(crate) struct Landing<V>(Companions<V>);

impl<V: Clone> Landing<V> {
    /// Gives them the result.
    pub(crate) fn answer(self, outcome: &Result<V, Fault>) {
        for teller in self.0 {
            let _gone = teller.send(match outcome {
                Ok(value) => Ok(value.clone()),
                Err(fault) => Err(fault.to_store_error()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(flights: &SingleFlight<u8, u8>, key: u8) -> Flight<u8, u8> {
        match flights.board(key) {
            Seat::Lead(flight) => flight,
            Seat::Along(_) => panic!("somebody leads already"),
        }
    }

    fn along(flights: &SingleFlight<u8, u8>, key: u8) -> Told<u8> {
        match flights.board(key) {
            Seat::Along(told) => told,
            Seat::Lead(_) => panic!("nobody leads"),
        }
    }

    #[test]
    fn who_asks_before_it_begins_is_told_and_who_asks_later_asks_anew() {
        let flights = SingleFlight::new();
        let first = lead(&flights, 1);
        let (mut one, mut two) = (along(&flights, 1), along(&flights, 1));
        let other_key = lead(&flights, 2);
        let landing = first.depart();
        let second = lead(&flights, 1);
        landing.answer(&Ok(7));
        assert!(matches!(one.try_recv(), Ok(Ok(7))));
        assert!(matches!(two.try_recv(), Ok(Ok(7))));
        let mut three = along(&flights, 1);
        second.depart().answer(&Err(Fault::Overloaded));
        assert!(matches!(three.try_recv(), Ok(Err(StoreError::Overloaded))));
        drop(other_key);
    }

    #[test]
    fn a_read_that_never_begins_or_never_ends_lets_its_companions_go() {
        let flights = SingleFlight::new();
        let never_begun = lead(&flights, 1);
        let mut left = along(&flights, 1);
        drop(never_begun);
        assert!(left.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        let never_ended = lead(&flights, 1);
        let mut left = along(&flights, 1);
        drop(never_ended.depart());
        assert!(left.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        lead(&flights, 1);
    }
}
