//! quipu-http
