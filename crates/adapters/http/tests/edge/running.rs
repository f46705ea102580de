//! A server on a real socket, and its clients.

use std::{
    io::Read,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use actix_web::{
    dev::{Server, ServerHandle},
    rt::System,
};
use quipu_http::serve;
use socket2::{Domain, Socket, Type};

use crate::world::World;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    handle: ServerHandle,
    thread: JoinHandle<()>,
}

impl Running {
    /// The interface.
    pub(crate) fn start(world: &World) -> Self {
        let (services, mut settings) = (world.services.clone(), world.settings.clone());
        settings.workers = 1;
        Self::of(move |listener| serve(listener, services, settings))
    }

    /// Another server.
    pub(crate) fn of(serve: impl FnOnce(TcpListener) -> std::io::Result<Server> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            System::new().block_on(async {
                let server = serve(listener).expect("a server");
                sender.send(server.handle()).expect("somebody waits for it");
                server.await.expect("an orderly end");
            });
        });
        Self { address, handle: receiver.recv().expect("a handle"), thread }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        self.connect_from(1)
    }

    /// A connection from the address 127.0.0.`last`.
    pub(crate) fn connect_from(&self, last: u8) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into()).expect("an address");
        socket.connect(&self.address.into()).expect("a connection");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a timeout");
        stream
    }

    /// Waits until the server has read all that was sent to it, so that what is sent next comes by itself.
    pub(crate) fn until_read(&self, stream: &TcpStream) {
        let (client, server) =
            (hexadecimal(stream.local_addr().expect("an address")), hexadecimal(self.address));
        let deadline = Instant::now() + Duration::from_mins(1);
        let is_waiting = |line: &str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, local, remote, _, queues, ..] = fields[..] else { return false };
            let Some((unsent, unread)) = queues.split_once(':') else { return false };
            let is_empty = |queue: &str| queue.bytes().all(|digit| digit == b'0');
            (local, remote) == (client.as_str(), server.as_str()) && !is_empty(unsent)
                || (local, remote) == (server.as_str(), client.as_str()) && !is_empty(unread)
        };
        while std::fs::read_to_string("/proc/net/tcp").expect("a list").lines().any(is_waiting) {
            assert!(Instant::now() < deadline, "the server does not read");
            thread::yield_now();
        }
    }

    pub(crate) async fn stop(self) {
        self.handle.stop(true).await;
        self.thread.join().expect("no panic");
    }
}

/// A local address as the system lists it.
fn hexadecimal(address: SocketAddr) -> String {
    format!("0100007F:{:04X}", address.port())
}

/// Reads the head of one answer, in small letters.
#[track_caller]
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        assert!(stream.read_exact(&mut byte).is_ok(), "no answer came");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("UTF-8").to_lowercase()
}

/// Reads one answer with a Content-Length: its status and body.
#[track_caller]
pub(crate) fn read_answer(stream: &mut TcpStream) -> (u16, String) {
    let head = read_head(stream);
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.trim().parse().expect("a number")];
    stream.read_exact(&mut body).expect("a body");
    (status, String::from_utf8(body).expect("UTF-8"))
}
