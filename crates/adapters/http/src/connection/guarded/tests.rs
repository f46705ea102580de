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
