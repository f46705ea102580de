//! Receivers that cannot be reached, or must not be.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_webhooks::SendProblem;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::{Instant, timeout},
};

use super::*;

/// The port of a listener at a private address, and how often it was reached.
async fn private_listener() -> (u16, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&reached);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            counting.fetch_add(1, Ordering::Relaxed);
            let _ = answer_ok(&mut connection).await;
        }
    });
    (port, reached)
}

/// An address that is public by its form, but assigned to nobody, so that no packet arrives anywhere.
const PUBLIC: IpAddr = IpAddr::V6(Ipv6Addr::new(0x3f00, 0, 0, 0, 0, 0, 0, 1));

/// A name is public whenever it is judged, and private at the next look-up.
#[tokio::test(start_paused = true)]
async fn the_address_that_is_judged_is_the_address_that_is_dialled() {
    let (port, reached) = private_listener().await;
    let private = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let changing = [vec![PUBLIC], vec![private]].into_iter().cycle().take(6).collect();
    let resolver = Arc::new(Changing::new(changing));
    let asked = Arc::clone(&resolver);
    let sender = Sender::new(SenderSettings { resolver, ..settings(false) }).expect("a sender");
    for attempt in 1..=6 {
        let sent = send(&sender, &format!("http://rebound.test:{port}/")).await;
        let is_refused = sent == Err((SendProblem::AddressNotAllowed, None));
        assert_eq!(is_refused, attempt % 2 == 0, "{attempt}: {sent:?}");
        assert_eq!(asked.asked.load(Ordering::Relaxed), attempt, "one look-up for each attempt");
    }
    assert_eq!(reached.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn one_private_address_among_public_ones_spoils_all() {
    let (port, reached) = private_listener().await;
    let private = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let resolver = Changing::new(vec![vec![PUBLIC, private], vec![private, PUBLIC]]);
    let sender = Sender::new(SenderSettings { resolver: Arc::new(resolver), ..settings(false) });
    let sender = sender.expect("a sender");
    let not_allowed = Err((SendProblem::AddressNotAllowed, None));
    for _ in 0..3 {
        assert_eq!(send(&sender, &format!("http://mixed.test:{port}/")).await, not_allowed);
    }
    for host in
        ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "localhost", "[64:ff9b::7f00:1]"]
    {
        let sent = send(&sender, &format!("http://{host}:{port}/")).await;
        assert_eq!(sent, not_allowed, "{host}");
    }
    assert_eq!(reached.load(Ordering::Relaxed), 0);
}

/// A resolver whose places are taken.
struct Busy;

#[async_trait]
impl Resolve for Busy {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

#[tokio::test]
async fn an_endpoint_is_not_charged_for_a_name_that_was_not_looked_up() {
    let sender = Sender::new(SenderSettings { resolver: Arc::new(Busy), ..settings(true) });
    let sent = send(&sender.expect("a sender"), "http://shop.test/").await;
    assert_eq!(sent, Err((SendProblem::NothingSent, None)));
}

#[tokio::test]
async fn a_name_without_addresses_and_a_closed_port_are_told_apart() {
    let resolver = Changing::new(vec![vec![]]);
    let sender = Sender::new(SenderSettings { resolver: Arc::new(resolver), ..settings(true) });
    let sent = send(&sender.expect("a sender"), "http://nobody.test/").await;
    assert_eq!(sent, Err((SendProblem::NotResolved, None)));
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let url = format!("http://{}/", closed.local_addr().expect("bound"));
    drop(closed);
    let sender = Sender::new(settings(true)).expect("a sender");
    assert_eq!(send(&sender, &url).await, Err((SendProblem::NotConnected, None)));
}

/// Makes an address swallow connections as long as the result is kept: the queue of its listener is full.
async fn swallow(address: Ipv4Addr, port: u16) -> (TcpListener, Vec<TcpStream>) {
    let full = TcpSocket::new_v4().expect("a socket");
    full.bind((address, port).into()).expect("a port");
    let full = full.listen(1).expect("a listener");
    let to = full.local_addr().expect("bound");
    let mut waiting = Vec::new();
    while let Ok(connection) = timeout(Duration::from_millis(200), TcpStream::connect(to)).await {
        waiting.push(connection.expect("a connection"));
    }
    (full, waiting)
}

#[tokio::test]
async fn an_address_that_swallows_connections_leaves_time_for_the_next() {
    // Addresses of this machine on which no other test listens.
    let (swallowing, answering) = (Ipv4Addr::new(127, 7, 7, 1), Ipv4Addr::new(127, 7, 7, 2));
    let answers = TcpListener::bind((answering, 0)).await.expect("a port");
    let port = answers.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = answers.accept().await {
            let _ = read_request(&mut connection).await;
            let _ = answer_ok(&mut connection).await;
        }
    });
    let full = swallow(swallowing, port).await;
    let addresses = vec![swallowing.into(), answering.into()];
    let resolver = Changing::new(vec![addresses]);
    let sender = Sender::new(SenderSettings { resolver: Arc::new(resolver), ..settings(true) });
    let sent = send(&sender.expect("a sender"), &format!("http://half-dead.test:{port}/")).await;
    assert_eq!(sent.map(|answer| answer.status), Ok(200));
    drop(full);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_refuses_takes_no_time_from_one_that_swallows() {
    let (swallowing, refusing) = (Ipv4Addr::new(127, 7, 7, 3), Ipv4Addr::new(127, 7, 7, 4));
    let full = swallow(swallowing, 0).await;
    let port = full.0.local_addr().expect("bound").port();
    for (addresses, seconds) in
        [(vec![refusing, refusing, refusing, refusing, swallowing], 5.0), (vec![swallowing, refusing], 2.5)]
    {
        let answers = vec![addresses.into_iter().map(IpAddr::V4).collect()];
        let resolver = Changing::new(answers);
        let sender = Sender::new(SenderSettings { resolver: Arc::new(resolver), ..settings(true) });
        let begun = Instant::now();
        let sent = send(&sender.expect("a sender"), &format!("http://dead.test:{port}/")).await;
        assert_eq!(sent, Err((SendProblem::TimedOut, None)), "whatever the other address says");
        let took = begun.elapsed().as_secs_f64();
        assert!((took - seconds).abs() < 0.1, "{took}");
    }
}

/// A resolver that never answers.
struct Silent;

#[async_trait]
impl Resolve for Silent {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_has_a_limit_of_its_own() {
    let sender = Sender::new(SenderSettings { resolver: Arc::new(Silent), ..settings(false) });
    let begun = Instant::now();
    let sent = send(&sender.expect("a sender"), "http://slow.test/").await;
    assert_eq!(sent, Err((SendProblem::TimedOut, None)));
    assert_eq!(begun.elapsed().as_secs(), 5);
}
