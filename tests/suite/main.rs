//! The scenarios, one file a subject. What a database has a say in runs on both (`on_both_databases!`). The rest runs on one: what
//! needs several nodes or a server that fails on PostgreSQL; what is of the embedded file, and what ends before the database (limits,
//! pages' words, connections, traces, guides), on SQLite.

mod access;
mod backup;
mod balances;
mod bodies;
mod books;
mod cancel;
mod cluster;
mod concurrency;
mod connections;
mod crash;
mod create;
mod database_file;
mod deploy;
mod errors;
mod guides;
mod health;
mod hostile_input;
mod lists;
mod money;
mod newcomer;
mod observed;
mod operator;
mod pages;
mod patience;
mod point_in_time;
mod references;
mod resets;
mod rolling;
mod running;
mod shell;
mod silent_viewers;
mod simulator;
mod snippets;
mod staff_values;
mod tickets;
mod tls;
mod traces;
mod webhooks;
