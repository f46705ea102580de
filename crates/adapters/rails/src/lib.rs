#![doc = include_str!("../README.md")]

mod clabe;
mod http;
mod manual;
pub mod metric_names;
mod simulated_instructions;
mod simulator;
mod steering;

#[cfg(test)]
mod samples;

pub use http::{HttpRail, read_answer};
pub use manual::Manual;
pub use simulator::Simulator;
