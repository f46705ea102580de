#![doc = include_str!("../README.md")]

mod event;
mod name;

pub use event::{Event, EventStatus};
pub use name::EventName;
