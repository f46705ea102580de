//! What a node knows about Redis: the connection, the memory behind it, and the other nodes.

use std::{
    collections::HashSet,
    error::Error,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use redis::{RedisError, aio::MultiplexedConnection};

/// How long a node waits in all for other nodes that are there but do not report.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Link {
    /// The name of the memory that this node knows; `None` before its first connection.
    memory: Option<Arc<str>>,
    /// How many connections have been made.
    generation: u64,
    pub(crate) joined: Option<Joined>,
    /// The other nodes that were there when Redis last answered.
    others: HashSet<String>,
    /// Whether Redis has lost its memory, and other nodes may not have reported to the new one what they
    /// allowed.
    is_owed: bool,
    /// Whether Redis does not answer.
    is_away: bool,
    /// The failures of which the log has said, since limits were shared last, that the node applies its share.
    said_apart: HashSet<String>,
}

/// A connection, and what this node knows about the memory behind it.
#[derive(Clone)]
pub(crate) struct Joined {
    pub(crate) generation: u64,
    pub(crate) connection: MultiplexedConnection,
    pub(crate) memory: Arc<str>,
    /// When the node joined, and the number of its first announcement. Reports that others have made since
    /// then come after every outage that this node knows of.
    at: Instant,
    pub(crate) since: u64,
    /// Whether the memory includes the requests of all nodes.
    pub(crate) is_complete: bool,
}

/// The answer of Redis to a node's announcement.
pub(crate) struct Announced {
    pub(crate) number: u64,
    pub(crate) nodes: u32,
    pub(crate) memory: Arc<str>,
    pub(crate) is_complete: bool,
    /// The other nodes that announced themselves lately.
    pub(crate) others: HashSet<String>,
    /// Whether all awaited nodes have reported to this memory, or have been silent for too long.
    pub(crate) have_told: bool,
}

/// Redis did not carry out a command in time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no answer in time")]
    Timeout(#[from] tokio::time::error::Elapsed),
    #[error("{}", cause_of(.0))]
    Redis(#[from] RedisError),
    #[error("its memory is lost")]
    Forgotten,
}

/// The category of an error with the server's code (`NOAUTH`), what is wrong with its certificate, or the system's word. The
/// whole text may quote an address or a command.
fn cause_of(error: &RedisError) -> String {
    let of_system = || {
        let cause = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
        let cause = cause.downcast_ref::<io::Error>()?;
        let of_certificate = cause.to_string().strip_prefix("invalid peer certificate: ").map(certificate);
        Some(of_certificate.unwrap_or_else(|| cause.kind().to_string()))
    };
    let detail = error.code().map(str::to_owned).or_else(of_system);
    detail.map_or_else(|| error.category().to_owned(), |detail| format!("{} ({detail})", error.category()))
}

/// Why a certificate is not accepted, without the names in it.
fn certificate(reason: &str) -> String {
    let word = reason.split([':', ' ', '(', ';', ',']).next().unwrap_or_default();
    format!("its certificate is not accepted: {word}")
}

/// How a request is judged.
pub(crate) enum Way {
    /// By Redis, and by the node too until the memory is complete.
    Together(Joined),
    /// By this node's share.
    Apart,
    /// Refused: what other nodes allowed is not known yet, and soon will be.
    Refused,
}

impl Link {
    pub(crate) fn way(&self) -> Way {
        match &self.joined {
            _ if self.refuses() => Way::Refused,
            Some(joined) => Way::Together(joined.clone()),
            None => Way::Apart,
        }
    }

    /// Whether requests are refused because Redis answers but other nodes have not reported yet what they
    /// allowed. A share would be allowed on top of that.
    pub(crate) const fn refuses(&self) -> bool {
        self.is_owed && !self.is_away
    }

    /// Whether a request is refused after Redis was asked in vain.
    pub(crate) fn refuses_after(&self, failure: &Failure) -> bool {
        match failure {
            Failure::Forgotten => !self.others.is_empty(),
            _ => self.refuses(),
        }
    }

    pub(crate) fn is_new(&self, memory: &Arc<str>) -> bool {
        self.memory.as_ref().is_some_and(|known| known != memory)
    }

    /// The nodes that have to report what they allowed before a request is judged.
    pub(crate) fn awaited(&self) -> Vec<String> {
        if self.is_owed { self.others.iter().cloned().collect() } else { Vec::new() }
    }

    /// Joins Redis. From now on requests pass Redis, so after the next report there is nothing new to report.
    pub(crate) fn join(&mut self, connection: MultiplexedConnection, found: Announced) -> Joined {
        if self.is_new(&found.memory) {
            self.owe();
        }
        self.is_away = false;
        self.generation += 1;
        self.memory = Some(Arc::clone(&found.memory));
        let joined = Joined {
            generation: self.generation,
            connection,
            memory: found.memory,
            at: Instant::now(),
            since: found.number,
            is_complete: false,
        };
        self.joined = Some(joined.clone());
        joined
    }

    /// Notes the answer of Redis on the connection of this generation.
    pub(crate) fn note(&mut self, generation: u64, announced: Announced) {
        let Some(joined) = self.joined.as_mut().filter(|joined| joined.generation == generation) else {
            return;
        };
        // Until the memory is complete, some of the earlier nodes may not be back yet.
        if joined.is_complete {
            self.others.clear();
        } else if announced.is_complete || joined.at.elapsed() >= PATIENCE_WITH_OTHERS {
            joined.is_complete = true;
            self.said_apart.clear();
            tracing::info!("Redis knows what every node allowed; rate limits are shared");
        }
        self.is_owed &= !(announced.have_told || joined.is_complete);
        self.others.extend(announced.others);
    }

    /// Gives up the connection of this generation; returns whether it had not been given up before.
    pub(crate) fn lose(&mut self, generation: u64, failure: &Failure) -> bool {
        if self.joined.take_if(|joined| joined.generation == generation).is_none() {
            return false;
        }
        self.is_away = !matches!(failure, Failure::Forgotten);
        if !self.is_away {
            self.owe();
        }
        if !self.refuses() {
            self.say_apart(failure);
        }
        true
    }

    /// Notes that Redis was tried in vain.
    pub(crate) fn miss(&mut self, failure: &Failure) {
        self.is_away = true;
        self.say_apart(failure);
    }

    /// Says that the node applies its share, once for each cause: a Redis that answers at times may be joined and lost again
    /// and again.
    fn say_apart(&mut self, failure: &Failure) {
        if !self.said_apart.insert(failure.to_string()) {
            return;
        }
        if self.memory.is_some() {
            tracing::warn!(%failure, "Redis is lost; rate limits are local shares until it is back");
        } else {
            tracing::warn!(%failure, "Redis cannot be reached; rate limits are local shares until it can");
        }
    }

    fn owe(&mut self) {
        if !self.is_owed && !self.others.is_empty() {
            self.is_owed = true;
            self.said_apart.clear();
            tracing::warn!(
                "Redis has lost its memory; calls are refused until the other nodes have reported their counts"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::{
        Event, Metadata, Subscriber,
        span::{Attributes, Id, Record},
    };

    use super::*;

    /// Counts the lines of a log.
    #[derive(Clone, Default)]
    struct Lines(Arc<AtomicUsize>);

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn the_log_says_once_for_each_cause_that_shares_apply_and_again_after_something_else() {
        let lines = Lines::default();
        let (mut link, said) = (Link::default(), || lines.0.load(Ordering::Relaxed));
        tracing::subscriber::with_default(lines.clone(), || {
            for _ in 0..3 {
                link.miss(&Failure::Forgotten);
                assert_eq!(said(), 1);
            }
            let refused = RedisError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
            let refused = Failure::Redis(refused);
            assert_eq!(refused.to_string(), "I/O error (connection refused)");
            link.miss(&refused);
            link.miss(&Failure::Forgotten);
            assert_eq!(said(), 2);
            link.others.insert("another".to_owned());
            link.owe();
            assert_eq!(said(), 3);
            for _ in 0..3 {
                link.miss(&Failure::Forgotten);
                assert_eq!(said(), 4);
            }
        });
    }
}
