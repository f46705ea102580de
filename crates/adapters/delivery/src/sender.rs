//! The sender: one signed `POST`, within limits of time and size, whatever the receiver does.

use std::{
    error::Error,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, Client},
    rt::{TokioExecutor, TokioTimer},
};
use quipu_kernel::{Environment, EventId, Timestamp};
use quipu_signing::WebhookSecret;
use quipu_webhooks::{Begun, Response, SendProblem, TargetUrl};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Notify;
use url::Url;

use crate::{
    connect::{ConnectProblem, GuardedConnector, InTime, Resolve},
    resolver::SystemResolver,
};

/// The longest time of an exchange, the answer's body included.
const EXCHANGE_WITHIN: Duration = Duration::from_secs(15);
/// The most bytes of an answer's body that are read.
const MOST_READ: usize = 64 * 1024;
/// The most bytes of an answer's head that are read; no receiver needs more.
const LARGEST_HEAD: usize = 32 * 1024;
/// The most preliminary answers (1xx) in one exchange.
const MOST_PRELIMINARIES: usize = 8;
/// How long an idle connection is kept: a little less than the five seconds after which common servers close
/// it, so that a delivery seldom meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(4);
/// The most idle connections for one receiver.
const MOST_IDLE: usize = 64;

/// The settings for sending deliveries.
#[derive(Clone)]
pub struct SenderSettings {
    /// Whether addresses that are not public may be dialled; only for development.
    pub allow_private: bool,
    /// The trusted certificate authorities.
    pub roots: RootCertStore,
    /// The resolver of names.
    pub resolver: Arc<dyn Resolve>,
}

impl SenderSettings {
    /// The settings with the certificate authorities that the operating system trusts, and its resolver.
    pub fn of_system(allow_private: bool) -> Self {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some certificate authorities could not be read");
        }
        let mut roots = RootCertStore::empty();
        let (trusted, _) = roots.add_parsable_certificates(found.certs);
        if trusted == 0 {
            tracing::warn!("no certificate authority is trusted: deliveries over https will fail");
        }
        Self { allow_private, roots, resolver: Arc::new(SystemResolver::default()) }
    }
}

/// The event to send, signed for its receiver.
pub(crate) struct Parcel<'a> {
    pub(crate) target: &'a TargetUrl,
    pub(crate) environment: Environment,
    pub(crate) event: &'a EventId,
    pub(crate) payload: &'a Arc<str>,
    pub(crate) secrets: &'a [WebhookSecret],
    pub(crate) at: Timestamp,
}

type Connector = InTime<HttpsConnector<GuardedConnector>>;

/// Sends deliveries, over connections that are kept for the next delivery to the same receiver. It follows no
/// redirects, uses no proxy and decompresses nothing.
#[derive(Clone)]
pub(crate) struct Sender {
    client: Client<Connector, Full<Bytes>>,
}

impl Sender {
    pub(crate) fn new(settings: SenderSettings) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(settings.roots)
            .with_no_client_auth();
        let guarded = GuardedConnector { resolver: settings.resolver, allow_private: settings.allow_private };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(guarded);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MOST_IDLE)
            .http1_max_buf_size(LARGEST_HEAD)
            .build(InTime(connector));
        Ok(Self { client })
    }

    /// Makes one exchange. If it fails after an answer has begun, the beginning is returned with the problem.
    pub(crate) async fn send(&self, parcel: Parcel<'_>) -> Result<Response, (SendProblem, Option<Begun>)> {
        let mut request = request(&parcel).map_err(|problem| (problem, None))?;
        let preliminaries = Arc::new(Preliminaries::default());
        let counting = Arc::clone(&preliminaries);
        hyper::ext::on_informational(&mut request, move |_| counting.count());
        let mut received = Received::default();
        let exchange = async {
            tokio::select! {
                answered = self.exchange(request, parcel.at, &mut received) => answered,
                () = preliminaries.exceeded.notified() => Err(SendProblem::TooMuch),
            }
        };
        let ended = tokio::time::timeout(EXCHANGE_WITHIN, exchange).await;
        let ended = ended.unwrap_or(Err(SendProblem::TimedOut));
        // They may have arrived in one piece with the answer.
        let ended = if preliminaries.are_too_many() { Err(SendProblem::TooMuch) } else { ended };
        ended.map_err(|problem| (problem, received.into_begun()))
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        at: Timestamp,
        received: &mut Received,
    ) -> Result<Response, SendProblem> {
        let response = self.client.request(request).await.map_err(|error| problem_of(&error))?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers(), at));
        received.head = Some(Begun { status, retry_after, excerpt: None });
        // No encoding was requested, and this client decodes none.
        if is_packed(response.headers()) {
            return Err(SendProblem::TooMuch);
        }
        let ends_at_close = ends_at_close(response.headers());
        let size_told = response.body().size_hint().lower();
        if usize::try_from(size_told).map_or(true, |size| size > MOST_READ) {
            let _beginning = read(response.into_body(), &mut received.kept, Response::KEPT).await;
            return Err(SendProblem::TooMuch);
        }
        let end = read(response.into_body(), &mut received.kept, MOST_READ).await?;
        if end == End::Unsaid && !ends_at_close {
            return Err(SendProblem::Broken);
        }
        Ok(Response::new(status, retry_after, &received.kept))
    }
}

/// The part of an answer that has arrived.
#[derive(Default)]
struct Received {
    head: Option<Begun>,
    /// The beginning of the body, at most [`Response::KEPT`] bytes.
    kept: Vec<u8>,
}

impl Received {
    fn into_begun(self) -> Option<Begun> {
        let excerpt = (!self.kept.is_empty()).then(|| Response::excerpt_of(&self.kept));
        self.head.map(|head| Begun { excerpt, ..head })
    }
}

/// Whether the body has an encoding that must be undone. Chunks have been undone already.
fn is_packed(headers: &HeaderMap) -> bool {
    let other_than = |name, plain: &[u8]| {
        headers.get_all(name).iter().any(|by| !by.as_bytes().trim_ascii().eq_ignore_ascii_case(plain))
    };
    other_than(header::CONTENT_ENCODING, b"identity") || other_than(header::TRANSFER_ENCODING, b"chunked")
}

/// Whether only the end of the connection ends the body (RFC 9112, section 6.3).
fn ends_at_close(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CONTENT_LENGTH) && !headers.contains_key(header::TRANSFER_ENCODING)
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// As HTTP and TLS say that it ends.
    Said,
    /// The connection was closed without the notice that TLS requires, which many servers leave out.
    Unsaid,
}

/// Reads a body to its end, or until more than `most` bytes have arrived, and puts its beginning into `kept`.
async fn read(mut body: hyper::body::Incoming, kept: &mut Vec<u8>, most: usize) -> Result<End, SendProblem> {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) if is_unnoticed_end(&error) => return Ok(End::Unsaid),
            Err(_) => return Err(SendProblem::Broken),
        };
        let Some(data) = frame.data_ref() else { continue };
        let room = Response::KEPT - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        read += data.len();
        if read > most {
            return Err(SendProblem::TooMuch);
        }
    }
    Ok(End::Said)
}

fn is_unnoticed_end(error: &hyper::Error) -> bool {
    cause::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
}

/// Counts preliminary answers.
#[derive(Default)]
struct Preliminaries {
    seen: AtomicUsize,
    exceeded: Notify,
}

impl Preliminaries {
    fn count(&self) {
        if self.seen.fetch_add(1, Ordering::Relaxed) >= MOST_PRELIMINARIES {
            self.exceeded.notify_one();
        }
    }

    fn are_too_many(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > MOST_PRELIMINARIES
    }
}

fn request(parcel: &Parcel<'_>) -> Result<Request<Full<Bytes>>, SendProblem> {
    let uri = uri(parcel.target, parcel.environment)?;
    let id = parcel.event.as_str();
    let signature = WebhookSecret::sign_with_all(parcel.secrets, id, parcel.at, parcel.payload.as_bytes());
    let text = |text: &str| HeaderValue::from_str(text).map_err(|_| SendProblem::Unprepared);
    let payload = Bytes::from_owner(Arc::<[u8]>::from(Arc::clone(parcel.payload)));
    let mut request = Request::post(uri).body(Full::new(payload)).map_err(|_| SendProblem::Unprepared)?;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("Quipu/", env!("CARGO_PKG_VERSION"))));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert("webhook-id", text(id)?);
    headers.insert("webhook-timestamp", HeaderValue::from(parcel.at.seconds()));
    headers.insert("webhook-signature", text(&signature)?);
    Ok(request)
}

/// The address to dial. The parser writes every spelling of an IP address in its usual form, so that the
/// guard recognises a literal.
fn uri(target: &TargetUrl, environment: Environment) -> Result<Uri, SendProblem> {
    let mut url = Url::parse(target.as_str()).map_err(|_| SendProblem::Unprepared)?;
    if environment == Environment::Live && url.scheme() != "https" {
        return Err(SendProblem::AddressNotAllowed);
    }
    url.set_fragment(None);
    let without_user = url.set_username("").and_then(|()| url.set_password(None));
    without_user.map_err(|()| SendProblem::Unprepared)?;
    url.as_str().parse().map_err(|_| SendProblem::Unprepared)
}

/// `Retry-After` in either of its forms (RFC 9110, 10.2.3). A date is compared with the answer's own `Date`
/// if there is one, so that the clocks need not agree, and otherwise with the time of the request.
fn retry_after(headers: &HeaderMap, requested_at: Timestamp) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let asked = text(header::RETRY_AFTER)?.trim();
    if !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit()) {
        // However large the number is, the next attempt comes after at most twice its gap.
        return Some(Duration::from_secs(asked.parse().unwrap_or(u32::MAX).into()));
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let sent_at = text(header::DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    let requested_at = UNIX_EPOCH + Duration::from_millis(u64::try_from(requested_at.millis()).unwrap_or(0));
    let sent_at = sent_at.unwrap_or(requested_at);
    Some(until.duration_since(sent_at).unwrap_or_default())
}

/// The first of an error's causes that is of this type.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut cause = Some(error);
    while let Some(this) = cause {
        if let Some(found) = this.downcast_ref() {
            return Some(found);
        }
        cause = this.source();
    }
    None
}

/// The problem that an error of the client means for the merchant.
fn problem_of(error: &legacy::Error) -> SendProblem {
    match cause(error) {
        Some(ConnectProblem::NotAllowed) => SendProblem::AddressNotAllowed,
        Some(ConnectProblem::NotResolved) => SendProblem::NotResolved,
        Some(ConnectProblem::Busy) => SendProblem::NothingSent,
        Some(ConnectProblem::NotConnected) => SendProblem::NotConnected,
        Some(ConnectProblem::TimedOut) => SendProblem::TimedOut,
        // Our own connector checks, resolves and dials addresses; any other connection error is one of TLS.
        None if error.is_connect() => SendProblem::Tls,
        None => SendProblem::Broken,
    }
}

#[cfg(test)]
mod tests;
