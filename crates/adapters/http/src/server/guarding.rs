//! A server whose connections are guarded.

use std::{future::ready, io::ErrorKind, net::TcpListener, rc::Rc, sync::Arc, time::Duration};

use actix_http::{HttpService, Protocol, Request, error::DispatchError};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, boxed, fn_service, map_config};
use actix_web::{
    App, Error,
    dev::{AppConfig, Extensions, Server},
    rt::{net::TcpStream, time::sleep},
    web::ServiceConfig,
};

use crate::{
    connection::{Conversation, Crowd, FIRST_HEAD, Gate, Guarded, IDLE, Terms},
    state::TEST_EVENTS,
};

/// How many connections without a place a worker accepts, so that an idle one can be closed for them.
pub(crate) const BEYOND: usize = 8;

/// How many sockets may be open beside the connections of the interface: those that make others give way, those of
/// scrapes, and those of test events.
pub const fn sockets_beside_connections(workers: usize) -> usize {
    workers * BEYOND + SCRAPES + TEST_EVENTS
}

/// The most open connections for scrapes, with those beyond: scrapers are few.
pub(crate) const SCRAPES: usize = 48;

/// How long after the order to stop an accepted connection may still begin a request, since bytes that its
/// client has sent may not have been read yet.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How a listener is served.
pub(crate) struct Guarding {
    pub(crate) name: &'static str,
    /// Threads that handle requests.
    pub(crate) workers: usize,
    /// The most open connections. For each worker [`BEYOND`] more may be open for a moment.
    pub(crate) connections: usize,
    /// How long requests in progress may go on after a stop.
    pub(crate) shutdown_timeout: Duration,
    pub(crate) terms: Terms,
}

impl Guarding {
    /// Serves the routes that `configure` adds. Their handlers begin a turn of the connection's
    /// [`Conversation`], and hold it until the answer is sent.
    pub(crate) fn serve(
        self,
        listener: TcpListener,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> std::io::Result<Server> {
        let Self { name, workers, connections, shutdown_timeout, terms } = self;
        let server = Server::build()
            .workers(workers)
            // New connections go to the workers in turn. The crowd bounds their total, and must see a few
            // beyond it; further ones wait to be accepted, and take no descriptor.
            .max_concurrent_connections(connections.div_ceil(workers) + BEYOND)
            .shutdown_timeout(shutdown_timeout.as_secs())
            .disable_signals();
        let stopping = server.graceful_shutdown_signal();
        let (crowd, terms) = (Crowd::new(connections), Arc::new(terms));
        let server = server.listen(name, listener, move || {
            let (crowd, gate, stopping) = (crowd.clone(), Gate::new(), stopping.clone());
            let (terms, configure) = (Arc::clone(&terms), configure.clone());
            let app = App::new().configure(configure).into_factory();
            let http = HttpService::build()
                .keep_alive(IDLE)
                .client_request_timeout(FIRST_HEAD)
                // The socket itself lingers.
                .client_disconnect_timeout(Duration::ZERO)
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move {
                        stopping.notified().await;
                        sleep(LAST_WORDS).await;
                    }
                })
                .on_connect_ext(|socket: &Guarded, data: &mut Extensions| {
                    data.insert(socket.conversation());
                })
                .expect(fn_service(async |request: Request| {
                    if let Some(conversation) = request.conn_data::<Rc<Conversation>>() {
                        conversation.expect();
                    }
                    Ok::<_, Error>(request)
                }))
                .finish(map_config(app, |()| AppConfig::default()));
            let accept = move |socket: TcpStream| {
                let peer = socket.peer_addr().ok();
                let guarded = Guarded::new(socket, &crowd, gate.clone(), Arc::clone(&terms));
                let guarded = guarded.ok_or_else(|| DispatchError::Io(ErrorKind::ConnectionRefused.into()));
                ready(guarded.map(|socket| (socket, Protocol::Http1, peer)))
            };
            // The server holds the space of a connection's future twice, so what it holds is a pointer.
            boxed::factory(fn_service(accept).and_then(http))
        })?;
        Ok(server.run())
    }
}
