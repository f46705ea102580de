//! quipu-rails
