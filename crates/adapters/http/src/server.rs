//! The server: the router built from the table, and the listener it stands on.

use std::{net::TcpListener, sync::Arc};

use actix_web::{
    App, HttpRequest, HttpServer,
    dev::Server,
    http::Method,
    web::{self, ServiceConfig},
};

use crate::{
    dispatch::{dispatch, refuse},
    door::RouteRow,
    error::ApiError,
    routes::route_table,
    settings::HttpSettings,
    state::{AppState, Services},
};

/// Serves the interface on `listener` until the returned server is stopped through its handle, which finishes what was
/// accepted. Signals are the application's to handle.
pub fn serve(listener: TcpListener, services: Services, settings: HttpSettings) -> std::io::Result<Server> {
    let state = Arc::new(AppState::new(services, settings));
    let settings = state.settings.clone();
    let server = HttpServer::new(move || {
        let state = Arc::clone(&state);
        App::new().configure(move |config| add_routes(config, &state))
    });
    let server = if settings.workers == 0 { server } else { server.workers(settings.workers) };
    let server = server
        .keep_alive(settings.keep_alive)
        .client_request_timeout(settings.request_timeout)
        .max_connections(settings.max_connections)
        .tcp_nodelay(true)
        .shutdown_timeout(settings.shutdown_timeout.as_secs())
        .disable_signals()
        .listen(listener)?;
    Ok(server.run())
}

/// Adds every route to an application, for tests that drive it without a socket.
pub fn configure(services: Services, settings: HttpSettings) -> impl FnOnce(&mut ServiceConfig) {
    let state = Arc::new(AppState::new(services, settings));
    move |config| add_routes(config, &state)
}

fn add_routes(config: &mut ServiceConfig, state: &Arc<AppState>) {
    let rows = route_table();
    for (index, first) in rows.iter().enumerate() {
        if rows[..index].iter().any(|row| row.path() == first.path()) {
            continue;
        }
        let of_path: Vec<_> = rows.iter().filter(|row| row.path() == first.path()).collect();
        config.service(resource(first.path(), &of_path, state));
    }
    let state = Arc::clone(state);
    config.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let error = ApiError::not_found("ROUTE_NOT_FOUND", "there is no such path");
        refuse(Arc::clone(&state), request, payload, error)
    }));
}

fn resource(path: &str, rows: &[&'static RouteRow], state: &Arc<AppState>) -> actix_web::Resource {
    let mut resource = web::resource(path);
    for &row in rows {
        let state = Arc::clone(state);
        let handler = move |request: HttpRequest, payload: web::Payload| {
            dispatch(row, Arc::clone(&state), request, payload)
        };
        let method = Method::from_bytes(row.method().as_bytes()).unwrap_or_default();
        resource = resource.route(web::method(method).to(handler));
    }
    let state = Arc::clone(state);
    let allow = rows.iter().map(|row| row.method()).collect::<Vec<_>>().join(", ");
    resource.default_service(web::to(move |request: HttpRequest, payload: web::Payload| {
        let error = ApiError::MethodNotAllowed { allow: allow.clone() };
        refuse(Arc::clone(&state), request, payload, error)
    }))
}
