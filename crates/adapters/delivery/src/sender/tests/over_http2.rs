//! Receivers that speak HTTP/2, and those of them that misbehave.

use std::{
    future::poll_fn,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{join, join_all};
use h2::{
    Reason, RecvStream,
    server::{self, SendResponse},
};
use http::{Request, Version};
use quipu_webhooks::{Begun, SendProblem};
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::server::TlsStream;

use super::*;

/// An answer that is to be given.
type Reply = SendResponse<Bytes>;

/// A sender and the address of a receiver that answers every request by `answer`, and how many connections
/// were made to it.
async fn receiver<F, Fut>(answer: F) -> (Sender, String, Arc<AtomicUsize>)
where
    F: Fn(Request<RecvStream>, Reply) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<(), h2::Error>> + Send + 'static,
{
    let connections = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&connections);
    let serve = move |connection: TlsStream<TcpStream>| {
        counting.fetch_add(1, Ordering::Relaxed);
        let answer = answer.clone();
        async move {
            let Ok(mut connection) = server::handshake(connection).await else { return };
            while let Some(Ok((request, reply))) = connection.accept().await {
                // These receivers may fail to answer, and nobody reads the error.
                tokio::spawn(answer(request, reply));
            }
        }
    };
    let (port, roots) = tls_receiver("shop.test", &[b"h2", b"http/1.1"], serve).await;
    let resolver = Arc::new(Changing::always(Ipv4Addr::LOCALHOST.into()));
    let sender = Sender::new(SenderSettings { roots, resolver, ..settings(true) }).expect("a sender");
    (sender, format!("https://shop.test:{port}/hook"), connections)
}

fn head(status: u16) -> http::Response<()> {
    http::Response::builder().status(status).body(()).expect("a head")
}

/// Sends a piece of a body as soon as the other side lets it.
async fn write(body: &mut h2::SendStream<Bytes>, piece: Bytes) -> Result<(), h2::Error> {
    let mut rest = piece;
    while !rest.is_empty() {
        body.reserve_capacity(rest.len());
        let room = poll_fn(|context| body.poll_capacity(context)).await;
        let room = room.unwrap_or_else(|| Err(Reason::CANCEL.into()))?;
        body.send_data(rest.split_to(room.min(rest.len())), false)?;
    }
    Ok(())
}

fn problem(sent: &Sent) -> Option<(SendProblem, Option<u16>)> {
    let (problem, begun) = sent.as_ref().err()?;
    Some((*problem, begun.as_ref().map(|begun| begun.status)))
}

#[tokio::test]
async fn deliveries_to_a_receiver_that_offers_it_share_a_connection() {
    let (sender, url, connections) = receiver(|request, mut reply| async move {
        assert_eq!((request.version(), request.uri().path()), (Version::HTTP_2, "/hook"));
        let signature = request.headers()["webhook-signature"].to_str().expect("text").to_owned();
        let mut body = request.into_body();
        let mut received = Vec::new();
        while let Some(piece) = body.data().await {
            received.extend_from_slice(&piece?);
        }
        let mut answer = reply.send_response(head(200), false)?;
        let right = received == b"{\"id\":1}" && signature.starts_with("v1,");
        write(&mut answer, Bytes::from(if right { "right" } else { "wrong" })).await?;
        answer.send_data(Bytes::new(), true)
    })
    .await;
    let first = send(&sender, &url).await;
    let others = join_all((0..20).map(|_| send(&sender, &url))).await;
    for sent in others.into_iter().chain([first]) {
        let answer = sent.expect("an answer");
        assert_eq!((answer.status, answer.excerpt.as_str()), (200, "right"));
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_that_the_receiver_declines_is_sent_once_more() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&asked);
    let (sender, url, _) = receiver(move |_, mut reply| {
        let asked = counting.fetch_add(1, Ordering::Relaxed);
        async move {
            // The third delivery is declined twice.
            if [0, 3, 4].contains(&asked) {
                reply.send_reset(Reason::REFUSED_STREAM);
                return Ok(());
            }
            reply.send_response(head(204), true).map(drop)
        }
    })
    .await;
    assert_eq!(send(&sender, &url).await.expect("an answer").status, 204);
    assert_eq!(send(&sender, &url).await.expect("an answer").status, 204);
    assert_eq!(problem(&send(&sender, &url).await), Some((SendProblem::Broken, None)));
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}

/// A receiver that closes its connection says which requests it has taken: here none.
#[tokio::test]
async fn what_a_closing_connection_did_not_take_is_sent_on_another() {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GO_AWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let connections = Arc::new(AtomicUsize::new(0));
    let serve = move |mut connection: TlsStream<TcpStream>| {
        let is_first = connections.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if is_first {
                let _ = connection.write_all(&SETTINGS).await;
                let mut received = Vec::new();
                while !received.ends_with(b"{\"id\":1}") && connection.read_buf(&mut received).await.is_ok() {
                }
                let _ = connection.write_all(&GO_AWAY).await;
            }
            let Ok(mut connection) = server::handshake(connection).await else { return };
            while let Some(Ok((_, mut reply))) = connection.accept().await {
                let _ = reply.send_response(head(204), true);
            }
        }
    };
    let (port, roots) = tls_receiver("shop.test", &[b"h2"], serve).await;
    let resolver = Arc::new(Changing::always(Ipv4Addr::LOCALHOST.into()));
    let sender = Sender::new(SenderSettings { roots, resolver, ..settings(true) }).expect("a sender");
    let sent = send(&sender, &format!("https://shop.test:{port}/hook")).await;
    assert_eq!(sent.expect("an answer").status, 204);
}

#[tokio::test]
async fn an_endless_body_is_cut_off_and_the_connection_is_kept() {
    let written = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&written);
    let (sender, url, connections) = receiver(move |_, mut reply| {
        let counting = Arc::clone(&counting);
        async move {
            let mut answer = reply.send_response(head(200), false)?;
            loop {
                write(&mut answer, Bytes::from_static(&[b'x'; 8192])).await?;
                counting.fetch_add(8192, Ordering::Relaxed);
            }
        }
    })
    .await;
    for _ in 0..20 {
        let sent = send(&sender, &url).await;
        assert_eq!(problem(&sent), Some((SendProblem::TooMuch, Some(200))));
        let begun = sent.expect_err("no whole answer").1.expect("a beginning");
        assert_eq!(begun.excerpt.as_deref(), Some("x".repeat(1_024).as_str()));
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    // What is read, and the windows of a stream and of the connection, of each.
    assert!(written.load(Ordering::Relaxed) < 20 * 256 * 1024);
}

#[tokio::test]
async fn what_is_announced_as_too_long_is_not_read() {
    let (sender, url, _) = receiver(|_, mut reply| async move {
        let mut told = head(410);
        told.headers_mut().insert("content-length", 70_000.into());
        let mut answer = reply.send_response(told, false)?;
        write(&mut answer, Bytes::from_static(&[b'x'; 2_000])).await?;
        poll_fn(|context| answer.poll_reset(context)).await.map(drop)
    })
    .await;
    assert_eq!(problem(&send(&sender, &url).await), Some((SendProblem::TooMuch, Some(410))));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_drips_is_given_up_in_time() {
    for is_silent in [true, false] {
        let (sender, url, _) = receiver(move |_, mut reply| async move {
            if is_silent {
                tokio::time::sleep(Duration::from_hours(1)).await;
            }
            let mut answer = reply.send_response(head(200), false)?;
            loop {
                write(&mut answer, Bytes::from_static(b"x")).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        })
        .await;
        let begun = Instant::now();
        let sent = send(&sender, &url).await;
        assert_eq!(problem(&sent), Some((SendProblem::TimedOut, (!is_silent).then_some(200))));
        assert_eq!(begun.elapsed().as_secs(), 15);
        let excerpt = sent.expect_err("no whole answer").1.and_then(|begun| begun.excerpt);
        assert_eq!(excerpt.is_some_and(|it| it.starts_with("xx")), !is_silent, "what has come is kept");
    }
}

/// One that never ends holds up no other on the connection that they share.
#[tokio::test(start_paused = true)]
async fn answers_that_drip_leave_the_others_their_room() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&begun);
    let (sender, url, connections) = receiver(move |_, mut reply| {
        let number = counting.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut answer = reply.send_response(head(200), false)?;
            write(&mut answer, Bytes::from(vec![b'x'; 60_000])).await?;
            if (1..=30).contains(&number) {
                tokio::time::sleep(Duration::from_hours(1)).await;
            }
            answer.send_data(Bytes::new(), true)
        }
    })
    .await;
    assert!(send(&sender, &url).await.is_ok(), "they find a connection to share");
    let slow = join_all((0..30).map(|_| send(&sender, &url)));
    let quick = async {
        while begun.load(Ordering::Relaxed) <= 30 {
            tokio::task::yield_now().await;
        }
        let since = Instant::now();
        (send(&sender, &url).await, since.elapsed())
    };
    let (slow, (quick, took)) = join(slow, quick).await;
    assert!(slow.iter().all(|sent| problem(sent) == Some((SendProblem::TimedOut, Some(200)))), "{slow:?}");
    assert!(quick.is_ok() && took < Duration::from_secs(1), "{quick:?} after {took:?}");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_head_that_is_too_large_and_a_reset_are_failed_attempts() {
    let (sender, url, _) = receiver(|_, mut reply| async move {
        let mut told = head(200);
        for number in 0..40 {
            let name = http::HeaderName::try_from(format!("x-{number}")).expect("a name");
            told.headers_mut().insert(name, "x".repeat(1_000).parse().expect("a value"));
        }
        reply.send_response(told, true).map(drop)
    })
    .await;
    assert_eq!(problem(&send(&sender, &url).await), Some((SendProblem::Broken, None)));

    let (sender, url, _) = receiver(|_, mut reply| async move {
        reply.send_reset(Reason::INTERNAL_ERROR);
        Ok(())
    })
    .await;
    assert_eq!(problem(&send(&sender, &url).await), Some((SendProblem::Broken, None)));
}

#[tokio::test(start_paused = true)]
async fn preliminary_answers_without_end_are_given_up_in_time() {
    let (sender, url, _) = receiver(|_, mut reply| async move {
        loop {
            reply.send_informational(head(103))?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let begun = Instant::now();
    assert_eq!(problem(&send(&sender, &url).await), Some((SendProblem::TimedOut, None)));
    assert_eq!(begun.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn no_redirect_is_followed_and_nothing_is_unpacked() {
    let (sender, url, connections) = receiver(|_, mut reply| async move {
        let mut told = head(307);
        told.headers_mut().insert("location", "https://shop.test/elsewhere".parse().expect("a value"));
        reply.send_response(told, true).map(drop)
    })
    .await;
    assert_eq!(send(&sender, &url).await.map(|answer| answer.status), Ok(307));
    assert_eq!(connections.load(Ordering::Relaxed), 1);

    let (sender, url, _) = receiver(|_, mut reply| async move {
        let mut told = head(200);
        told.headers_mut().insert("content-encoding", "gzip".parse().expect("a value"));
        reply.send_response(told, true).map(drop)
    })
    .await;
    let packed = Begun { status: 200, retry_after: None, excerpt: None };
    assert_eq!(send(&sender, &url).await, Err((SendProblem::TooMuch, Some(packed))));
}
