//! How the process shares out its file descriptors, so that nothing that happens outside takes the last one.

use quipu_delivery::MOST_AT_ONCE;
use quipu_http::sockets_beside_connections;
use quipu_rails::HttpRail;

/// The number of descriptors that is assumed if the system does not report it.
const USUAL: usize = 1024;
/// What the rest needs: 33 sessions of a database or the files of one, runtimes, listeners, the log, Redis, and
/// some calls to a bucket and some files that are being sent.
const REST: usize = 96;

/// The shares that depend on the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// The most connections of the interface.
    pub(crate) connections: usize,
    /// The most attempts to deliver at once.
    pub(crate) deliveries: usize,
}

impl Descriptors {
    /// The shares of this process with so many HTTP workers and providers.
    pub(crate) fn of_process(workers: usize, providers: usize) -> Self {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        Self::of(soft.unwrap_or(USUAL), workers, providers)
    }

    /// The shares of a process with this limit. Connections get what the others leave, but at least a quarter.
    fn of(limit: usize, workers: usize, providers: usize) -> Self {
        let deliveries = (limit / 8).min(MOST_AT_ONCE);
        let left = limit.saturating_sub(beside(workers, providers) + deliveries);
        Self { connections: left.max(limit / 4).max(1), deliveries }
    }
}

/// What the process needs beside connections and deliveries, with everything in use.
const fn beside(workers: usize, providers: usize) -> usize {
    sockets_beside_connections(workers) + providers * HttpRail::MOST_CALLS + REST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_everything_in_use_no_more_descriptors_are_taken_than_there_are() {
        for (limit, workers, providers, connections, deliveries) in [
            (1_024, 2, 0, 736, 128),
            (1_024, 2, 1, 672, 128),
            (1_024, 16, 2, 496, 128),
            (20_000, 2, 1, 18_752, 1_024),
            (65_536, 2, 1, 64_288, 1_024),
            (65_536, 64, 5, 63_536, 1_024),
            (256, 2, 0, 64, 32),
        ] {
            let shares = Descriptors::of(limit, workers, providers);
            assert_eq!(shares, Descriptors { connections, deliveries }, "{limit}");
            assert!(connections + deliveries + beside(workers, providers) <= limit, "{limit}");
        }
    }

    #[test]
    fn where_there_are_too_few_connections_still_get_a_quarter() {
        assert_eq!(Descriptors::of(256, 64, 5), Descriptors { connections: 64, deliveries: 32 });
        assert_eq!(Descriptors::of(0, 2, 1), Descriptors { connections: 1, deliveries: 0 });
    }

    #[test]
    fn the_limit_of_the_system_is_known() {
        let (few, many) = (Descriptors::of_process(1, 0), Descriptors::of_process(1, 1_000_000));
        assert!(few.connections > many.connections && few.deliveries == many.deliveries);
    }
}
