//! The server: the router built from the table, and the listener it stands on.

use std::{collections::HashSet, net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    App, HttpRequest, HttpServer,
    dev::Server,
    http::Method,
    web::{self, ServiceConfig},
};

use crate::{
    code::ErrorCode,
    dispatch::{dispatch, options, refuse},
    error::ApiError,
    routes::route_table,
    row::RouteRow,
    settings::HttpSettings,
    shape::Family,
    state::{AppState, Services},
};

/// How long is read on after an answer to a request whose body is still to come. Closing at once would reset the connection
/// and destroy the answer.
const LINGER: Duration = Duration::from_secs(1);

/// Serves the interface on `listener` until the returned server is stopped through its handle, which finishes what was
/// accepted. Signals are the application's to handle.
pub fn serve(listener: TcpListener, services: Services, settings: HttpSettings) -> std::io::Result<Server> {
    let state = Arc::new(AppState::new(services, settings));
    let settings = state.settings.clone();
    let server = HttpServer::new(move || {
        let state = Arc::clone(&state);
        App::new().configure(move |config| add_routes(config, &route_table().collect::<Vec<_>>(), &state))
    });
    let server = if settings.workers == 0 { server } else { server.workers(settings.workers) };
    let server = server
        .keep_alive(settings.keep_alive)
        .client_request_timeout(settings.request_timeout)
        .client_disconnect_timeout(LINGER)
        .max_connections(settings.max_connections)
        .tcp_nodelay(true)
        .shutdown_timeout(settings.shutdown_timeout.as_secs())
        .disable_signals()
        .listen(listener)?;
    Ok(server.run())
}

/// Adds every route to an application, for tests that drive it without a socket.
pub fn configure(services: Services, settings: HttpSettings) -> impl FnOnce(&mut ServiceConfig) {
    configure_with(services, settings, route_table().collect())
}

/// The same with a table of one's own.
pub(crate) fn configure_with(
    services: Services,
    settings: HttpSettings,
    rows: Vec<&'static RouteRow>,
) -> impl FnOnce(&mut ServiceConfig) {
    let state = Arc::new(AppState::new(services, settings));
    move |config| add_routes(config, &rows, &state)
}

fn add_routes(config: &mut ServiceConfig, rows: &[&'static RouteRow], state: &Arc<AppState>) {
    let mut added = HashSet::new();
    for path in rows.iter().flat_map(|row| row.paths()) {
        if added.insert(path) {
            let of_path: Vec<_> =
                rows.iter().copied().filter(|row| row.paths().any(|it| it == path)).collect();
            config.service(resource(path, &of_path, state));
        }
    }
    let state = Arc::clone(state);
    config.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let error = ApiError::refused(ErrorCode::RouteNotFound, "there is no such path");
        let family = Family::of_unknown_path(request.path());
        refuse(Arc::clone(&state), request, payload, family, error)
    }));
}

/// One path with all its methods. `HEAD` is answered as `GET` is, without the body; `OPTIONS` says what there is.
fn resource(path: &str, rows: &[&'static RouteRow], state: &Arc<AppState>) -> actix_web::Resource {
    let mut resource = web::resource(path);
    for &row in rows {
        let state = Arc::clone(state);
        let handler = move |request: HttpRequest, payload: web::Payload| {
            dispatch(row, Arc::clone(&state), request, payload)
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
        move |request: HttpRequest| options(Arc::clone(&state), request, allow.clone())
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
