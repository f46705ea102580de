//! `/metrics`, on a listener of its own.

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    dev::Server,
    http::header,
    web::{self, ServiceConfig},
};
use async_trait::async_trait;
use quipu_kernel::{Clock, Entropy};

use crate::{
    connection::Terms,
    dispatch::{begin, sending, unread},
    guarding::{BEYOND, Guarding, SCRAPES},
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
        terms: Terms { trusted_proxies: Vec::new(), stall_timeout: STALL, clock, entropy },
    };
    guarding.serve(listener, move |config| add_routes(config, &measured))
}

fn add_routes(config: &mut ServiceConfig, measured: &Arc<dyn Measured>) {
    let measured = Arc::clone(measured);
    let answer = move |request: HttpRequest, payload: web::Payload| {
        let measured = Arc::clone(&measured);
        async move {
            let (turn, rest) = (begin(&request), unread(&request, payload).await);
            let mut response = HttpResponse::Ok();
            response.insert_header((header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"));
            sending(response.body(measured.render().await), turn, rest)
        }
    };
    let nothing = async |request: HttpRequest, payload: web::Payload| {
        let (turn, rest) = (begin(&request), unread(&request, payload).await);
        sending(HttpResponse::NotFound().body("metrics are at /metrics\n"), turn, rest)
    };
    config
        .route("/metrics", web::get().to(answer.clone()))
        .route("/metrics", web::head().to(answer))
        .default_service(web::to(nothing));
}
