//! The edge, driven as an application over ports in memory: who is let in, what they are told, in which shape.

mod all_payments;
mod books;
mod create;
mod crowds;
mod desk;
mod docs;
mod errors;
mod hooks;
mod limits;
mod operator;
mod pages;
mod payments;
mod pipelines;
mod running;
mod scopes;
mod scrape;
mod shop;
mod signed;
mod sockets;
mod tables;
mod tokens;
mod world;
