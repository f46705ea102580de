//! Who may call: keys, signatures, tokens, rate limits, idempotency, isolation.

mod idempotency;
mod keys;
mod limits;
mod secrets;
mod signatures;
mod surface;
mod tokens;
