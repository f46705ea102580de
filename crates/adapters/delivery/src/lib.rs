#![doc = include_str!("../README.md")]

mod board;
mod claims;
mod connect;
mod courier;
mod dispatcher;
mod endpoint_queue;
mod fetch;
mod guard;
mod in_hand;
mod kept;
mod merchant;
pub mod metric_names;
mod pace;
mod recent_changes;
mod recorder;
mod resolver;
mod rounds;
mod sender;
mod stale;

pub use connect::Resolve;
pub use courier::{HttpCourier, NoTls};
pub use dispatcher::Dispatcher;
pub use guard::is_public;
pub use in_hand::Parts;
pub use merchant::MOST_AT_ONCE;
pub use sender::SenderSettings;
