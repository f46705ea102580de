#![doc = include_str!("../README.md")]

mod board;
mod claims;
mod connect;
mod courier;
mod dispatcher;
mod endpoint_queue;
mod guard;
#[cfg(test)]
mod hostile;
mod in_hand;
mod kept;
mod merchant;
#[cfg(test)]
mod over_http2;
mod pace;
mod recent_changes;
mod recorder;
mod resolver;
mod rounds;
mod sender;
mod stale;
#[cfg(test)]
mod unreachable;

pub use connect::Resolve;
pub use courier::{HttpCourier, NoTls};
pub use dispatcher::Dispatcher;
pub use guard::is_public;
pub use in_hand::Parts;
pub use merchant::MOST_AT_ONCE;
pub use resolver::SystemResolver;
pub use sender::SenderSettings;
