//! Traces: a span for each call, for each payment that a worker processes and for each attempt of a delivery,
//! sent to a collector by OTLP. A span names the route, the request and the payment; no span contains a body,
//! a query or a credential.

use std::time::Duration;

use anyhow::{Context, Result};
use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// How long sending a batch may take. Spans that cannot be sent in time are dropped, and nothing waits for
/// them.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long sending the last spans may take, while the process ends.
pub(crate) const END: Duration = Duration::from_secs(1);

/// Sends spans on a thread of its own.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends spans to the collector at this address, such as `http://127.0.0.1:4318`; an address without a
    /// path gets `/v1/traces`.
    pub(crate) fn to(url: &str) -> Result<Self> {
        // A process can install its TLS library once; an earlier call has installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        let endpoint = if has_path { url.to_owned() } else { format!("{url}/v1/traces") };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
            .build()
            .context("traces cannot be sent to tracing.otlp_url")?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name("quipu").with_attribute(version).build();
        Ok(Self(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
    }

    /// The layer that turns our own spans into spans of a trace. Spans of libraries, including the
    /// exporter's, are left out.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let tracer = self.0.tracer("quipu");
        let is_ours = |metadata: &Metadata<'_>| metadata.is_span() && metadata.target().starts_with("quipu");
        tracing_opentelemetry::layer().with_tracer(tracer).with_filter(filter_fn(is_ours))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(END) {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}
