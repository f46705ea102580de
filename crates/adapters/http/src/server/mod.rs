//! The server: the router built from the table, and its listener.

mod guarding;
mod relay;
mod scrape;

use std::{collections::HashSet, net::TcpListener, sync::Arc};

use actix_web::{
    HttpRequest,
    dev::Server,
    http::Method,
    web::{self, ServiceConfig},
};

use crate::{
    answer::{ApiError, ErrorCode, Family},
    connection::Terms,
    openapi::{Readers, openapi_under},
    route_table::route_table,
    routing::{
        RouteRow,
        dispatch::{dispatch, options, refuse},
        measure,
    },
    state::{AppState, Documents, HttpSettings, Services},
};
use guarding::Guarding;
pub use guarding::sockets_beside_connections;
use relay::Relay;
pub use scrape::{Measured, serve_measured};

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
    let guarding = Guarding {
        name: "quipu",
        workers,
        connections: settings.max_connections,
        shutdown_timeout: settings.shutdown_timeout,
        terms: Terms {
            trusted_proxies: settings.trusted_proxies.clone(),
            stall_timeout: settings.stall_timeout,
            clock: Arc::clone(&state.services.clock),
            entropy: Arc::clone(&state.services.entropy),
        },
    };
    guarding.serve(listener, move |config| add_routes(config, &route_table().collect::<Vec<_>>(), &state))
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
