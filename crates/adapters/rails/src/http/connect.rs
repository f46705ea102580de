//! Connections to a provider, with a limit of time.

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::time::timeout;
use tower_service::Service;

/// How long a connection may take: finding the address, dialling, and TLS together.
const CONNECT: Duration = Duration::from_secs(3);

type BoxError = Box<dyn Error + Send + Sync>;

/// A connector to providers.
pub(super) type Connector<R> = InTime<HttpsConnector<HttpConnector<R>>>;

/// A connector that finds addresses by `resolver`. Of several addresses, those that never answer leave time for the others.
pub(super) fn connector<R>(resolver: R) -> Connector<R> {
    let mut dialling = HttpConnector::new_with_resolver(resolver);
    dialling.enforce_http(false);
    dialling.set_nodelay(true);
    dialling.set_connect_timeout(Some(CONNECT));
    let tls = HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
        .unwrap_or_else(|error| unreachable!("ring speaks TLS 1.2 and 1.3: {error}"));
    InTime(tls.https_or_http().enable_http1().wrap_connector(dialling))
}

/// A connector whose connections are ready within [`CONNECT`].
#[derive(Clone)]
pub(super) struct InTime<C>(C);

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Future: Send + 'static,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, provider: Uri) -> Self::Future {
        let connecting = self.0.call(provider);
        Box::pin(async move {
            timeout(CONNECT, connecting).await.map_err(|_| "the connection was not ready in time")?
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        array,
        convert::Infallible,
        future::{Ready, ready},
        net::{Ipv4Addr, SocketAddr},
    };

    use hyper_util::client::legacy::connect::dns::Name;
    use tokio::{
        net::{TcpListener, TcpSocket, TcpStream},
        time::timeout,
    };

    use super::*;

    /// Every name has these addresses.
    #[derive(Clone)]
    struct Always([SocketAddr; 2]);

    impl Service<Name> for Always {
        type Response = array::IntoIter<SocketAddr, 2>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            ready(Ok(self.0.into_iter()))
        }
    }

    fn on(last: u8, port: u16) -> SocketAddr {
        (Ipv4Addr::new(127, 0, 0, last), port).into()
    }

    /// A listener at an address whose queue is full, so that whoever dials it waits.
    async fn silent() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(on(1, 0)).expect("a free port");
        let listener = socket.listen(1).expect("listens");
        let address = listener.local_addr().expect("bound");
        let mut queue = Vec::new();
        while let Ok(queued) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
            queue.push(queued.expect("queued"));
        }
        (listener, queue)
    }

    #[tokio::test]
    async fn an_address_that_never_answers_leaves_time_for_the_others() {
        let (silent, _queue) = silent().await;
        let port = silent.local_addr().expect("bound").port();
        let live = TcpListener::bind(on(2, port)).await.expect("another address");
        let mut connector = connector(Always([on(1, port), on(2, port)]));
        let provider = Uri::from_maybe_shared(format!("http://provider.test:{port}")).expect("an address");
        let connected = connector.call(provider).await;
        assert!(connected.is_ok(), "{:?}", connected.err());
        drop(live);
    }
}
