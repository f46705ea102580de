//! The scenarios, one file a subject, each on both databases.

mod access;
mod balances;
mod books;
mod cancel;
mod cluster;
mod concurrency;
mod crash;
mod create;
mod deploy;
mod errors;
mod guides;
mod health;
mod hostile_input;
mod lists;
mod money;
mod newcomer;
mod operator;
mod pages;
mod references;
mod resets;
mod running;
mod shell;
mod simulator;
mod tickets;
mod traces;
mod webhooks;
