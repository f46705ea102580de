//! quipu-webhooks
