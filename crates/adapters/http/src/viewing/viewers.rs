//! The viewers of each page, and how a change reaches them.
//!
//! One listener receives the news of every commit. It reads each changed payment that is watched once, and
//! passes it to the payment's audience, whose viewers share the result. An audience keeps only the latest state, so a
//! slow reader does not use more memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::Duration,
};

use actix_web::web::Bytes;
use futures_util::StreamExt;
use quipu_commit::{Aggregate, Listener, NewsDesk, NewsItem};
use quipu_kernel::{PaymentId, Tenant, locked};
use quipu_pages::Language;
use quipu_payments::{Payment, PaymentReads};
use tokio::sync::{Notify, watch};

use crate::viewing::about::About;

/// The most viewers of all pages together.
const IN_ALL: usize = 32_768;
/// The most viewers of one page.
const OF_PAGE: usize = 8_192;
/// The connections that are left to merchants, staff and probes, where there are enough.
const OF_OTHERS: usize = 2_048;

/// How many viewers there may be. Each holds a connection that does not give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewerLimits {
    /// Viewers of one page.
    pub of_page: usize,
    /// Viewers of all pages together.
    pub in_all: usize,
}

impl ViewerLimits {
    /// All connections but 2,048 may be viewers', and at least half in any case. The viewers of one page have
    /// half of these. A browser without a stream polls.
    pub fn among(connections: usize) -> Self {
        let in_all = connections - (connections / 2).min(OF_OTHERS);
        Self { of_page: (in_all / 2).clamp(1, OF_PAGE), in_all: in_all.clamp(1, IN_ALL) }
    }
}

/// The time after which a payment that could not be read is read again.
const AGAIN: Duration = Duration::from_secs(1);
/// How many payments are read at once after news was missed.
const READS_AT_ONCE: usize = 16;

type Key = (Tenant, PaymentId);

/// A state of a payment, and its text in each language, written once for all viewers.
pub(crate) struct Snapshot {
    pub(crate) payment: Payment,
    written: [OnceLock<Bytes>; Language::ALL.len()],
}

impl Snapshot {
    fn new(payment: Payment) -> Self {
        Self { payment, written: Default::default() }
    }

    /// Its text in a language; `write` is called for the first viewer who needs it.
    pub(crate) fn written(&self, language: Language, write: impl FnOnce() -> Bytes) -> Bytes {
        let place = Language::ALL.iter().position(|known| *known == language).unwrap_or_default();
        self.written[place].get_or_init(write).clone()
    }
}

type Latest = Option<Arc<Snapshot>>;

struct Audience {
    about: Arc<About>,
    latest: watch::Sender<Latest>,
    viewers: usize,
}

/// The viewers of all pages.
pub struct Viewers {
    limits: ViewerLimits,
    audiences: Mutex<Audiences>,
    /// Notified when a viewer has come.
    arrived: Notify,
}

#[derive(Default)]
struct Audiences {
    of: HashMap<Key, Audience>,
    viewers: usize,
}

/// A viewer's place in an audience; dropping it gives it back.
pub(crate) struct Seat {
    viewers: Arc<Viewers>,
    key: Key,
    /// The part of the page that all viewers in the audience share.
    pub(crate) about: Arc<About>,
    pub(crate) latest: watch::Receiver<Latest>,
}

impl Viewers {
    /// No viewers yet, within these limits.
    pub fn new(limits: ViewerLimits) -> Self {
        Self { limits, audiences: Mutex::default(), arrived: Notify::new() }
    }

    /// Takes a place for a viewer of this payment's page; `None` if there is no place left.
    pub(crate) fn enter(
        self: &Arc<Self>,
        tenant: Tenant,
        id: &PaymentId,
        about: &Arc<About>,
    ) -> Option<Seat> {
        let mut audiences = self.audiences();
        let key = (tenant, id.clone());
        let here = audiences.of.get(&key).map_or(0, |audience| audience.viewers);
        if audiences.viewers >= self.limits.in_all || here >= self.limits.of_page {
            return None;
        }
        audiences.viewers += 1;
        let audience = audiences.of.entry(key.clone()).or_insert_with(|| Audience::empty(about));
        audience.viewers += 1;
        let (about, latest) = (Arc::clone(&audience.about), audience.latest.subscribe());
        self.arrived.notify_one();
        Some(Seat { viewers: Arc::clone(self), key, about, latest })
    }

    /// How many viewers there are at present.
    pub fn count(&self) -> usize {
        self.audiences().viewers
    }

    /// Passes commits on to the viewers, until no more news will come.
    ///
    /// It listens only while a page is watched, so that commits do not wake it in vain.
    pub async fn follow(&self, desk: &dyn NewsDesk, reads: &dyn PaymentReads) {
        loop {
            self.arrived.notified().await;
            let mut listener = desk.listen();
            // Covers commits between a visitor's first read of the payment and this moment.
            let mut unread = self.renew(self.watched(), reads).await;
            while self.count() > 0 {
                let changed = tokio::select! {
                    changed = self.hear(&mut *listener) => changed,
                    () = tokio::time::sleep(AGAIN), if !unread.is_empty() => Some(Vec::new()),
                };
                let Some(mut changed) = changed else { return };
                changed.append(&mut unread);
                unread = self.renew(changed, reads).await;
            }
        }
    }

    /// The watched payments that changed in the next news; `None` if no more news will come.
    async fn hear(&self, listener: &mut dyn Listener) -> Option<Vec<Key>> {
        match listener.next().await {
            NewsItem::News(news) if !news.incomplete => {
                let payments = news.saved.iter().filter(|(kind, ..)| *kind == Aggregate::PAYMENT);
                let named = payments.filter_map(|(_, tenant, id)| Some((*tenant, id.parse().ok()?)));
                Some(named.filter(|key| self.is_watched(key)).collect())
            }
            NewsItem::News(_) | NewsItem::Missed => Some(self.watched()),
            NewsItem::Ended => None,
        }
    }

    /// Reads the given payments that are still watched, and passes each to its audience; returns those that could
    /// not be read.
    async fn renew(&self, keys: Vec<Key>, reads: &dyn PaymentReads) -> Vec<Key> {
        let read = |key: Key| async move { (reads.payment(key.0, &key.1).await, key) };
        let watched = keys.into_iter().filter(|key| self.is_watched(key));
        let mut all = futures_util::stream::iter(watched).map(read).buffer_unordered(READS_AT_ONCE);
        let mut unread = Vec::new();
        while let Some((payment, key)) = all.next().await {
            match payment {
                Ok(payment) => {
                    let snapshot = payment.map(|payment| Arc::new(Snapshot::new(payment)));
                    if let Some((audience, snapshot)) = self.audiences().of.get(&key).zip(snapshot) {
                        audience.latest.send_replace(Some(snapshot));
                    }
                }
                Err(_) => unread.push(key),
            }
        }
        unread
    }

    fn is_watched(&self, key: &Key) -> bool {
        self.audiences().of.contains_key(key)
    }

    fn watched(&self) -> Vec<Key> {
        self.audiences().of.keys().cloned().collect()
    }

    fn leave(&self, key: &Key) {
        let mut audiences = self.audiences();
        audiences.viewers = audiences.viewers.saturating_sub(1);
        if let Some(audience) = audiences.of.get_mut(key) {
            audience.viewers = audience.viewers.saturating_sub(1);
            if audience.viewers == 0 {
                audiences.of.remove(key);
            }
        }
    }

    fn audiences(&self) -> MutexGuard<'_, Audiences> {
        // Nothing panics while it is held, and if something did, the counts would still be right.
        locked(&self.audiences)
    }
}

impl Audience {
    fn empty(about: &Arc<About>) -> Self {
        Self { about: Arc::clone(about), latest: watch::Sender::new(None), viewers: 0 }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.viewers.leave(&self.key);
    }
}

impl std::fmt::Debug for Viewers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Viewers({})", self.count())
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId};

    use super::*;

    fn id(last: char) -> PaymentId {
        format!("pay_1763683200000_abcdefghjkm{last}").parse().expect("an identifier")
    }

    #[test]
    fn viewers_leave_connections_to_others() {
        for (connections, of_page, in_all) in [
            (1, 1, 1),
            (728, 182, 364),
            (4_096, 1_024, 2_048),
            (18_744, 8_192, 16_696),
            (64_280, 8_192, 32_768),
        ] {
            // Idle connections give way once a quarter of the places are free, or 1,024 of very many.
            assert!(connections == 1 || in_all < connections - (connections / 4).min(1_024));
            assert_eq!(ViewerLimits::among(connections), ViewerLimits { of_page, in_all }, "{connections}");
        }
    }

    #[test]
    fn seats_are_bounded_by_page_and_in_all_and_are_given_back() {
        let viewers = Arc::new(Viewers::new(ViewerLimits { of_page: 2, in_all: 3 }));
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let about = Arc::new(About::plain());
        let enter = |last| viewers.enter(tenant, &id(last), &about);
        let (first, _second) = (enter('a'), enter('a'));
        assert!(first.is_some() && enter('a').is_none(), "a third before one page");
        let _third = enter('b');
        assert!(enter('c').is_none(), "a fourth in all");
        drop(first);
        assert!(enter('c').is_some());
        assert_eq!((viewers.count(), viewers.watched().len()), (2, 2));
    }
}
