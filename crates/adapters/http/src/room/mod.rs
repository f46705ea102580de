//! Shows that there is room: a ticket-shaped answer, a page and a stream behind every kind of door, each with every family
//! of errors, in a table of their own.

#[path = "../../tests/edge/books.rs"]
mod books;
mod deprecated;
#[path = "../../tests/edge/desk.rs"]
mod desk;
mod families;
#[path = "../../tests/edge/hooks.rs"]
mod hooks;
#[path = "../../tests/edge/money.rs"]
mod money;
#[path = "../../tests/edge/pages.rs"]
mod pages;
mod streams;
mod table;
#[expect(dead_code, reason = "the room needs a part of the world only")]
#[path = "../../tests/edge/world.rs"]
mod world;
