//! quipu-store
