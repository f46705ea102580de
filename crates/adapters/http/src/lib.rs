#![doc = include_str!("../README.md")]

// The tests in `room` share their world with the integration tests, which see this crate from outside.
#[cfg(test)]
extern crate self as quipu_http;

mod access;
mod body;
mod call;
mod callbacks;
mod caller;
mod connection;
mod content;
mod deprecation;
mod dispatch;
mod docs;
mod entrance;
mod envelope;
mod error;
mod error_code;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guarding;
mod health;
mod json;
mod kept_answer;
mod key_uses;
mod long_answers;
mod lookups;
mod measure;
mod memory;
mod minter;
mod openapi;
mod operation;
mod operator;
mod pages;
mod pressure;
mod proxies;
mod query;
mod readiness;
mod relay;
mod reply;
mod request_id;
#[cfg(test)]
mod room;
mod route_table;
mod row;
mod samples;
mod scrape;
mod sending;
mod server;
mod settings;
mod shape;
mod state;
mod stop;
mod tokens;
mod v1;
mod viewing;

pub use access::Credentials;
pub use actix_web::dev::Server;
pub use error_code::ErrorCode;
pub use guarding::sockets_beside_connections;
pub use key_uses::KeyUses;
pub use minter::KeyringMinter;
pub use openapi::{Readers, openapi};
pub use quipu_pages::FrontLink;
pub use readiness::{Part, Readiness};
pub use route_table::route_table;
pub use row::RouteRow;
pub use scrape::{Measured, serve_measured};
pub use server::{configure, serve};
pub use settings::HttpSettings;
pub use shape::Family;
pub use state::{Services, Webhooks};
pub use stop::Stop;
pub use viewing::{
    services::PageServices,
    viewers::{ViewerLimits, Viewers},
};
