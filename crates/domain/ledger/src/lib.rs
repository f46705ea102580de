//! quipu-ledger
