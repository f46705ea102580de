#![doc = include_str!("../README.md")]

// The tests in `route_matrix` share their world with the integration tests, which see this crate from outside.
#[cfg(test)]
extern crate self as quipu_http;

mod answer;
mod callbacks;
mod caller;
mod connection;
mod docs;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod kept_answer;
pub mod metric_names;
mod openapi;
mod operator;
mod pages;
mod request;
#[cfg(test)]
mod route_matrix;
mod route_table;
mod routing;
mod server;
mod state;
mod stop;
mod v1;
mod viewing;

pub use actix_web::dev::Server;
pub use openapi::{Readers, openapi};
pub use quipu_pages::FrontLink;
pub use route_table::route_table;
pub use routing::{Credentials, RouteRow};
pub use server::{Measured, configure, serve, serve_measured, sockets_beside_connections};
pub use state::{HttpSettings, KeyUses, Part, Readiness, Services, Webhooks};
pub use stop::Stop;
pub use viewing::{
    services::PageServices,
    viewers::{ViewerLimits, Viewers},
};
