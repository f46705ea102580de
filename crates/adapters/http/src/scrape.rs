//! `/metrics`, on a listener of its own.

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, dev::Server, http::header, rt::net::TcpStream, web};
use async_trait::async_trait;
use socket2::SockRef;

/// How long a client may take to send its request. It is short, since a silent client keeps others waiting.
const HEAD: Duration = Duration::from_secs(1);
/// How long a connection is kept for the next request, and how long the client may leave an answer unread.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most open connections: scrapers are few, and their descriptors come from the reserve.
const CONNECTIONS: usize = 48;

/// The metrics of the process.
#[async_trait]
pub trait Measured: Send + Sync {
    /// Renders them in the text format of Prometheus.
    async fn render(&self) -> String;
}

/// Serves the metrics at `/metrics`, to several clients at once, until the server is stopped through its
/// handle.
pub fn serve_measured(listener: TcpListener, measured: Arc<dyn Measured>) -> std::io::Result<Server> {
    let server = HttpServer::new(move || {
        let measured = Arc::clone(&measured);
        let answer = move || {
            let measured = Arc::clone(&measured);
            async move {
                HttpResponse::Ok()
                    .insert_header((header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
                    .body(measured.render().await)
            }
        };
        let nothing = || async { HttpResponse::NotFound().body("metrics are at /metrics\n") };
        App::new()
            .route("/metrics", web::get().to(answer.clone()))
            .route("/metrics", web::head().to(answer))
            .default_service(web::to(nothing))
    });
    let server =
        server.workers(1).max_connections(CONNECTIONS).keep_alive(PATIENCE).on_connect(|socket, _| {
            if let Some(socket) = socket.downcast_ref::<TcpStream>() {
                // If it cannot be set, the system gives up later.
                let _set = SockRef::from(socket).set_tcp_user_timeout(Some(PATIENCE));
            }
        });
    Ok(server.client_request_timeout(HEAD).shutdown_timeout(1).disable_signals().listen(listener)?.run())
}
