//! Deliveries to receivers of every kind.

mod hostile;
mod over_tls;
mod unreachable;

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
};

use async_trait::async_trait;
use quipu_signing::SystemEntropy;
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::*;

pub(super) type Sent = Result<Response, (SendProblem, Option<Begun>)>;

pub(super) fn settings(allow_private: bool) -> SenderSettings {
    SenderSettings {
        allow_private,
        roots: RootCertStore::empty(),
        resolver: Arc::new(SystemResolver::default()),
    }
}

pub(super) async fn send(sender: &Sender, url: &str) -> Sent {
    let secrets = [WebhookSecret::generate(&SystemEntropy)];
    let parcel = Parcel {
        target: &TargetUrl::restore(url.to_owned()),
        environment: Environment::Test,
        event: &EventId::restore("evt_1763726400000_2222222222222222".to_owned()),
        payload: &"{\"id\":1}".into(),
        secrets: &secrets,
        at: Timestamp::from_millis(1_763_726_400_000),
    };
    sender.send(parcel).await
}

/// Listens, passes each connection whose request has arrived to `behave`, and returns the port.
pub(super) async fn receiver<F, Fut>(behave: F) -> u16
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            if read_request(&mut connection).await.is_ok() {
                // These receivers may fail to write, and nobody reads the error.
                tokio::spawn(behave(connection));
            }
        }
    });
    port
}

/// Reads a request up to the end of its small body.
pub(super) async fn read_request(from: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut request = String::new();
    while !request.ends_with("{\"id\":1}") {
        let mut piece = [0; 4096];
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    Ok(request)
}

/// A resolver that returns the next of its lists at each call.
pub(super) struct Changing {
    pub(super) answers: Vec<Vec<IpAddr>>,
    pub(super) asked: AtomicUsize,
}

impl Changing {
    pub(super) const fn new(answers: Vec<Vec<IpAddr>>) -> Self {
        Self { answers, asked: AtomicUsize::new(0) }
    }

    pub(super) fn always(address: IpAddr) -> Self {
        Self::new(vec![vec![address]])
    }
}

#[async_trait]
impl Resolve for Changing {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.answers[turn.min(self.answers.len() - 1)].clone())
    }
}

/// A TLS receiver with a certificate for `name` that offers these protocols and passes each connection to
/// `serve`; returns its port and the roots that trust its certificate.
pub(super) async fn tls_receiver<F, Fut>(name: &str, protocols: &[&[u8]], serve: F) -> (u16, RootCertStore)
where
    F: Fn(TlsStream<TcpStream>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a configuration");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            // A kernel that waits for more to send does not know of virtual time.
            let _ = connection.set_nodelay(true);
            if let Ok(connection) = acceptor.accept(connection).await {
                tokio::spawn(serve(connection));
            }
        }
    });
    (port, roots)
}

pub(super) async fn answer_ok(to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await
}

#[test]
fn every_spelling_of_an_address_is_written_in_its_usual_form() {
    for (given, dialled) in [
        ("http://0x7f.1/x", "http://127.0.0.1/x"),
        ("http://2130706433", "http://127.0.0.1/"),
        ("http://0177.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://user:secret@shop.example/h?a=b#c", "http://shop.example/h?a=b"),
        ("http://[::FFFF:7f00:1]/", "http://[::ffff:7f00:1]/"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/"),
    ] {
        let uri = uri(&TargetUrl::restore(given.to_owned()), Environment::Test).expect("an address");
        assert_eq!(uri.to_string(), dialled);
    }
}

#[test]
fn nothing_goes_over_plain_http_in_the_live_environment() {
    let judge = |text: &str| uri(&TargetUrl::restore(text.to_owned()), Environment::Live).map(drop);
    assert_eq!(judge("http://shop.example"), Err(SendProblem::AddressNotAllowed));
    assert_eq!(judge("https://shop.example"), Ok(()));
}

#[test]
fn a_receiver_asks_for_time_in_seconds_or_by_a_date() {
    let asked = |after: &str, date: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, after.parse().expect("a value"));
        headers.insert(header::DATE, date.parse().expect("a value"));
        retry_after(&headers, Timestamp::from_millis(1_763_726_340_000))
    };
    let date = "Fri, 21 Nov 2025 12:00:00 GMT";
    assert_eq!(asked("120", date), Some(Duration::from_mins(2)));
    assert_eq!(asked("99999999999999999999", date), Some(Duration::from_secs(u32::MAX.into())));
    assert_eq!(asked("Fri, 21 Nov 2025 12:01:30 GMT", date), Some(Duration::from_secs(90)));
    assert_eq!(asked("Fri, 21 Nov 2025 11:00:00 GMT", date), Some(Duration::ZERO));
    for nonsense in ["", "soon", "-1", "1.5"] {
        assert_eq!(asked(nonsense, date), None, "{nonsense}");
    }
    let without_date = asked(date, "");
    assert_eq!(without_date, Some(Duration::from_mins(1)), "the request was made a minute before");
}
