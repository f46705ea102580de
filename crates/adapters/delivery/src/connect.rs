//! The connector: resolves a name, checks every address, and dials a checked one. There is no other way to a
//! socket.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tower_service::Service;

use crate::guard::is_public;

/// The longest time for resolving, dialling and TLS together.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Resolves names to addresses.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a name.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectProblem {
    #[error("not an allowed address")]
    NotAllowed,
    #[error("not resolved")]
    NotResolved,
    #[error("too many look-ups of the domain are under way")]
    Busy,
    #[error("not connected")]
    NotConnected,
    #[error("timed out")]
    TimedOut,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Dials checked addresses.
#[derive(Clone)]
pub(crate) struct GuardedConnector {
    pub(crate) resolver: Arc<dyn Resolve>,
    /// Turns the check off, for development.
    pub(crate) allow_private: bool,
}

impl GuardedConnector {
    async fn connect(self, target: Uri) -> Result<TokioIo<TcpStream>, ConnectProblem> {
        let host = target.host().ok_or(ConnectProblem::NotAllowed)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let plain = target.scheme_str() == Some("http");
        let port = target.port_u16().unwrap_or(if plain { 80 } else { 443 });
        let deadline = Instant::now() + CONNECT_WITHIN;
        let addresses = self.judged(host).await?;
        let mut problem = ConnectProblem::NotConnected;
        let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        for address in addresses {
            // An address that never answers leaves time for the others, and one that refuses at once takes none.
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            left -= 1;
            match timeout(share, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(connection)) => {
                    // A delivery is one small write, and its answer is waited for.
                    let _ = connection.set_nodelay(true);
                    return Ok(TokioIo::new(connection));
                }
                Ok(Err(_)) => {}
                Err(_) => problem = ConnectProblem::TimedOut,
            }
        }
        Err(problem)
    }

    /// The addresses behind a host, literal or name; all of them must be allowed, or none is returned.
    async fn judged(&self, host: &str) -> Result<Vec<IpAddr>, ConnectProblem> {
        let addresses = match host.parse() {
            Ok(literal) => vec![literal],
            Err(_) => self.resolver.resolve(host).await.map_err(|error| match error.kind() {
                io::ErrorKind::ResourceBusy => ConnectProblem::Busy,
                _ => ConnectProblem::NotResolved,
            })?,
        };
        if addresses.is_empty() {
            return Err(ConnectProblem::NotResolved);
        }
        let allowed = self.allow_private || addresses.iter().all(|address| is_public(*address));
        if allowed { Ok(addresses) } else { Err(ConnectProblem::NotAllowed) }
    }
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { Ok(connector.connect(target).await?) })
    }
}

/// A connector with a time limit.
#[derive(Clone)]
pub(crate) struct InTime<C>(pub(crate) C);

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Future: Send + 'static,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Connecting<C::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connecting = self.0.call(target);
        Box::pin(
            async move { timeout(CONNECT_WITHIN, connecting).await.map_err(|_| ConnectProblem::TimedOut)? },
        )
    }
}
