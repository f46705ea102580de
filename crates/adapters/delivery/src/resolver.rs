//! The resolver of the operating system, within limits.
//!
//! A look-up occupies a thread until the system gives it up, even if no caller waits for it any more. So the
//! number of simultaneous look-ups is limited, in all and for one domain: names whose servers do not answer
//! must not keep others from being resolved.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connect::Resolve;

/// Simultaneous look-ups: half of the process's threads for blocking calls.
const AT_ONCE: usize = 256;
/// Simultaneous look-ups below one domain.
const OF_A_DOMAIN: usize = 32;

/// Resolves names by the operating system.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
    domains: Arc<Mutex<HashMap<String, usize>>>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), domains: Arc::default() }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let share = Share::of(&self.domains, domain_of(name))
            .ok_or_else(|| io::Error::other("too many look-ups of this domain are under way"))?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let look_up = move || look_up(&name, place, share);
        tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)?
    }
}

/// Asks the system, and releases place and share after its answer.
fn look_up(name: &str, _place: OwnedSemaphorePermit, _share: Share) -> io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
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
        let mut counts = domains.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut counts = self.domains.lock().unwrap_or_else(PoisonError::into_inner);
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

    #[tokio::test]
    async fn the_systems_names_are_resolved() {
        let found = SystemResolver::default().resolve("localhost").await.expect("resolved");
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
    }
}
