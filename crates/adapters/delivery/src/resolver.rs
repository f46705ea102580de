//! The resolver of the operating system, within limits.
//!
//! A look-up occupies a thread until the system gives it up, even if no caller waits for it any more. So the
//! number of simultaneous look-ups is limited, and names whose servers do not answer must not keep others from
//! being resolved. All who ask for a name while it is looked up share that look-up. One domain has its share of
//! look-ups; and since a merchant may have any number of domains, half of the places are for names that have
//! resolved lately.

use std::{
    collections::{HashMap, HashSet},
    io,
    net::{IpAddr, ToSocketAddrs as _},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quipu_kernel::locked;

use async_trait::async_trait;
use futures_util::{
    FutureExt as _,
    future::{Shared, WeakShared},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::connect::Resolve;

/// Simultaneous look-ups: half of the process's threads for blocking calls.
const AT_ONCE: usize = 256;
/// Simultaneous look-ups of names that have not resolved lately.
const OF_UNPROVEN: usize = 128;
/// Simultaneous look-ups below one domain.
const OF_A_DOMAIN: usize = 32;
/// How many names are remembered in each of two generations.
const REMEMBERED: usize = 10_000;
/// How long a look-up waits for a place, so that an attempt to connect still learns that there was none.
const FOR_A_PLACE: Duration = Duration::from_secs(4);

/// Resolves names by the operating system.
#[derive(Debug, Clone, Default)]
pub(crate) struct SystemResolver {
    limits: Arc<Limits>,
    under_way: UnderWay,
    numbers: Arc<AtomicU64>,
}

/// The addresses of a name, or the kind of the error: the error itself cannot be cloned for all who share a look-up.
type Found = Result<Vec<IpAddr>, io::ErrorKind>;
type LookUp = Pin<Box<dyn Future<Output = Found> + Send>>;
/// The look-ups that are under way, by their names, each with its number.
type UnderWay = Arc<Mutex<HashMap<String, (u64, WeakShared<LookUp>)>>>;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let look_up = self.look_up(name);
        Ok(look_up.await?)
    }
}

impl SystemResolver {
    /// The look-up of this name that is under way, or a new one.
    fn look_up(&self, name: &str) -> Shared<LookUp> {
        let mut under_way = locked(&self.under_way);
        if let Some(look_up) = under_way.get(name).and_then(|(_, look_up)| look_up.upgrade()) {
            return look_up;
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let listed = Listed { under_way: Arc::clone(&self.under_way), name: name.to_owned(), number };
        let limits = Arc::clone(&self.limits);
        let look_up = async move { by_system(limits, &listed.name).await }.boxed().shared();
        if let Some(listed) = look_up.downgrade() {
            under_way.insert(name.to_owned(), (number, listed));
        }
        look_up
    }
}

/// Asks the operating system.
async fn by_system(limits: Arc<Limits>, name: &str) -> Found {
    let (place, name) = (limits.place(name).await?, name.to_owned());
    let asking = move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        limits.resolved().note(&name, found.is_ok());
        // Not before the system's answer.
        drop(place);
        Ok(found.map_err(|error| error.kind())?.map(|address| address.ip()).collect())
    };
    tokio::task::spawn_blocking(asking).await.map_err(|_| io::ErrorKind::Other)?
}

/// A look-up's place in the list of those under way, until it ends or nobody waits for it.
struct Listed {
    under_way: UnderWay,
    name: String,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut under_way = locked(&self.under_way);
        // Somebody may have begun the next look-up of this name since nobody waits for this one.
        if under_way.get(&self.name).is_some_and(|(number, _)| *number == self.number) {
            under_way.remove(&self.name);
        }
    }
}

/// The look-ups in progress, and what is remembered of earlier ones.
#[derive(Debug)]
struct Limits {
    places: Arc<Semaphore>,
    of_unproven: Arc<Semaphore>,
    domains: Arc<Mutex<HashMap<String, usize>>>,
    resolved: Mutex<Resolved>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            of_unproven: Arc::new(Semaphore::new(OF_UNPROVEN)),
            domains: Arc::default(),
            resolved: Mutex::default(),
        }
    }
}

impl Limits {
    /// Waits a while for a place. There is none ([`io::ErrorKind::ResourceBusy`]) if none becomes free, or if the domain
    /// has all its look-ups in progress.
    async fn place(&self, name: &str) -> Result<LookupPermit, io::ErrorKind> {
        let share = Share::of(&self.domains, domain_of(name)).ok_or(io::ErrorKind::ResourceBusy)?;
        let is_proven = self.resolved().contains(name);
        let permits = async {
            let of_unproven = if is_proven { None } else { Some(permit(&self.of_unproven).await?) };
            Ok(LookupPermit { _any: permit(&self.places).await?, _of_unproven: of_unproven, _share: share })
        };
        timeout(FOR_A_PLACE, permits).await.map_err(|_| io::ErrorKind::ResourceBusy)?
    }

    fn resolved(&self) -> MutexGuard<'_, Resolved> {
        locked(&self.resolved)
    }
}

async fn permit(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, io::ErrorKind> {
    Arc::clone(places).acquire_owned().await.map_err(|_| io::ErrorKind::Other)
}

/// What a look-up occupies until the system has answered.
struct LookupPermit {
    _any: OwnedSemaphorePermit,
    _of_unproven: Option<OwnedSemaphorePermit>,
    _share: Share,
}

/// The names whose last look-up succeeded. The oldest are forgotten if there are very many.
#[derive(Debug, Default)]
struct Resolved {
    young: HashSet<String>,
    old: HashSet<String>,
}

impl Resolved {
    fn contains(&self, name: &str) -> bool {
        self.young.contains(name) || self.old.contains(name)
    }

    fn note(&mut self, name: &str, succeeded: bool) {
        if !succeeded {
            self.young.remove(name);
            self.old.remove(name);
        } else if !self.young.contains(name) {
            if self.young.len() >= REMEMBERED {
                self.old = std::mem::take(&mut self.young);
            }
            self.young.insert(name.to_owned());
        }
    }
}

/// The registered part of a name, by which look-ups are counted: one label below a public suffix, which many
/// domains share (`com.mx`).
fn domain_of(name: &str) -> String {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    psl::domain_str(&name).map_or(name.clone(), str::to_owned)
}

/// A domain's share of one look-up.
struct Share {
    domains: Arc<Mutex<HashMap<String, usize>>>,
    domain: String,
}

impl Share {
    /// `None` if the domain has all its look-ups in progress.
    fn of(domains: &Arc<Mutex<HashMap<String, usize>>>, domain: String) -> Option<Self> {
        let mut counts = locked(domains);
        let count = counts.entry(domain.clone()).or_default();
        if *count == OF_A_DOMAIN {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Self { domains: Arc::clone(domains), domain })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = locked(&self.domains);
        if let Some(count) = counts.get_mut(&self.domain) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.domain);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_its_share_and_takes_nothing_of_others() {
        let domains = Arc::default();
        let mut shares: Vec<_> = (0..OF_A_DOMAIN)
            .map(|_| Share::of(&domains, domain_of("a.dead.example")).expect("a share"))
            .collect();
        assert!(Share::of(&domains, domain_of("b.DEAD.example.")).is_none());
        assert!(Share::of(&domains, domain_of("b.alive.example")).is_some());
        shares.pop();
        assert!(Share::of(&domains, domain_of("c.dead.example")).is_some());
        drop(shares);
        assert!(domains.lock().expect("whole").is_empty());
    }

    #[test]
    fn who_shares_a_public_suffix_shares_nothing_else() {
        for (name, domain) in [
            ("a.b.shop.com.mx", "shop.com.mx"),
            ("other.com.mx.", "other.com.mx"),
            ("Hooks.Shop.example", "shop.example"),
            ("com.mx", "com.mx"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(domain_of(name), domain, "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_has_resolved_waits_for_no_dead_one() {
        let limits = Limits::default();
        limits.resolved().note("hooks.shop.example", true);
        let mut hanging = Vec::new();
        for domain in 0..12 {
            for name in 0..OF_A_DOMAIN {
                let name = format!("{name}.dead-{domain}.example");
                hanging.extend(limits.place(&name).await);
            }
        }
        assert_eq!(hanging.len(), OF_UNPROVEN);
        let busy = limits.place("hooks.new.example").await.err();
        assert_eq!(busy, Some(io::ErrorKind::ResourceBusy), "it was not even asked for");
        let place = async |name: &str| limits.place(name).await.is_ok();
        assert!(place("hooks.shop.example").await);
        assert!(!place("hooks.new.example").await, "nobody knows whether it resolves");
        limits.resolved().note("hooks.shop.example", false);
        assert!(!place("hooks.shop.example").await);
        hanging.clear();
        assert!(place("hooks.new.example").await);
    }

    #[test]
    fn a_name_is_remembered_for_a_generation_at_least() {
        let mut resolved = Resolved::default();
        resolved.note("first", true);
        for number in 1..=REMEMBERED {
            resolved.note(&number.to_string(), true);
        }
        assert!(resolved.contains("first"));
        assert!(resolved.young.len() + resolved.old.len() <= 2 * REMEMBERED);
    }

    #[tokio::test]
    async fn all_who_ask_for_a_name_share_its_look_up() {
        let resolver = SystemResolver::default();
        // Every place of the domain is taken, so that the look-up would be refused.
        let domains = &resolver.limits.domains;
        let taken: Vec<_> =
            (1..OF_A_DOMAIN).filter_map(|_| Share::of(domains, "localhost".to_owned())).collect();
        let asking = (0..4 * OF_A_DOMAIN).map(|_| resolver.resolve("localhost"));
        for found in futures_util::future::join_all(asking).await {
            assert!(!found.expect("resolved").is_empty());
        }
        assert!(locked(&resolver.under_way).is_empty(), "it is over");
        let _last = Share::of(domains, "localhost".to_owned());
        let busy = resolver.resolve("localhost").await.expect_err("no place is left");
        assert_eq!((busy.kind(), taken.len()), (io::ErrorKind::ResourceBusy, OF_A_DOMAIN - 1));
        drop(resolver.look_up("localhost"));
        assert!(locked(&resolver.under_way).is_empty(), "nobody waits for it");
    }

    #[tokio::test]
    async fn the_systems_names_are_resolved() {
        let resolver = SystemResolver::default();
        let found = resolver.resolve("localhost").await.expect("resolved");
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
        assert!(resolver.limits.resolved().contains("localhost"));
    }
}
