//! quipu-payments
