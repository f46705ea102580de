#![doc = include_str!("../README.md")]

mod link;
mod local;
mod redis_limiter;
mod script;
mod sliding;

pub use local::LocalLimiter;
pub use redis_limiter::{BadRedisUrl, RedisLimiter};
