//! The table of the example in the front of `columns.rs`, which is held to be true here.

use diesel::{
    debug_query,
    pg::Pg,
    query_builder::QueryFragment,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};

use super::columns::saved_columns;

pub(crate) struct Note {
    id: i64,
    kind: &'static str,
    text: &'static str,
    revision: i64,
}

saved_columns! {
    in "notes" from (line: Note)
    key { id: i64 as BigInt = line.id; }
    fixed { kind named "type": &'a str as Text = line.kind; }
    moving { text: &'a str as Text = line.text; }
    counted { revision: i64 as BigInt = line.revision, from line.revision - 1; }
}

fn in_file(query: &impl QueryFragment<Sqlite>) -> String {
    debug_query::<Sqlite, _>(query).to_string()
}

fn on_server(query: &impl QueryFragment<Pg>) -> String {
    debug_query::<Pg, _>(query).to_string()
}

#[test]
fn the_statements_are_those_that_the_front_of_the_file_shows() {
    let notes = [Note { id: 7, kind: "private", text: "Pay Ada", revision: 2 }];
    let [note] = &notes;
    let doc = include_str!("columns.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let shown: Vec<&str> = doc.flat_map(str::split_whitespace).collect();
    for made in [
        in_file(&rows::One::of(note)),
        on_server(&rows::Many::of(notes.iter())),
        in_file(&moves::One::of(note)),
        on_server(&moves::Many::of(notes.iter())),
    ] {
        let (sql, _binds) = made.split_once(" -- ").expect("the parameters follow");
        assert!(shown.join(" ").contains(sql), "{sql}");
    }
}
