//! How the process shares out its file descriptors, so that nothing that happens outside takes the last one.

use quipu_delivery::MOST_AT_ONCE;
use quipu_http::sockets_beside_connections;
use quipu_rails::HttpRail;

/// The number of descriptors that is assumed if the system does not report it.
const USUAL: usize = 1024;
/// What the rest needs: 33 sessions of a database or the files of one, runtimes, listeners, the log, Redis, and
/// some calls to a bucket and some files that are being sent.
const REST: usize = 96;

/// The fewest descriptors for connections and deliveries together with which every part can have its share.
const LEAST: usize = 32;

/// The shares that depend on the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// The threads of the interface, each of which may have some connections beyond their number.
    pub(crate) workers: usize,
    /// The most connections of the interface.
    pub(crate) connections: usize,
    /// The most attempts to deliver at once.
    pub(crate) deliveries: usize,
    /// The number of all descriptors.
    pub(crate) limit: usize,
    /// What the process needs beside connections.
    beside: usize,
}

impl Descriptors {
    /// The shares of this process, which has a thread of the interface for each of these cores as far as there
    /// are descriptors for them.
    pub(crate) fn of_process(cores: usize, providers: usize) -> Self {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        Self::of(soft.unwrap_or(USUAL), cores, providers)
    }

    /// The shares of a process with this limit. Connections get what the others leave. Where there are few
    /// descriptors, threads leave them at least half of what is spare, and deliveries two thirds of the rest.
    /// Where there are too few for all parts, the process goes on with a quarter for connections, since not
    /// everything is in use at once.
    fn of(limit: usize, cores: usize, providers: usize) -> Self {
        let Some(spare) = limit.checked_sub(fixed(1, providers) + LEAST) else {
            let (connections, deliveries) = ((limit / 4).max(1), (limit / 12).max(1));
            return Self {
                workers: 1,
                connections,
                deliveries,
                limit,
                beside: fixed(1, providers) + deliveries,
            };
        };
        let workers = cores.clamp(1, 1 + spare / 2 / sockets_of_a_worker());
        let left = limit - fixed(workers, providers);
        let deliveries = (limit / 8).min(MOST_AT_ONCE).min(left / 3);
        let (connections, beside) = (left - deliveries, fixed(workers, providers) + deliveries);
        Self { workers, connections, deliveries, limit, beside }
    }

    /// The limit that the process needs for so many connections, if it has a lower one.
    pub(crate) fn needed_for(&self, connections: usize) -> Option<usize> {
        Some(connections.saturating_add(self.beside)).filter(|needed| *needed > self.limit)
    }
}

/// What the process needs beside connections and deliveries, with everything in use.
const fn fixed(workers: usize, providers: usize) -> usize {
    sockets_beside_connections(workers) + providers * HttpRail::MOST_CALLS + REST
}

const fn sockets_of_a_worker() -> usize {
    sockets_beside_connections(1) - sockets_beside_connections(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_share_of_the_limit() {
        for (limit, cores, providers, workers, connections, deliveries) in [
            (192, 2, 0, 1, 22, 10),
            (200, 2, 0, 1, 27, 13),
            (208, 2, 0, 2, 27, 13),
            (256, 2, 1, 1, 22, 10),
            (256, 2, 0, 2, 59, 29),
            (256, 16, 0, 5, 43, 21),
            (300, 2, 0, 2, 95, 37),
            (1_024, 2, 0, 2, 728, 128),
            (1_024, 2, 1, 2, 664, 128),
            (1_024, 16, 2, 16, 488, 128),
            (1_024, 128, 2, 45, 256, 128),
            (20_000, 2, 1, 2, 18_744, 1_024),
            (65_536, 2, 1, 2, 64_280, 1_024),
            (65_536, 64, 5, 64, 63_528, 1_024),
        ] {
            let shares = Descriptors::of(limit, cores, providers);
            let shares = (shares.workers, shares.connections, shares.deliveries);
            assert_eq!(shares, (workers, connections, deliveries), "{limit} {cores} {providers}");
        }
    }

    #[test]
    fn a_process_with_too_few_descriptors_knows_how_many_it_needs() {
        for (limit, cores, providers, connections, deliveries, needed) in [
            (0, 2, 0, 1, 1, 162),
            (128, 2, 0, 32, 10, 202),
            (191, 64, 0, 47, 15, 222),
            (200, 2, 1, 50, 16, 290),
            (256, 2, 5, 64, 21, 565),
        ] {
            let shares = Descriptors::of(limit, cores, providers);
            assert_eq!((shares.connections, shares.deliveries), (connections, deliveries), "{limit}");
            assert_eq!(shares.needed_for(connections), Some(needed), "{limit}");
        }
    }

    #[test]
    fn with_everything_in_use_no_more_descriptors_are_taken_than_there_are() {
        for limit in (0..2_048).chain([4_096, 8_191, 65_536, 1_048_576]) {
            for (cores, providers) in [(1, 0), (2, 0), (2, 1), (16, 2), (64, 5), (256, 0)] {
                let shares = Descriptors::of(limit, cores, providers);
                if limit < fixed(1, providers) + LEAST {
                    continue;
                }
                let sum = shares.connections + shares.deliveries + fixed(shares.workers, providers);
                assert_eq!(sum, limit, "{cores} {providers}");
                assert!(
                    shares.connections >= 22 && shares.deliveries >= 10 && shares.workers >= 1,
                    "{shares:?}"
                );
                assert_eq!(shares.needed_for(shares.connections), None);
                assert_eq!(shares.needed_for(shares.connections + 7), Some(limit + 7));
            }
        }
    }

    #[test]
    fn the_limit_of_the_system_is_known() {
        let (few, many) = (Descriptors::of_process(1, 0), Descriptors::of_process(1, 1_000_000));
        assert!(few.connections > many.connections && few.limit == many.limit);
        assert_eq!(few.needed_for(few.connections), None);
        assert!(many.needed_for(many.connections).is_some());
    }
}
