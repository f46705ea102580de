//! Receivers that misbehave, and the outcome of a delivery to each.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::Instant};

use super::*;

fn status(status: u16) -> Begun {
    Begun { status, retry_after: None, excerpt: None }
}

/// The outcome of a delivery to a receiver that writes `answer` and closes.
async fn answered(answer: &'static [u8]) -> Sent {
    let port = receiver(move |mut connection: TcpStream| async move {
        connection.write_all(answer).await?;
        connection.shutdown().await
    });
    let sender = Sender::new(settings(true)).expect("a sender");
    send(&sender, &format!("http://127.0.0.1:{}/hook", port.await)).await
}

#[tokio::test]
async fn a_plain_answer_is_read_and_its_beginning_kept() {
    let answer = answered(b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlater").await;
    let answer = answer.expect("an answer");
    assert_eq!((answer.status, answer.excerpt.as_str()), (503, "later"));
    assert_eq!(answer.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let answer = answered(
        b"HTTP/1.1 307 Elsewhere\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(answer.await.expect("an answer").status, 307);
}

#[tokio::test]
async fn what_breaks_off_or_is_no_http_is_a_failed_attempt() {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.";
    let begun = |excerpt: &str| Begun { excerpt: Some(excerpt.to_owned()), ..status(200) };
    assert_eq!(answered(cut).await, Err((SendProblem::Broken, Some(begun("ten bytes.")))));
    assert_eq!(answered(b"HTTP/1.1 200 OK\r\nContent-Le").await, Err((SendProblem::Broken, None)));
    assert_eq!(answered(b"").await, Err((SendProblem::Broken, None)));
    assert_eq!(answered(b"SSH-2.0-OpenSSH_9.2\r\n").await, Err((SendProblem::Broken, None)));
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz";
    assert_eq!(answered(chunks).await, Err((SendProblem::Broken, Some(begun("hello")))));
}

#[tokio::test]
async fn a_packed_answer_is_not_unpacked() {
    let bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00";
    assert_eq!(answered(bomb).await, Err((SendProblem::TooMuch, Some(status(200)))));
    let framed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n\x1f\x8b\r\n0\r\n\r\n";
    assert_eq!(answered(framed).await, Err((SendProblem::TooMuch, Some(status(200)))));
}

#[tokio::test]
async fn what_the_head_of_an_answer_says_is_told_whatever_becomes_of_the_body() {
    let cut = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 100\r\n\r\nten bytes.";
    let excerpt = Some("ten bytes.".to_owned());
    let asked = Begun { status: 503, retry_after: Some(Duration::from_secs(7)), excerpt };
    assert_eq!(answered(cut).await, Err((SendProblem::Broken, Some(asked))));
    let long = b"HTTP/1.1 410 Gone\r\nContent-Length: 70000\r\n\r\nFor ever.";
    let gone = Begun { excerpt: Some("For ever.".to_owned()), ..status(410) };
    assert_eq!(answered(long).await, Err((SendProblem::TooMuch, Some(gone))));
}

#[tokio::test]
async fn an_answer_that_is_announced_or_turns_out_too_long_is_not_read() {
    let announced = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n";
    assert_eq!(answered(announced).await, Err((SendProblem::TooMuch, Some(status(200)))));

    let written = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&written);
    let port = receiver(move |mut connection: TcpStream| {
        let counting = Arc::clone(&counting);
        async move {
            connection.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").await?;
            loop {
                counting.fetch_add(connection.write(&[b'x'; 8192]).await?, Ordering::Relaxed);
            }
        }
    });
    let sender = Sender::new(settings(true)).expect("a sender");
    let sent = send(&sender, &format!("http://127.0.0.1:{}/", port.await)).await;
    let begun = Begun { excerpt: Some("x".repeat(Response::KEPT)), ..status(200) };
    assert_eq!(sent, Err((SendProblem::TooMuch, Some(begun))));
    // The buffers of two sockets hold some megabytes; the ten gigabytes of the answer must not be written.
    assert!(written.load(Ordering::Relaxed) < 64 << 20);
}

#[tokio::test]
async fn the_body_of_an_answer_has_at_most_65536_bytes_and_1024_are_kept() {
    for (length, expected) in [(65_536, Ok(200)), (65_537, Err(SendProblem::TooMuch))] {
        let port = receiver(move |mut connection: TcpStream| async move {
            let answer = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(length));
            connection.write_all(answer.as_bytes()).await?;
            connection.shutdown().await
        });
        let sender = Sender::new(settings(true)).expect("a sender");
        let sent = send(&sender, &format!("http://127.0.0.1:{}/", port.await)).await;
        let excerpt = match &sent {
            Ok(answer) => Some(&answer.excerpt),
            Err((_, begun)) => begun.as_ref().and_then(|begun| begun.excerpt.as_ref()),
        };
        assert_eq!(excerpt, Some(&"x".repeat(1_024)), "of {length} bytes");
        assert_eq!(sent.map(|answer| answer.status).map_err(|(problem, _)| problem), expected);
    }
}

#[tokio::test]
async fn a_hundred_preliminary_answers_are_too_many() {
    let port = receiver(|mut connection: TcpStream| async move {
        for _ in 0..100 {
            connection.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").await?;
        }
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await
    });
    let sender = Sender::new(settings(true)).expect("a sender");
    let sent = send(&sender, &format!("http://127.0.0.1:{}/", port.await)).await;
    assert_eq!(sent.map_err(|(problem, _)| problem), Err(SendProblem::TooMuch));
    let few = answered(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(few.expect("an answer").status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_drips_is_given_up_in_time() {
    let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    for at_once in [0, head.len()] {
        let port = receiver(move |mut connection: TcpStream| async move {
            connection.write_all(&head[..at_once]).await?;
            for byte in head[at_once..].iter().chain([b'x'; 1000].iter()) {
                connection.write_all(&[*byte]).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        });
        let sender = Sender::new(settings(true)).expect("a sender");
        let url = format!("http://127.0.0.1:{}/", port.await);
        let begun = Instant::now();
        let sent = send(&sender, &url).await;
        let (problem, answer) = sent.expect_err("no whole answer");
        assert_eq!(
            (problem, answer.as_ref().map(|it| it.status)),
            (SendProblem::TimedOut, (at_once > 0).then_some(200))
        );
        let excerpt = answer.and_then(|it| it.excerpt);
        assert_eq!(excerpt.is_some_and(|it| it.starts_with("xx")), at_once > 0, "what has come is kept");
        assert_eq!(begun.elapsed().as_secs(), 15);
    }
}

#[tokio::test]
async fn only_a_good_certificate_for_the_right_name_is_believed() {
    let serve = |mut connection| async move {
        let _ = read_request(&mut connection).await;
        let _ = answer_ok(&mut connection).await;
    };
    let (port, roots) = tls_receiver("shop.test", &[], serve).await;
    let home = || Changing::always(Ipv4Addr::LOCALHOST.into());
    let believing = SenderSettings { roots, resolver: Arc::new(home()), ..settings(true) };
    let unbelieving = SenderSettings { resolver: Arc::new(home()), ..settings(true) };
    for (settings, name, good) in [
        (believing.clone(), "shop.test", true),
        (believing, "other.test", false),
        (unbelieving, "shop.test", false),
    ] {
        let sender = Sender::new(settings).expect("a sender");
        let sent = send(&sender, &format!("https://{name}:{port}/")).await;
        match sent {
            Ok(answer) => assert!(good && answer.excerpt == "ok", "{name}"),
            Err(problem) => assert!(!good && problem == (SendProblem::Tls, None), "{name}: {problem:?}"),
        }
    }
}

#[tokio::test]
async fn a_delivery_is_signed_as_the_standard_says_and_asks_for_plain_bytes() {
    let (tell, mut told) = tokio::sync::mpsc::channel(1);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let url = format!("http://{}/hook?x=1", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        let request = read_request(&mut connection).await.expect("a request");
        answer_ok(&mut connection).await.expect("written");
        tell.send(request).await.expect("the test waits");
    });
    let sender = Sender::new(settings(true)).expect("a sender");
    assert!(send(&sender, &url).await.is_ok());
    let request = told.recv().await.expect("a request").to_lowercase();
    assert!(request.starts_with("post /hook?x=1 http/1.1\r\n"), "{request}");
    for header in [
        "webhook-id: evt_1763726400000_2222222222222222",
        "webhook-timestamp: 1763726400",
        "webhook-signature: v1,",
        "content-type: application/json",
        "accept-encoding: identity",
        "content-length: 8",
    ] {
        assert!(request.contains(&format!("\r\n{header}")), "{header}: {request}");
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_delivery() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&accepted);
    let port = receiver(move |mut connection: TcpStream| {
        counting.fetch_add(1, Ordering::Relaxed);
        async move {
            loop {
                answer_ok(&mut connection).await?;
                read_request(&mut connection).await?;
            }
        }
    });
    let sender = Sender::new(settings(true)).expect("a sender");
    let url = format!("http://127.0.0.1:{}/", port.await);
    for _ in 0..5 {
        assert!(send(&sender, &url).await.is_ok());
    }
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
}
