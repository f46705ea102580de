//! The edge, driven as an application over ports in memory: who is let in, what they are told, in which shape.

mod books;
mod desk;
mod directory;
mod errors;
mod limits;
mod operator;
mod payments;
mod scopes;
mod signed;
mod sockets;
mod tokens;
mod world;
