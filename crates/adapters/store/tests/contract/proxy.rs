//! A proxy between a store and its server that cuts, delays or swallows at a chosen message of the protocol.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::Handle,
    sync::watch,
    task::JoinSet,
};

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What happens at the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The connection ends.
    Cut,
    /// It goes on after this time.
    Delay(Duration),
    /// It falls silent for ever, and stays open.
    Swallow,
}

/// At which message of a side, counted from when the proxy was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The one of this number.
    Message(usize),
    /// The first `COMMIT`, and the server's answer to one.
    Commit,
}

/// Where something happens, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blow {
    pub(crate) side: Side,
    pub(crate) at: Point,
    /// Whether the message still arrives.
    pub(crate) arrives: bool,
    pub(crate) action: Action,
    /// For how long no new connection is made afterwards.
    pub(crate) gone_for: Duration,
}

#[derive(Default)]
struct Counts {
    client: AtomicUsize,
    server: AtomicUsize,
}

struct Shared {
    upstream: Mutex<String>,
    armed: Mutex<Option<Blow>>,
    counts: Counts,
    has_struck: AtomicBool,
    /// While true nothing moves, in either direction.
    frozen: watch::Sender<bool>,
    /// Connections of an earlier age are silent for ever.
    age: watch::Sender<u64>,
    /// While true new connections are refused.
    gone: AtomicBool,
}

/// A running proxy; dropped, it ends with all its connections.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    /// The database's address through the proxy.
    pub(crate) url: String,
    _serving: JoinSet<()>,
}

impl Proxy {
    /// A proxy before the server of this address.
    pub(crate) async fn before(url: &str, runtime: &Handle) -> Self {
        let at = url.rfind('@').expect("a user") + 1;
        let slash = at + url[at..].find('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            upstream: Mutex::new(url[at..slash].to_owned()),
            armed: Mutex::new(None),
            counts: Counts::default(),
            has_struck: AtomicBool::new(false),
            frozen: watch::Sender::new(false),
            age: watch::Sender::new(0),
            gone: AtomicBool::new(false),
        });
        let mut serving = JoinSet::new();
        let listener = listener.into_std().expect("a listener");
        let accepting = Arc::clone(&shared);
        serving.spawn_on(
            async move { accept(TcpListener::from_std(listener).expect("a listener"), accepting).await },
            runtime,
        );
        // It reads what passes, so that must be in the clear.
        let url = format!("{}{address}{}?sslmode=disable", &url[..at], &url[slash..]);
        Self { shared, url, _serving: serving }
    }

    /// Counts from now on, and strikes there.
    pub(crate) fn arm(&self, blow: Option<Blow>) {
        self.shared.counts.client.store(0, Ordering::SeqCst);
        self.shared.counts.server.store(0, Ordering::SeqCst);
        self.shared.has_struck.store(false, Ordering::SeqCst);
        *self.shared.armed.lock().unwrap_or_else(PoisonError::into_inner) = blow;
    }

    /// How many messages each side has sent since.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let counts = &self.shared.counts;
        (counts.client.load(Ordering::SeqCst), counts.server.load(Ordering::SeqCst))
    }

    /// Stops everything, as a stopped server does: connections are made and nothing answers.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.frozen.send_replace(frozen);
    }

    /// Lets every connection that is open now fall silent for ever, while new ones work.
    pub(crate) fn forget(&self) {
        self.shared.age.send_modify(|age| *age += 1);
    }

    /// Whether what it was armed with has happened.
    pub(crate) fn has_struck(&self) -> bool {
        self.shared.has_struck.load(Ordering::SeqCst)
    }

    /// Leads new connections to another server.
    pub(crate) fn redirect(&self, url: &str) {
        let address = url.split(['@', '/']).nth(3).expect("an address after the user").to_owned();
        *self.shared.upstream.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// Refuses new connections.
    pub(crate) fn vanish(&self, gone: bool) {
        self.shared.gone.store(gone, Ordering::SeqCst);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if !shared.gone.load(Ordering::SeqCst) {
            connections.spawn(connection(client, Arc::clone(&shared)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(client: TcpStream, shared: Arc<Shared>) {
    let age = *shared.age.borrow();
    until_thawed(age, &shared).await;
    let upstream = shared.upstream.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Ok(server) = TcpStream::connect(&upstream).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    // Whichever ends first takes the other with it, unless it fell silent.
    tokio::select! {
        () = pump(Side::Client, from_client, to_server, age, &shared) => {}
        () = pump(Side::Server, from_server, to_client, age, &shared) => {}
    }
}

async fn until_thawed(age: u64, shared: &Shared) {
    let mut frozen = shared.frozen.subscribe();
    let _ = frozen.wait_for(|frozen| !frozen).await;
    if *shared.age.borrow() != age {
        std::future::pending::<()>().await;
    }
}

/// Passes messages on, one by one. The first of a client has no letter before its length.
async fn pump(side: Side, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, age: u64, shared: &Arc<Shared>) {
    let mut has_letter = side == Side::Server;
    let mut commits = Commits::default();
    loop {
        let head = if has_letter { 5 } else { 4 };
        let mut message = vec![0; head];
        if from.read_exact(&mut message).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes(message[head - 4..].try_into().expect("four bytes"));
        message.resize(head - 4 + length as usize, 0);
        if from.read_exact(&mut message[head..]).await.is_err() {
            return;
        }
        has_letter = true;
        until_thawed(age, shared).await;
        let is_commit = commits.has(side, &message);
        let blow = struck(side, is_commit, shared);
        if blow.is_none_or(|blow| blow.arrives) && to.write_all(&message).await.is_err() {
            return;
        }
        match blow.map(|blow| (blow.action, blow.arrives)) {
            None => {}
            Some((Action::Cut, _)) => return,
            Some((Action::Swallow, _)) => std::future::pending().await,
            Some((Action::Delay(time), arrives)) => {
                tokio::time::sleep(time).await;
                if !arrives && to.write_all(&message).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// What is known of the prepared statement by which a connection commits.
#[derive(Default)]
struct Commits {
    statement: Option<Vec<u8>>,
    is_bound: bool,
}

impl Commits {
    /// Whether this message makes the server commit, or says that it has.
    fn has(&mut self, side: Side, message: &[u8]) -> bool {
        let (Some(letter), Some(body)) = (message.first(), message.get(5..)) else { return false };
        let mut texts = body.split(|byte| *byte == 0);
        let (first, second) = (texts.next(), texts.next());
        match (side, letter) {
            (Side::Server, b'C') | (Side::Client, b'Q') => first == Some(b"COMMIT"),
            (Side::Client, b'P') if second == Some(b"COMMIT") => {
                self.statement = first.map(<[u8]>::to_vec);
                false
            }
            (Side::Client, b'B') => {
                self.is_bound = self.statement.is_some() && second == self.statement.as_deref();
                false
            }
            (Side::Client, b'E') => self.is_bound,
            _ => false,
        }
    }
}

/// The blow that strikes at this message, if there is one.
fn struck(side: Side, is_commit: bool, shared: &Arc<Shared>) -> Option<Blow> {
    let count = match side {
        Side::Client => &shared.counts.client,
        Side::Server => &shared.counts.server,
    };
    let index = count.fetch_add(1, Ordering::SeqCst);
    let armed = shared.armed.lock().unwrap_or_else(PoisonError::into_inner);
    let blow = armed.filter(|blow| {
        let is_there = match blow.at {
            Point::Message(number) => number == index,
            Point::Commit => is_commit,
        };
        blow.side == side && is_there
    })?;
    if shared.has_struck.swap(true, Ordering::SeqCst) {
        return None;
    }
    if !blow.gone_for.is_zero() {
        shared.gone.store(true, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            tokio::time::sleep(blow.gone_for).await;
            shared.gone.store(false, Ordering::SeqCst);
        });
    }
    Some(blow)
}
