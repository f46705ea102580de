//! Tests that the route table supports every combination: each kind of access with a ticket answer, a page and a stream, and
//! each family of errors.

#[path = "../../tests/edge/all_payments.rs"]
mod all_payments;
#[path = "../../tests/edge/books.rs"]
mod books;
mod deprecated;
#[path = "../../tests/edge/desk.rs"]
mod desk;
mod families;
#[path = "../../tests/edge/hooks.rs"]
mod hooks;
#[path = "../../tests/edge/pages.rs"]
mod pages;
mod streams;
mod table;
#[expect(dead_code, reason = "the matrix needs a part of the world only")]
#[path = "../../tests/edge/world.rs"]
mod world;
