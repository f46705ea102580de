//! A receiver of webhooks: records every delivery, and answers as each path is set to.

use std::{
    collections::{BTreeMap, HashMap},
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use quipu_signing::WebhookSecret;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
    time::Instant,
};

use crate::eventually;

/// A received delivery.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The path it was sent to, with its query.
    pub path: String,
    /// Headers, their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, byte for byte.
    pub body: String,
    /// When it was received.
    pub at: Instant,
}

impl Delivery {
    /// The body as JSON, checked against the documents.
    #[track_caller]
    pub fn json(&self) -> Value {
        crate::contract::assert_documented_event(&self.body);
        serde_json::from_str(&self.body).expect("a delivery is JSON")
    }

    /// A header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The event's type.
    pub fn event_type(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether its signature was made with this secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let secret = WebhookSecret::parse(secret).expect("a secret");
        let seconds = self.header("webhook-timestamp").parse().expect("seconds");
        let (id, signature) = (self.header("webhook-id"), self.header("webhook-signature"));
        secret.verify(id, seconds, self.body.as_bytes(), signature)
    }
}

/// How a path answers.
#[derive(Debug, Clone)]
pub enum Behaviour {
    /// This status with these headers (each with its line's end) and this body.
    Answer(u16, String, String),
    /// With these bytes, after which the connection is closed.
    Bytes(Vec<u8>),
    /// With this beginning, and then with the same again and again as long as somebody reads, after a pause
    /// each time.
    Endless(String, String, Duration),
    /// With this beginning, after which the connection is reset.
    Reset(String),
    /// Not at all.
    Hang,
    /// Once [`Receiver::answer_late`] is called.
    Wait,
}

impl Behaviour {
    /// A plain status.
    pub fn status(status: u16) -> Self {
        Self::Answer(status, String::new(), String::new())
    }
}

#[derive(Default)]
struct Book {
    deliveries: Vec<Delivery>,
    behaviours: HashMap<String, Behaviour>,
    /// The status for those who wait for one.
    late: watch::Sender<Option<u16>>,
}

/// A running receiver on its own port. Paths without a set behaviour answer 200.
pub struct Receiver {
    port: u16,
    book: Arc<Mutex<Book>>,
    accepting: AbortHandle,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Receiver {
    /// Starts a receiver.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let book = Arc::new(Mutex::new(Book::default()));
        let keeping = Arc::clone(&book);
        let accepting = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let book = Arc::clone(&keeping);
                // An error means that the sender has disconnected.
                tokio::spawn(async move { drop(serve(connection, book).await) });
            }
        });
        Self { port, book, accepting: accepting.abort_handle() }
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sets how a path answers from now on.
    pub fn behave(&self, path: &str, behaviour: Behaviour) {
        self.book().behaviours.insert(path.to_owned(), behaviour);
    }

    /// Answers those who wait with this status, now and later.
    pub fn answer_late(&self, status: u16) {
        self.book().late.send_replace(Some(status));
    }

    /// All deliveries to a path.
    pub fn deliveries(&self, path: &str) -> Vec<Delivery> {
        self.book().deliveries.iter().filter(|delivery| delivery.path == path).cloned().collect()
    }

    /// The number of deliveries to a path.
    pub fn count(&self, path: &str) -> usize {
        self.book().deliveries.iter().filter(|delivery| delivery.path == path).count()
    }

    /// Waits until a path has had this many deliveries; returns them.
    pub async fn wait_for(&self, path: &str, count: usize) -> Vec<Delivery> {
        eventually(&format!("{count} deliveries to {path}"), async || {
            let came = self.deliveries(path);
            (came.len() >= count).then_some(came)
        })
        .await
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(connection: TcpStream, book: Arc<Mutex<Book>>) -> std::io::Result<()> {
    let mut connection = BufReader::new(connection);
    loop {
        let mut first = String::new();
        if connection.read_line(&mut first).await? == 0 {
            return Ok(());
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            connection.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        connection.read_exact(&mut body).await?;
        let body = String::from_utf8(body).expect("a delivery is UTF-8");
        let (behaviour, mut late) = {
            let mut book = lock(&book);
            book.deliveries.push(Delivery { path: path.clone(), headers, body, at: Instant::now() });
            let behaviour = book.behaviours.get(&path).cloned().unwrap_or_else(|| Behaviour::status(200));
            (behaviour, book.late.subscribe())
        };
        let behaviour = match behaviour {
            Behaviour::Wait => match late.wait_for(Option::is_some).await.ok().and_then(|status| *status) {
                Some(status) => Behaviour::status(status),
                None => Behaviour::Hang,
            },
            other => other,
        };
        match behaviour {
            Behaviour::Answer(status, headers, body) => {
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
                connection.write_all(answer.as_bytes()).await?;
            }
            Behaviour::Bytes(bytes) => {
                connection.write_all(&bytes).await?;
                return connection.shutdown().await;
            }
            Behaviour::Endless(beginning, again, pause) => {
                connection.write_all(beginning.as_bytes()).await?;
                loop {
                    connection.write_all(again.as_bytes()).await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Behaviour::Reset(beginning) => {
                connection.write_all(beginning.as_bytes()).await?;
                return connection.get_ref().set_zero_linger();
            }
            Behaviour::Hang | Behaviour::Wait => tokio::time::sleep(Duration::from_hours(1)).await,
        }
    }
}
