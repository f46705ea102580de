//! The server: the router built from the table, and its listener.

use std::{
    collections::HashSet, future::ready, io::ErrorKind, net::TcpListener, rc::Rc, sync::Arc, time::Duration,
};

use actix_http::{HttpService, Protocol, Request, error::DispatchError};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::{
    App, Error, HttpRequest,
    dev::{AppConfig, Extensions, Server},
    http::Method,
    rt::{net::TcpStream, time::sleep},
    web::{self, ServiceConfig},
};

use crate::{
    code::ErrorCode,
    connection::{Conversation, Crowd, FIRST_HEAD, Gate, Guarded, IDLE, descriptors},
    dispatch::{dispatch, options, refuse},
    error::ApiError,
    measure,
    openapi::{Readers, openapi_under},
    relay::Relay,
    routes::route_table,
    row::RouteRow,
    settings::HttpSettings,
    shape::Family,
    state::{AppState, Documents, Services},
};

/// How many connections without a place a worker accepts, so that an idle one can be closed for them.
const BEYOND: usize = 8;

/// How long after the order to stop an accepted connection may still begin a request, since bytes that its
/// client has sent may not have been read yet.
const LAST_WORDS: Duration = Duration::from_millis(300);

fn describe(root: &str) -> Documents {
    Documents {
        of_merchants: openapi_under(root, Readers::Merchants).into(),
        of_operators: openapi_under(root, Readers::Operators).into(),
    }
}

/// Serves the interface on `listener` until the server is stopped through its handle, which finishes the
/// accepted requests. The application handles signals.
pub fn serve(listener: TcpListener, services: Services, settings: HttpSettings) -> std::io::Result<Server> {
    let state = Arc::new(AppState::new(services, settings, describe));
    measure::begin_at_zero(route_table());
    let settings = &state.settings;
    let workers = if settings.workers == 0 { cores() } else { settings.workers };
    let connections =
        if settings.max_connections == 0 { descriptors(workers * BEYOND) } else { settings.max_connections };
    let server = Server::build()
        .workers(workers)
        // New connections go to the workers in turn. The crowd bounds their total, and must see a few beyond
        // it; further ones wait to be accepted, and take no descriptor.
        .max_concurrent_connections(connections.div_ceil(workers) + BEYOND)
        .shutdown_timeout(settings.shutdown_timeout.as_secs())
        .disable_signals();
    let stopping = server.graceful_shutdown_signal();
    let crowd = Crowd::new(connections);
    let accepting = Arc::clone(&state);
    let server = server.listen("quipu", listener, move || {
        let (crowd, gate, stopping) = (crowd.clone(), Gate::new(), stopping.clone());
        let (state, guarding) = (Arc::clone(&accepting), Arc::clone(&accepting));
        let app = App::new()
            .configure(move |config| add_routes(config, &route_table().collect::<Vec<_>>(), &state))
            .into_factory();
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
            let guarded = Guarded::new(socket, &crowd, gate.clone(), Arc::clone(&guarding));
            let guarded = guarded.ok_or_else(|| DispatchError::Io(ErrorKind::ConnectionRefused.into()));
            ready(guarded.map(|socket| (socket, Protocol::Http1, peer)))
        };
        fn_service(accept).and_then(http)
    })?;
    Ok(server.run())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Adds every route to an application, for tests that drive it without a socket.
pub fn configure(services: Services, settings: HttpSettings) -> impl FnOnce(&mut ServiceConfig) {
    configure_with(services, settings, route_table().collect())
}

/// Like `configure`, with another table.
pub(crate) fn configure_with(
    services: Services,
    settings: HttpSettings,
    rows: Vec<&'static RouteRow>,
) -> impl FnOnce(&mut ServiceConfig) {
    let state = Arc::new(AppState::new(services, settings, describe));
    move |config| add_routes(config, &rows, &state)
}

fn add_routes(config: &mut ServiceConfig, rows: &[&'static RouteRow], state: &Arc<AppState>) {
    let (mut added, relay) = (HashSet::new(), Relay::default());
    for path in rows.iter().flat_map(|row| row.paths()) {
        if added.insert(path) {
            let of_path: Vec<_> =
                rows.iter().copied().filter(|row| row.paths().any(|it| it == path)).collect();
            config.service(resource(path, &of_path, state, &relay));
        }
    }
    let state = Arc::clone(state);
    config.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let error = ApiError::refused(ErrorCode::RouteNotFound, "there is no such path");
        let family = Family::of_unknown_path(request.path());
        refuse(Arc::clone(&state), request, payload, family, error)
    }));
}

/// One path with all its methods. `HEAD` is answered like `GET`, without the body; `OPTIONS` lists the
/// methods.
fn resource(
    path: &str,
    rows: &[&'static RouteRow],
    state: &Arc<AppState>,
    relay: &Relay,
) -> actix_web::Resource {
    let mut resource = web::resource(path);
    for &row in rows {
        let (state, relay) = (Arc::clone(state), relay.clone());
        let handler = move |request: HttpRequest, payload: web::Payload| {
            let (state, relay) = (Arc::clone(&state), relay.clone());
            async move { relay.run(dispatch(row, state, request, payload)).await }
        };
        let method = Method::from_bytes(row.method().as_bytes()).unwrap_or_default();
        if method == Method::GET {
            resource = resource.route(web::head().to(handler.clone()));
        }
        resource = resource.route(web::method(method).to(handler));
    }
    let allow = allowed(rows);
    resource = resource.route(web::method(Method::OPTIONS).to({
        let (state, allow) = (Arc::clone(state), allow.clone());
        move |request: HttpRequest, payload: web::Payload| {
            options(Arc::clone(&state), request, payload, allow.clone())
        }
    }));
    let state = Arc::clone(state);
    let family = rows.first().map_or(Family::Api, |row| row.family());
    resource.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let error = ApiError::MethodNotAllowed { allow: allow.clone() };
        refuse(Arc::clone(&state), request, payload, family, error)
    }))
}

/// The methods of a path, as `Allow` lists them.
fn allowed(rows: &[&'static RouteRow]) -> String {
    let mut methods: Vec<_> = rows.iter().map(|row| row.method()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.join(", ")
}
