//! The contract of every port, run whole on both databases; and on the store in memory as far as it has the ports.

mod chain;
mod claims;
mod commits;
mod customers;
mod days;
mod deadlines;
mod deliveries;
mod directory;
mod failover;
mod faults;
mod fixture;
mod groups;
mod histories;
mod ledger;
mod lists;
mod locked;
mod meanwhile;
mod nodes;
mod once;
mod outages;
mod owed;
mod proxy;
mod pruning;
mod sample;
mod staff;
mod together;
