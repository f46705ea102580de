//! quipu-merchants
