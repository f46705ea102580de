//! `/metrics`, on a listener of its own.

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, dev::Server, http::header, rt::net::TcpStream, web};
use async_trait::async_trait;
use socket2::SockRef;

/// How long a client may take to send its request. Short, since whoever says nothing keeps others waiting.
const HEAD: Duration = Duration::from_secs(1);
/// How long a connection is kept for the next request, and how long an answer may lie untaken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that are open at most: scrapers are few, and their descriptors come from the reserve.
const CONNECTIONS: usize = 48;

/// What was measured so far.
#[async_trait]
pub trait Measured: Send + Sync {
    /// In the text form of Prometheus.
    async fn render(&self) -> String;
}

/// Serves what was measured at `/metrics`, to many at once, until the returned server is stopped through its handle.
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
                // Where it cannot be set, the system gives up on its own, later.
                let _set = SockRef::from(socket).set_tcp_user_timeout(Some(PATIENCE));
            }
        });
    Ok(server.client_request_timeout(HEAD).shutdown_timeout(1).disable_signals().listen(listener)?.run())
}
