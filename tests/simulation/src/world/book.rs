//! What outsiders know: what they asked for and what they were answered. The gateway's promises are held against it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard},
};

use quipu_commit::Answer;
use quipu_kernel::{Currency, EventId, PaymentId, Tenant, locked};
use quipu_webhooks::EndpointId;

use super::plan::Wish;

/// An answer to a creation, as far as it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// The payment.
    Made(PaymentId),
    /// A refusal for good.
    Refused(String),
    /// The nonce was used.
    Replayed,
}

/// What is known of a wish.
#[derive(Debug, Default)]
pub(crate) struct WishBook {
    pub(crate) wish: Option<Wish>,
    pub(crate) told: Vec<Told>,
    /// Answers under its key, byte for byte.
    pub(crate) answers: Vec<Answer>,
    /// For each nonce, how often a call was accepted under it.
    pub(crate) nonces: BTreeMap<String, u32>,
    /// Whether its merchant gave up asking.
    pub(crate) gave_up: bool,
    /// Identifiers of payments that may have been made.
    pub(crate) perhaps: BTreeSet<PaymentId>,
}

#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    pub(crate) wishes: BTreeMap<u64, WishBook>,
    /// Corrections that were acknowledged, by their number.
    pub(crate) adjusted: BTreeMap<u64, (Tenant, Currency, i64)>,
    /// Corrections about which nobody can say.
    pub(crate) adjusted_perhaps: BTreeMap<u64, (Tenant, Currency, i64)>,
    /// Refunds that were acknowledged.
    pub(crate) refunded: Vec<(PaymentId, i64)>,
    /// Cancellations that were acknowledged.
    pub(crate) cancelled: BTreeSet<PaymentId>,
    /// Withdrawals whose recipient was taken.
    pub(crate) filled: BTreeSet<PaymentId>,
    /// Payments about which a person decided, or may have.
    pub(crate) decided: BTreeSet<PaymentId>,
    /// What receivers got, byte for byte.
    pub(crate) received: BTreeMap<(EndpointId, EventId), Vec<String>>,
    /// What receivers said they had.
    pub(crate) taken: BTreeSet<(EndpointId, EventId)>,
    /// What the gateway says of itself that it must never say.
    pub(crate) complaints: Vec<String>,
    /// Calls that ended without an answer for good, which is right only where nodes die or the store is away.
    pub(crate) retries: u64,
}

#[derive(Default)]
pub(crate) struct Book(Mutex<Knowledge>);

impl Book {
    pub(crate) fn open(&self) -> MutexGuard<'_, Knowledge> {
        locked(&self.0)
    }

    /// The payment that a wish led to, if anybody outside knows it.
    pub(crate) fn payment(&self, wish: u64) -> Option<PaymentId> {
        let book = self.open();
        let told = &book.wishes.get(&wish)?.told;
        told.iter().find_map(|told| if let Told::Made(id) = told { Some(id.clone()) } else { None })
    }
}
