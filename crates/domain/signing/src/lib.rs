//! quipu-signing
