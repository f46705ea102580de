//! Receivers over TLS.

use std::net::Ipv4Addr;

use tokio_rustls::server::TlsStream;

use super::*;

/// A sender that trusts a receiver of these protocols, and the receiver's address.
async fn receiver<F, Fut>(protocols: &[&[u8]], serve: F) -> (Sender, String)
where
    F: Fn(TlsStream<TcpStream>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let (port, roots) = tls_receiver("shop.test", protocols, serve).await;
    let resolver = Arc::new(Changing::always(Ipv4Addr::LOCALHOST.into()));
    let sender = Sender::new(SenderSettings { roots, resolver, ..settings(true) }).expect("a sender");
    (sender, format!("https://shop.test:{port}"))
}

#[tokio::test]
async fn an_endpoint_that_hangs_holds_up_no_other_of_its_host() {
    let serve = |mut connection: TlsStream<TcpStream>| async move {
        assert_ne!(
            connection.get_ref().1.alpn_protocol(),
            Some(&b"h2"[..]),
            "requests would share a connection"
        );
        let Ok(request) = read_request(&mut connection).await else { return };
        if request.starts_with("POST /hangs") {
            std::future::pending::<()>().await;
        }
        // Nobody reads the error.
        let _answered = answer_ok(&mut connection).await;
    };
    let (sender, host) = receiver(&[b"h2", b"http/1.1"], serve).await;
    let hanging: Vec<_> = (0..10)
        .map(|_| {
            let (sender, url) = (sender.clone(), format!("{host}/hangs"));
            tokio::spawn(async move { send(&sender, &url).await })
        })
        .collect();
    let sent = send(&sender, &format!("{host}/answers")).await.expect("answered");
    assert_eq!(sent.status, 200);
    assert!(hanging.iter().all(|attempt| !attempt.is_finished()));
}

/// What becomes of an answer whose connection is closed without the notice of TLS.
async fn cut_after(answer: &'static [u8]) -> Sent {
    let serve = move |mut connection: TlsStream<TcpStream>| async move {
        if read_request(&mut connection).await.is_ok() && connection.write_all(answer).await.is_ok() {
            let _flushed = connection.flush().await;
            // The notice would be sent by a shutdown of the TLS stream.
            let _closed = connection.get_mut().0.shutdown().await;
        }
    };
    let (sender, host) = receiver(&[], serve).await;
    send(&sender, &host).await
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_its_connection_however_that_is_closed() {
    for answer in
        [&b"HTTP/1.0 200 OK\r\n\r\n"[..], b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nnoted"]
    {
        let sent = cut_after(answer).await;
        assert!(sent.is_ok_and(|answer| answer.status / 100 == 2), "{}", String::from_utf8_lossy(answer));
    }
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nnot",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ] {
        let (problem, _) = cut_after(answer).await.expect_err("unfinished");
        assert_eq!(problem, SendProblem::Broken, "{}", String::from_utf8_lossy(answer));
    }
}
