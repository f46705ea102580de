//! quipu-limits
