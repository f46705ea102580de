//! Tickets: what merchants and support do with them, what is told of them, and the files that come with them.

mod comments;
mod desk;
mod events;
mod files;
mod hostile_files;
mod lists;
mod many_files;
mod moments;
mod moves;
mod opening;
mod support;
mod time;
