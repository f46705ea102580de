//! quipu-tests
