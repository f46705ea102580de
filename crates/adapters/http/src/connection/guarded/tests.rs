use std::future::poll_fn;

use actix_web::rt::net::TcpListener;
use quipu_kernel::SystemClock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const PLACES: usize = 16;

struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// A guarded connection in a crowd of [`PLACES`], and its client.
async fn connected(crowd: &Crowd) -> (Guarded, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connected");
    let (socket, _) = listener.accept().await.expect("accepted");
    let terms = Terms {
        trusted_proxies: Vec::new(),
        stall_timeout: Duration::from_secs(30),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(Zeros),
    };
    let guarded = Guarded::new(socket, crowd, Gate::new(), Arc::new(terms)).expect("a place");
    (guarded, client)
}

/// Others take all places that are left, and ask for more until everybody who is idle has to give way.
fn press(crowd: &Crowd) -> Vec<Place> {
    let others = (1..PLACES).filter_map(|_| crowd.admit(None)).collect();
    for _ in 0..PLACES {
        assert!(crowd.admit(None).is_none(), "no place is left");
    }
    others
}

/// What a read gives at once; `None` if it waits.
async fn read_at_once(guarded: &mut Guarded) -> Option<io::Result<usize>> {
    let mut buffer = [0; 16];
    poll_fn(|context| {
        let mut buffer = ReadBuf::new(&mut buffer);
        let read = Pin::new(&mut *guarded).poll_read(context, &mut buffer);
        Poll::Ready(match read {
            Poll::Ready(read) => Some(read.map(|()| buffer.filled().len())),
            Poll::Pending => None,
        })
    })
    .await
}

fn has_to_go(read: Option<io::Result<usize>>) -> bool {
    read.is_some_and(|read| read.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionAborted))
}

#[actix_web::test]
async fn whoever_has_to_go_is_answered_first() {
    let crowd = Crowd::new(PLACES);
    let (mut guarded, mut client) = connected(&crowd).await;
    // The request has arrived, but the crowd still takes the connection for an idle one.
    let turn = guarded.conversation().begin();
    let _others = press(&crowd);
    drop(turn);
    guarded.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("the answer is written");
    guarded.flush().await.expect("all of it");
    assert!(has_to_go(read_at_once(&mut guarded).await), "its place is needed");
    drop(guarded);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("an answer and its end");
    assert_eq!(answer, "HTTP/1.1 200 OK\r\n\r\n");
}

#[actix_web::test]
async fn who_has_not_read_all_of_its_answer_is_not_idle() {
    let crowd = Crowd::new(PLACES);
    let (mut guarded, mut client) = connected(&crowd).await;
    drop(guarded.conversation().begin());
    let (answer, mut written) = (vec![b'x'; 64 * 1024], 0);
    let mut write =
        |context: &mut Context<'_>| Poll::Ready(Pin::new(&mut guarded).poll_write(context, &answer));
    while let Poll::Ready(taken) = poll_fn(&mut write).await {
        written += taken.expect("it is written");
    }
    assert!(read_at_once(&mut guarded).await.is_none(), "the system takes no more");
    let _others = press(&crowd);
    assert!(read_at_once(&mut guarded).await.is_none(), "it is still reading");
    let reading = actix_web::rt::spawn(async move {
        let mut read = vec![0; written];
        client.read_exact(&mut read).await.expect("all of it");
        client
    });
    guarded.flush().await.expect("written");
    let _client = reading.await.expect("it has read");
    assert!(!has_to_go(read_at_once(&mut guarded).await), "nobody took it for idle");
}

/// Sends a request, and passes all of it on.
async fn passed_on(guarded: &mut Guarded, client: &mut TcpStream, request: &str) {
    client.write_all(request.as_bytes()).await.expect("written");
    let mut passed = 0;
    while passed < request.len() {
        match read_at_once(guarded).await {
            Some(read) => passed += read.expect("it stays open"),
            None => actix_web::rt::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

#[actix_web::test]
async fn only_a_client_that_owes_some_of_a_body_is_waited_for() {
    for (request, standing) in [
        ("GET / HTTP/1.1\r\n\r\n", Standing::Busy),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Standing::Busy),
        ("GET / HTTP/1.0\r\n\r\n", Standing::Busy),
        ("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nx", Standing::Awaiting),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", Standing::Awaiting),
    ] {
        let (mut guarded, mut client) = connected(&Crowd::new(PLACES)).await;
        passed_on(&mut guarded, &mut client, request).await;
        let _turn = guarded.conversation().begin();
        assert!(read_at_once(&mut guarded).await.is_none());
        assert_eq!(guarded.standing(), standing, "{request}");
    }
}

#[actix_web::test]
async fn whoever_was_told_to_go_on_is_waited_for() {
    let (mut guarded, mut client) = connected(&Crowd::new(PLACES)).await;
    let head = "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    passed_on(&mut guarded, &mut client, head).await;
    let conversation = guarded.conversation();
    let _turn = conversation.begin();
    conversation.expect();
    guarded.write_all(CONTINUE).await.expect("taken");
    guarded.flush().await.expect("kept back");
    assert_eq!(guarded.standing(), Standing::Busy, "nobody has asked for the body");
    conversation.want_body();
    guarded.flush().await.expect("written");
    assert_eq!(guarded.standing(), Standing::Awaiting);
}

#[actix_web::test]
async fn whoever_waits_at_the_gate_is_not_idle() {
    let crowd = Crowd::new(PLACES);
    let (mut guarded, mut client) = connected(&crowd).await;
    poll_fn(|context| {
        while guarded.gate.poll_enter(&mut None, context).is_ready() {}
        Poll::Ready(())
    })
    .await;
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    guarded.socket.readable().await.expect("arrived");
    assert!(read_at_once(&mut guarded).await.is_none(), "the gate is full");
    let _others = press(&crowd);
    assert!(read_at_once(&mut guarded).await.is_none(), "it keeps its place");
}

#[actix_web::test]
async fn a_request_asks_the_gate_once() {
    let (mut guarded, mut client) = connected(&Crowd::new(PLACES)).await;
    passed_on(&mut guarded, &mut client, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n").await;
    let full = |context: &mut Context<'_>| {
        while guarded.gate.poll_enter(&mut None, context).is_ready() {}
        Poll::Ready(())
    };
    poll_fn(full).await;
    assert!(read_at_once(&mut guarded).await.is_none());
    assert!(guarded.ticket.is_none(), "the next one would use it up");
}
