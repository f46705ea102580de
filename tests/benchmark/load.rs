//! The load generator: raw HTTP/1.1 over kept-alive connections, all on one thread, so that it leaves the processor to
//! what is measured.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// Writes the next request into an empty buffer.
pub(crate) type Request = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;

/// How hard to press, and for how long.
#[derive(Clone, Copy)]
pub(crate) struct Pressure {
    /// Connections, each with one request under way.
    pub(crate) connections: usize,
    /// Measured time, after a fifth of it for warming up.
    pub(crate) time: Duration,
}

/// What came of it.
pub(crate) struct Outcome {
    /// Answered requests a second.
    pub(crate) per_second: f64,
    /// Time to the whole answer, in microseconds.
    pub(crate) latency: Histogram<u64>,
}

/// Sends so many requests over so many connections.
pub(crate) fn send(
    address: SocketAddr,
    connections: usize,
    count: usize,
    request: Request,
) -> io::Result<()> {
    let sending = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut callers = JoinSet::new();
            for caller in 0..connections {
                let count = count / connections + usize::from(caller < count % connections);
                callers.spawn(call_so_often(address, count, Arc::clone(&request)));
            }
            while let Some(caller) = callers.join_next().await {
                caller.map_err(io::Error::other)??;
            }
            Ok(())
        })
    });
    sending.join().expect("the load generator does not panic")
}

async fn call_so_often(address: SocketAddr, count: usize, request: Request) -> io::Result<()> {
    let mut connection = Connection::open(address, request).await?;
    for _ in 0..count {
        connection.call().await?;
    }
    Ok(())
}

/// A kept-alive connection that carries one request after another, each of which must be answered with a success.
pub(crate) struct Connection {
    stream: TcpStream,
    request: Request,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr, request: Request) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            request,
            outgoing: Vec::with_capacity(2_048),
            incoming: Vec::with_capacity(65_536),
        })
    }

    /// Sends the next request and reads its whole answer. Says when it was sent.
    pub(crate) async fn call(&mut self) -> io::Result<Instant> {
        self.outgoing.clear();
        (self.request)(&mut self.outgoing);
        let sent = Instant::now();
        self.stream.write_all(&self.outgoing).await?;
        read_answer(&mut self.stream, &mut self.incoming).await?;
        Ok(sent)
    }
}

/// Presses on one address until the time is over. Anything but a success ends the benchmark: refusals are
/// fast, and not what is measured.
pub(crate) fn press(address: SocketAddr, pressure: Pressure, request: Request) -> io::Result<Outcome> {
    // A thread and a runtime of its own, apart from those of the harness.
    let pressing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(press_on_this_thread(address, pressure, request))
    });
    pressing.join().expect("the load generator does not panic")
}

async fn press_on_this_thread(
    address: SocketAddr,
    pressure: Pressure,
    request: Request,
) -> io::Result<Outcome> {
    let begin = Instant::now() + pressure.time / 5;
    let end = begin + pressure.time;
    let mut callers = JoinSet::new();
    for _ in 0..pressure.connections {
        callers.spawn(call_until(address, begin, end, Arc::clone(&request)));
    }
    let mut latency = microseconds();
    while let Some(caller) = callers.join_next().await {
        latency.add(caller.map_err(io::Error::other)??).map_err(io::Error::other)?;
    }
    let answered = u32::try_from(latency.len()).map_err(io::Error::other)?;
    Ok(Outcome { per_second: f64::from(answered) / pressure.time.as_secs_f64(), latency })
}

/// An empty histogram, up to a minute with three digits.
pub(crate) fn microseconds() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order")
}

async fn call_until(
    address: SocketAddr,
    begin: Instant,
    end: Instant,
    request: Request,
) -> io::Result<Histogram<u64>> {
    let mut connection = Connection::open(address, request).await?;
    let mut latency = microseconds();
    loop {
        let sent = connection.call().await?;
        let answered = Instant::now();
        if answered >= end {
            return Ok(latency);
        }
        if sent >= begin {
            let elapsed = u64::try_from((answered - sent).as_micros()).unwrap_or(u64::MAX);
            latency.saturating_record(elapsed.max(1));
        }
    }
}

/// How long the first whole message in a buffer is; none if it has not come to its end.
pub(crate) fn whole_message(buffer: &[u8]) -> Option<usize> {
    let head = head_length(buffer)?;
    let whole = head + body_length(&buffer[..head]).ok()?;
    (buffer.len() >= whole).then_some(whole)
}

/// Reads one answer, which must be a success.
async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    read_message(stream, buffer).await?;
    if buffer.get(9..11) == Some(b"20") {
        return Ok(());
    }
    Err(io::Error::other(format!("not a success: {}", String::from_utf8_lossy(buffer))))
}

/// Reads one answer to its last byte.
pub(crate) async fn read_message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    let mut whole = None;
    loop {
        if whole.is_none() {
            whole = head_length(buffer)
                .map(|head| Ok::<_, io::Error>(head + body_length(&buffer[..head])?))
                .transpose()?;
        }
        if whole.is_some_and(|whole| buffer.len() >= whole) {
            break;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the gateway closed the connection"));
        }
    }
    Ok(())
}

fn head_length(buffer: &[u8]) -> Option<usize> {
    buffer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn body_length(head: &[u8]) -> io::Result<usize> {
    let head = String::from_utf8_lossy(head);
    let header = head.lines().filter_map(|line| line.split_once(':'));
    let mut length =
        header.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).map(|(_, value)| value.trim());
    let length = length.next().and_then(|text| text.parse().ok());
    length.ok_or_else(|| io::Error::other("an answer without its length"))
}
