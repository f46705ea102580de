//! The schema itself: the triggers that keep the books append-only, constraints and indexes, and SQLite's own pages.

use diesel::{
    Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection, result::Error, sql_query,
    sql_types::Text,
};
use quipu_ledger::Breach;

use super::LISTED;
use crate::{connection::Connection, error::Fault, migrate};

pub(super) const SCHEMA: &str = "schema_as_migrated";
pub(super) const FILE: &str = "file_integrity";
/// What SQLite says of a file whose pages are not as it wrote them.
const DAMAGED: [&str; 2] = ["malformed", "not a database"];

/// A part of the schema, with its definition.
#[derive(Debug, PartialEq, Eq, QueryableByName)]
struct Item {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    definition: String,
}

const EMBEDDED: &str =
    "SELECT type || ' ' || name AS name, COALESCE(sql, '') AS definition FROM sqlite_schema
    WHERE type = 'trigger' OR name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name <> '__diesel_schema_migrations' ORDER BY 1";

/// Tables with their columns, triggers with their events and functions, rules, constraints and indexes with their kinds and
/// columns, of a server; one that is disabled or invalid counts as changed. Each release writes definitions in its own way, so
/// the text of a condition is not compared.
fn of_server() -> String {
    let (of_trigger, of_constraint, of_index) = (
        columns("CAST(tgattr AS TEXT)", "tgrelid"),
        columns("array_to_string(conkey, ' ')", "conrelid"),
        columns("CAST(indkey AS TEXT)", "indrelid"),
    );
    format!(
        "SELECT 'table ' || relname AS name,
            CASE relpersistence WHEN 'p' THEN '' ELSE 'not lasting ' END
                || CASE WHEN relrowsecurity THEN 'with policies ' ELSE '' END
                || (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod)
                        || CASE WHEN attnotnull THEN ' not null' ELSE '' END, ', ' ORDER BY attname)
                    FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped) AS definition
        FROM pg_class WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)
        UNION ALL
        SELECT 'rule ' || relname || '.' || rulename, CAST(ev_type AS TEXT)
        FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
        WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)
        UNION ALL
        SELECT 'trigger ' || relname || '.' || tgname,
            CAST(tgenabled AS TEXT) || ' ' || CAST(tgtype AS TEXT) || {of_trigger}
                || CASE WHEN tgqual IS NULL THEN ' ' ELSE ' conditional ' END || md5(prosrc)
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE NOT tgisinternal AND relnamespace = CAST(current_schema() AS regnamespace)
        UNION ALL
        SELECT 'constraint ' || owner.relname || '.' || conname,
            CASE WHEN convalidated AND NOT EXISTS (SELECT FROM pg_trigger
                    WHERE tgconstraint = pg_constraint.oid AND tgenabled <> 'O') THEN 'valid ' ELSE 'not valid ' END
                || CAST(contype AS TEXT) || {of_constraint}
                || COALESCE(' of ' || other.relname, '')
        FROM pg_constraint JOIN pg_class AS owner ON owner.oid = conrelid
            LEFT JOIN pg_class AS other ON other.oid = confrelid
        WHERE owner.relnamespace = CAST(current_schema() AS regnamespace) AND contype IN ('c', 'f', 'p', 'u')
        UNION ALL
        SELECT 'index ' || relname, CASE WHEN indisvalid AND indisready THEN 'valid' ELSE 'not valid' END
            || CASE WHEN indisunique THEN ' unique' ELSE '' END || {of_index}
            || CASE WHEN indpred IS NULL THEN '' ELSE ' conditional' END
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = CAST(current_schema() AS regnamespace)
        ORDER BY 1"
    )
}

/// The names of columns from their numbers, which are a text; an expression has the number 0.
fn columns(numbers: &str, relation: &str) -> String {
    format!(
        "(SELECT COALESCE(string_agg(' ' || COALESCE(attname, 'expression'), '' ORDER BY place), '')
        FROM unnest(CAST(string_to_array({numbers}, ' ') AS INT[])) WITH ORDINALITY AS listed (number, place)
            LEFT JOIN pg_attribute ON attrelid = {relation} AND attnum = number)"
    )
}

/// The parts that a migrated server has, one a line.
const OF_SERVER: &str = include_str!("server_schema.txt");

/// The parts of the schema that are missing or changed. A newer release may have added to tables, and made indexes,
/// constraints and triggers of its own; after its migrations only the triggers are compared that this release expects.
pub(super) async fn compared(conn: &mut Connection) -> Result<Vec<Breach>, Fault> {
    let (expected, found) = described(conn).await?;
    if !migrate::is_newer(conn).await? {
        return Ok(differences(&expected, &found));
    }
    let triggers: Vec<_> = expected.into_iter().filter(is_trigger).collect();
    let found: Vec<_> =
        found.into_iter().filter(|item| triggers.iter().any(|own| own.name == item.name)).collect();
    Ok(differences(&triggers, &found))
}

fn is_trigger(item: &Item) -> bool {
    item.name.starts_with("trigger ")
}

/// The parts that a migrated database has, and those that this one has.
async fn described(conn: &mut Connection) -> Result<(Vec<Item>, Vec<Item>), Fault> {
    match conn {
        Connection::Sqlite(conn) => {
            let unmade = |error: &dyn std::fmt::Display| Fault::Unconnected(error.to_string());
            let mut model = SqliteConnection::establish(":memory:").map_err(|error| unmade(&error))?;
            migrate::make_embedded(&mut model).map_err(|error| unmade(&error))?;
            let expected: Vec<Item> = sql_query(EMBEDDED).load(&mut model)?;
            Ok((expected, sql_query(EMBEDDED).load(conn)?))
        }
        Connection::Postgres(conn) => {
            let found: Vec<Item> =
                diesel_async::RunQueryDsl::load(sql_query(of_server()), &mut ***conn).await?;
            let found = found.into_iter().filter(|item| !NOT_OURS.contains(&&*item.name)).collect();
            Ok((expected_of_server(), found))
        }
    }
}

fn expected_of_server() -> Vec<Item> {
    let item = |line: &str| {
        let (name, definition) = line.split_once('\t')?;
        Some(Item { name: name.to_owned(), definition: definition.to_owned() })
    };
    OF_SERVER.lines().filter_map(item).collect()
}

/// Parts of a server that are not compared: the index for the search of tickets exists only where its extension is allowed, and
/// the list of migrations belongs to the library.
const NOT_OURS: [&str; 4] = [
    "index tickets_by_text",
    "table __diesel_schema_migrations",
    "constraint __diesel_schema_migrations.__diesel_schema_migrations_pkey",
    "index __diesel_schema_migrations_pkey",
];

fn differences(expected: &[Item], found: &[Item]) -> Vec<Breach> {
    let breach = |item: &Item, detail: &str| Breach {
        invariant: SCHEMA,
        subject: item.name.clone(),
        detail: detail.to_owned(),
    };
    let missing =
        expected.iter().filter_map(|item| match found.iter().find(|other| other.name == item.name) {
            None => Some(breach(item, "is missing")),
            Some(other) if plain(&other.definition) != plain(&item.definition) => {
                Some(breach(item, "was changed"))
            }
            Some(_) => None,
        });
    let added = found.iter().filter(|item| !expected.iter().any(|other| other.name == item.name));
    // One more table or index changes nothing in the others; a trigger or a rule might.
    let acts = |item: &&Item| is_trigger(item) || item.name.starts_with("rule ");
    let added = added.filter(acts).map(|item| breach(item, "was added"));
    missing.chain(added).take(LISTED).collect()
}

/// A definition without comments, and with one space wherever there is any, both outside of quotes.
fn plain(definition: &str) -> String {
    let (mut plain, mut rest) = (String::new(), definition);
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("--");
        let length = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if is_comment => rest.find('\n').unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        if !is_comment && !first.is_whitespace() {
            plain.push_str(piece);
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
        rest = after;
    }
    plain.trim().to_owned()
}

#[derive(QueryableByName)]
struct Finding {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

/// SQLite's own check of every page, row, index and constraint.
pub(super) fn of_file(conn: &mut Connection) -> Result<Vec<Breach>, Fault> {
    let Connection::Sqlite(conn) = conn else { return Ok(Vec::new()) };
    let findings = match sql_query(format!("PRAGMA integrity_check({LISTED})")).load::<Finding>(conn) {
        // It ends with an error where damage keeps it from reading on.
        Err(Error::DatabaseError(_, told)) if DAMAGED.iter().any(|word| told.message().contains(word)) => {
            vec![Finding { integrity_check: told.message().to_owned() }]
        }
        findings => findings?,
    };
    let broken = findings.into_iter().filter(|finding| finding.integrity_check != "ok");
    Ok(broken
        .map(|finding| Breach {
            invariant: FILE,
            subject: "the database".to_owned(),
            detail: finding.integrity_check,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_no_change_and_a_rule_is() {
        let item =
            |definition: &str| [Item { name: "table t".to_owned(), definition: definition.to_owned() }];
        let migrated = item("CREATE TABLE t (a TEXT CHECK (a <> ''))");
        let commented = item("CREATE TABLE t ( -- a letter\n    a TEXT CHECK (a <> ''))");
        assert_eq!(plain("a --b\n  c"), "a c");
        assert_eq!(plain("a  '--b\n  c'' --\"' \"d  e\" --f"), "a '--b\n  c'' --\"' \"d  e\"");
        assert!(differences(&commented, &item("CREATE TABLE t ( a TEXT CHECK (a <> ''))")).is_empty());
        for other in ["CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT CHECK (a <> 'b'))"] {
            assert_eq!(differences(&migrated, &item(other))[0].detail, "was changed");
        }
        assert_eq!(differences(&migrated, &[])[0].detail, "is missing");
        assert!(differences(&[], &migrated).is_empty(), "one more table changes nothing");
    }
}
