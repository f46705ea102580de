//! A limit of time for a connection to a provider.

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::Uri;
use tokio::time::timeout;
use tower_service::Service;

/// How long a connection may take: finding the address, dialling, and TLS together.
const CONNECT: Duration = Duration::from_secs(3);

type BoxError = Box<dyn Error + Send + Sync>;

/// A connector whose connections are ready within [`CONNECT`].
#[derive(Clone)]
pub(super) struct InTime<C>(pub(super) C);

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
