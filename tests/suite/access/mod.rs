//! Who may call: signatures, tokens, keys, scopes, limits, repeats, and what stays secret.

mod credentials;
mod idempotency;
mod isolation;
mod keys;
mod late_bodies;
mod limits;
mod people;
mod redis;
mod repeats;
mod replay;
mod rotation;
mod routes;
mod scopes;
mod secrets;
mod signatures;
mod signers;
mod tokens;
