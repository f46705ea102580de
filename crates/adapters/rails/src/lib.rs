#![doc = include_str!("../README.md")]

mod clabe;
mod manual;
mod simulated_instructions;
mod simulator;
mod steering;

#[cfg(test)]
mod samples;

pub use manual::Manual;
pub use simulator::Simulator;
