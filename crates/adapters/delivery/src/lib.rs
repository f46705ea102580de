#![doc = include_str!("../README.md")]

mod connect;
mod courier;
mod guard;
#[cfg(test)]
mod hostile;
mod sender;

pub use connect::{Resolve, SystemResolver};
pub use courier::{HttpCourier, NoTls};
pub use sender::SenderSettings;
