//! The contract of every port, run whole on both databases.

mod commits;
mod fixture;
mod sample;
