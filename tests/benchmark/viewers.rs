//! Hosted pages that are watched: what a stream costs in memory, how soon all viewers of a page hear of a
//! change, and what is left of the rate of creations meanwhile.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quipu_tests::{Database, Merchant, Setup, draft};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
};

use crate::{Plan, address_of, caller_of, creations, process, report::Row};

pub(crate) const UNWATCHED: &str = "create deposit, no streams";
pub(crate) const WATCHED: &str = "create deposit, many streams";

/// Viewers in all, where the system allows as many, and of one page.
const VIEWERS: usize = 15_000;
const OF_ONE_PAGE: usize = 5_000;
/// Descriptors that are left for everything else.
const SPARE: usize = 1_000;
/// Streams that are opened at the same time.
const AT_ONCE: usize = 200;
/// From how many addresses viewers come: a gateway whose places are nearly taken gives a single address an
/// eighth of them.
const ADDRESSES: u8 = 20;

/// What was found beside the rates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watching {
    pub(crate) viewers: usize,
    pub(crate) kibibytes_each: f64,
    /// From the call that changed the status to the last of [`OF_ONE_PAGE`] viewers.
    pub(crate) last_heard: Duration,
}

/// The rows of one database, and what streams cost.
pub(crate) async fn rates(database: Database, plan: Plan) -> (Vec<Row>, Watching) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    let caller = caller_of(&merchant).await;
    let address = address_of(&gateway);
    let mut rows = vec![creations(&gateway, &caller, UNWATCHED, plan)];
    let (watched, path) = page(&merchant).await;
    let mut paths = vec![Watched { path, is_counted: true }; OF_ONE_PAGE];
    let viewers = VIEWERS.min(process::descriptors().saturating_sub(SPARE));
    for _ in 0..viewers.saturating_sub(OF_ONE_PAGE) / 1_000 {
        let (_, path) = page(&merchant).await;
        paths.extend(std::iter::repeat_n(Watched { path, is_counted: false }, 1_000));
    }
    let before = process::memory_mebibytes(gateway.pid()).0;
    let audience = Audience::gather(address, paths).expect("every stream opens");
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let kibibytes_each =
        (process::memory_mebibytes(gateway.pid()).0 - before) * 1_024.0 / audience.viewers as f64;
    rows.push(creations(&gateway, &caller, WATCHED, plan));
    let begun = Instant::now();
    let complete = format!("/operator/v1/payments/{watched}/complete");
    gateway.operator().post_empty(&complete).await.ok();
    while audience.heard.load(Ordering::Relaxed) < OF_ONE_PAGE {
        assert!(begun.elapsed() < Duration::from_mins(1), "not every viewer heard of the change");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let watching = Watching { viewers: audience.viewers, kibibytes_each, last_heard: begun.elapsed() };
    eprintln!("{watching:?}");
    drop(audience);
    (rows, watching)
}

/// A stream to open.
#[derive(Clone)]
struct Watched {
    path: String,
    /// Whether it is of the page that changes.
    is_counted: bool,
}

/// A payment with a page: its identifier, and the path of its stream.
async fn page(merchant: &Merchant) -> (String, String) {
    let mut draft = draft::deposit_mxn(100);
    draft["type"] = json!("deposit_pp");
    let created = merchant.api.create(&draft).await.ok();
    let url = created["payment_page_url"].as_str().expect("a page");
    let (_, token) = url.rsplit_once('/').expect("a token");
    let id = created["transaction_id"].as_str().expect("an id").to_owned();
    (id, format!("/payment-pages/{token}/events"))
}

/// Open streams on a thread of their own; dropped, they are closed.
struct Audience {
    viewers: usize,
    /// How many have heard of a change.
    heard: Arc<AtomicUsize>,
    _open: watch::Sender<()>,
}

impl Audience {
    /// Opens all streams and waits until each has told how its payment stands.
    fn gather(address: SocketAddr, paths: Vec<Watched>) -> io::Result<Self> {
        let heard = Arc::new(AtomicUsize::new(0));
        let (open, closed) = watch::channel(());
        let viewers = paths.len();
        let (counting, (tell, told)) = (Arc::clone(&heard), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                let gathered = seat_all(address, paths, &counting).await;
                let (outcome, viewing) = match gathered {
                    Ok(viewing) => (Ok(()), Some(viewing)),
                    Err(error) => (Err(error), None),
                };
                let _gone = tell.send(outcome);
                let mut closed = closed;
                // The sender is dropped in the end.
                let _end = closed.changed().await;
                drop(viewing);
                Ok::<_, io::Error>(())
            })
        });
        told.recv().map_err(io::Error::other)??;
        Ok(Self { viewers, heard, _open: open })
    }
}

async fn seat_all(
    address: SocketAddr,
    paths: Vec<Watched>,
    heard: &Arc<AtomicUsize>,
) -> io::Result<JoinSet<()>> {
    let mut viewing = JoinSet::new();
    let mut paths = paths.into_iter().zip((2..2 + ADDRESSES).cycle());
    loop {
        let mut opening = JoinSet::new();
        for (watched, from) in paths.by_ref().take(AT_ONCE) {
            opening.spawn(async move {
                let stream = open(address, Ipv4Addr::new(127, 0, 0, from), watched.path).await?;
                Ok::<_, io::Error>((stream, watched.is_counted))
            });
        }
        if opening.is_empty() {
            return Ok(viewing);
        }
        while let Some(opened) = opening.join_next().await {
            let (mut stream, is_counted) = opened.map_err(io::Error::other)??;
            let heard = Arc::clone(heard);
            viewing.spawn(async move {
                let mut buffer = [0; 8_192];
                // Comments keep a stream alive; they begin with a colon and tell nothing.
                while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                    if contains(&buffer[..length], b"data:") {
                        heard.fetch_add(usize::from(is_counted), Ordering::Relaxed);
                        return;
                    }
                }
            });
        }
    }
}

async fn open(address: SocketAddr, from: Ipv4Addr, path: String) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let mut stream = socket.connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n").as_bytes()).await?;
    let mut told = Vec::new();
    while !(contains(&told, b"data:") && told.ends_with(b"\n\n\r\n")) {
        if stream.read_buf(&mut told).await? == 0 {
            return Err(io::Error::other(String::from_utf8_lossy(&told).into_owned()));
        }
    }
    Ok(stream)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
