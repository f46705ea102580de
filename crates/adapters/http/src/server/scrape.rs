//! `/metrics`, on a listener of its own.

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    dev::Server,
    http::{Method, StatusCode, header},
    web::{self, ServiceConfig},
};
use async_trait::async_trait;
use quipu_kernel::{Clock, Entropy};

use super::guarding::{BEYOND, Guarding, SCRAPES};
use crate::{
    answer::request_id,
    connection::Terms,
    routing::dispatch::{begin, sending, unread},
};

/// How long a client may take nothing of the metrics, or too little.
const STALL: Duration = Duration::from_secs(30);

/// The metrics of the process.
#[async_trait]
pub trait Measured: Send + Sync {
    /// Renders them in the text format of Prometheus.
    async fn render(&self) -> String;
}

/// Serves the metrics at `/metrics`, to several clients at once, until the server is stopped through its
/// handle. `clock` and `entropy` are for the answers to requests that are none.
pub fn serve_measured(
    listener: TcpListener,
    measured: Arc<dyn Measured>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
) -> std::io::Result<Server> {
    let guarding = Guarding {
        name: "metrics",
        workers: 1,
        connections: SCRAPES - BEYOND,
        shutdown_timeout: Duration::from_secs(1),
        terms: Terms {
            trusted_proxies: Vec::new(),
            stall_timeout: STALL,
            clock,
            entropy: Arc::clone(&entropy),
        },
    };
    guarding.serve(listener, move |config| add_routes(config, &measured, &entropy))
}

/// What the listener is asked for.
struct Asked {
    request: HttpRequest,
    payload: web::Payload,
    entropy: Arc<dyn Entropy>,
}

impl Asked {
    async fn answer(self, response: impl Future<Output = HttpResponse>) -> HttpResponse {
        let (turn, rest) = (begin(&self.request), unread(&self.request, self.payload).await);
        let id = request_id::of_request(self.request.headers(), self.entropy.as_ref());
        let mut response = response.await;
        response.headers_mut().insert(request_id::X_REQUEST_ID, id);
        sending(response, turn, rest, None)
    }
}

fn add_routes(config: &mut ServiceConfig, measured: &Arc<dyn Measured>, entropy: &Arc<dyn Entropy>) {
    const ALLOWED: (header::HeaderName, &str) = (header::ALLOW, "GET, HEAD, OPTIONS");
    let (measured, entropy) = (Arc::clone(measured), Arc::clone(entropy));
    let asked = move |request, payload| Asked { request, payload, entropy: Arc::clone(&entropy) };
    let (of_scrape, of_other, of_nothing) = (asked.clone(), asked.clone(), asked);
    let scrape = move |request: HttpRequest, payload: web::Payload| {
        let measured = Arc::clone(&measured);
        of_scrape(request, payload).answer(async move {
            let mut response = HttpResponse::Ok();
            response.insert_header((header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"));
            response.body(measured.render().await)
        })
    };
    let other = move |request: HttpRequest, payload: web::Payload| {
        let is_question = *request.method() == Method::OPTIONS;
        let status = if is_question { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED };
        of_other(request, payload)
            .answer(async move { HttpResponse::build(status).insert_header(ALLOWED).finish() })
    };
    let nothing = move |request: HttpRequest, payload: web::Payload| {
        of_nothing(request, payload)
            .answer(async { HttpResponse::NotFound().body("metrics are at /metrics\n") })
    };
    let metrics = web::resource("/metrics")
        .route(web::get().to(scrape.clone()))
        .route(web::head().to(scrape))
        .default_service(web::to(other));
    config.service(metrics).default_service(web::to(nothing));
}
