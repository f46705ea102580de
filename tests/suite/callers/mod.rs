//! Who may call: keys, signatures, tokens, rate limits, idempotency, isolation.

mod idempotency;
mod isolation;
mod keys;
mod limits;
mod secrets;
mod signatures;
mod tokens;
