//! Money moves: rails, callbacks, refunds, receipts, bank files.

mod provider_calls;
