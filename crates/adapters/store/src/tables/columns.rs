//! Describes the columns of a table once, and makes the statements for both databases.
//!
//! SQLite inserts one row at a time with a statement that is prepared once. PostgreSQL takes a whole batch in
//! one statement, with an array for each column. The arrays are unnested in the list of a `SELECT`, which
//! passes their elements on row by row; a `FROM` would first copy each into a table of its own.
//!
//! For a table `notes` with the key `id`, the fixed column `kind` that the database calls `type`, the moving column
//! `text`, and `revision` that counts writes, [`saved_columns!`] makes four statements. `rows::One` and `rows::Many`
//! insert, on SQLite and on PostgreSQL:
//!
//! ```sql
//! INSERT INTO notes (id, type, text, revision) VALUES (?, ?, ?, ?)
//!
//! INSERT INTO notes (id, type, text, revision) SELECT UNNEST ($1), UNNEST ($2), UNNEST ($3), UNNEST ($4)
//! ```
//!
//! `moves::One` and `moves::Many` update:
//!
//! ```sql
//! UPDATE notes SET text = ?, revision = ? WHERE id = ?
//!
//! WITH revisions AS (UPDATE notes AS old SET text = new.text, revision = new.revision
//!     FROM (SELECT UNNEST ($1) AS id, UNNEST ($2) AS text, UNNEST ($3) AS revision, UNNEST ($4) AS before) AS new
//!     WHERE old.id = new.id AND old.revision = new.before RETURNING TRUE)
//!     SELECT (COUNT(*) - $5)::information_schema.cardinal_number FROM revisions
//! ```

/// What stands before each item of a list in SQL: one text before the first, and another before every other.
pub(crate) struct Before {
    next: &'static str,
    others: &'static str,
}

impl Before {
    pub(crate) const fn each_of(first: &'static str, others: &'static str) -> Self {
        Self { next: first, others }
    }

    pub(crate) const fn next(&mut self) -> &'static str {
        std::mem::replace(&mut self.next, self.others)
    }
}

/// The name of a column, if it differs from that of the field.
macro_rules! column_name {
    ($col:ident) => {
        stringify!($col)
    };
    ($col:ident $name:literal) => {
        $name
    };
}

/// Makes a module `rows` with `One`, a row for SQLite, and `Many`, a batch for PostgreSQL, which can insert
/// as a part of a larger statement. Each column is a field: its name (`named "…"` if the database's differs),
/// its type in both databases, and its value from the source.
macro_rules! columns {
    (
        in $table:literal from ($line:ident: $source:ty) {
            $( $col:ident $(named $name:literal)? : $rust:ty as $sql:ty = $value:expr );+ $(;)?
        }
        $(then $suffix:literal $($bind:ident: $bind_rust:ty as $bind_sql:ty, $end:literal)?)?
        $(on a server between $before:literal and $behind:literal)?
    ) => {
        pub(crate) mod rows {
            #[allow(unused_imports, reason = "which of a table's imports its columns use differs")]
            use super::*;
            use $crate::tables::columns::{Before, column_name};
            use diesel::{query_builder::{AstPass, QueryFragment, QueryId}, sql_types::Array};

            pub(crate) struct One<'a> {
                $( $col: $rust, )+
                $($( $bind: $bind_rust, )?)?
                _source: std::marker::PhantomData<&'a ()>,
            }

            impl<'a> One<'a> {
                pub(crate) fn of($line: &'a $source $($(, $bind: $bind_rust)?)?) -> Self {
                    Self { $( $col: $value, )+ $($( $bind, )?)? _source: std::marker::PhantomData }
                }
            }

            impl QueryId for One<'_> {
                type QueryId = One<'static>;
                const HAS_STATIC_QUERY_ID: bool = true;
            }

            impl QueryFragment<diesel::sqlite::Sqlite> for One<'_> {
                fn walk_ast<'b>(
                    &'b self,
                    mut out: AstPass<'_, 'b, diesel::sqlite::Sqlite>,
                ) -> diesel::QueryResult<()> {
                    out.push_sql(concat!("INSERT INTO ", $table));
                    let mut mark = Before::each_of(" (", ", ");
                    $( out.push_sql(mark.next()); out.push_sql(column_name!($col $($name)?)); )+
                    out.push_sql(") VALUES");
                    let mut mark = Before::each_of(" (", ", ");
                    $( out.push_sql(mark.next()); out.push_bind_param::<$sql, _>(&self.$col)?; )+
                    out.push_sql(")");
                    $(
                        out.push_sql(concat!(" ", $suffix));
                        $( out.push_bind_param::<$bind_sql, _>(&self.$bind)?; out.push_sql($end); )?
                    )?
                    Ok(())
                }
            }

            impl<Conn> diesel::RunQueryDsl<Conn> for One<'_> {}

            pub(crate) struct Many<'a> {
                $( $col: Vec<$rust>, )+
                $($( $bind: $bind_rust, )?)?
                _source: std::marker::PhantomData<&'a ()>,
            }

            impl<'a> Many<'a> {
                pub(crate) fn of(
                    lines: impl Iterator<Item = &'a $source> + Clone
                    $($(, $bind: $bind_rust)?)?
                ) -> Self {
                    Self {
                        $( $col: lines.clone().map(|$line| -> $rust { let _ = $line; $value }).collect(), )+
                        $($( $bind, )?)?
                        _source: std::marker::PhantomData,
                    }
                }
            }

            impl QueryId for Many<'_> {
                type QueryId = Many<'static>;
                const HAS_STATIC_QUERY_ID: bool = true;
            }

            impl QueryFragment<diesel::pg::Pg> for Many<'_> {
                fn walk_ast<'b>(
                    &'b self,
                    mut out: AstPass<'_, 'b, diesel::pg::Pg>,
                ) -> diesel::QueryResult<()> {
                    out.push_sql(concat!($($before,)? "INSERT INTO ", $table));
                    let mut mark = Before::each_of(" (", ", ");
                    $( out.push_sql(mark.next()); out.push_sql(column_name!($col $($name)?)); )+
                    out.push_sql(") SELECT");
                    let mut mark = Before::each_of(" UNNEST (", "), UNNEST (");
                    $(
                        out.push_sql(mark.next());
                        out.push_bind_param::<Array<$sql>, _>(&self.$col)?;
                    )+
                    out.push_sql(")");
                    $(
                        out.push_sql(concat!(" ", $suffix));
                        $( out.push_bind_param::<$bind_sql, _>(&self.$bind)?; out.push_sql($end); )?
                    )?
                    $( out.push_sql($behind); )?
                    Ok(())
                }
            }

            impl<Conn> diesel::RunQueryDsl<Conn> for Many<'_> {}
        }
    };
}

/// Like `columns!`, for rows that are written again: a module `moves` beside `rows` updates the `moving`
/// columns of the row with this `key`. If writes are `counted`, an update on PostgreSQL fails unless every
/// row exists and has the count `from` which it is to go on: the statement ends in the number of missing
/// rows, as a value that must not be negative.
macro_rules! saved_columns {
    (
        in $table:literal from ($line:ident: $source:ty)
        key { $( $key:ident : $key_rust:ty as $key_sql:ty = $key_value:expr );+ $(;)? }
        fixed { $( $fix:ident $(named $fix_name:literal)? : $fix_rust:ty as $fix_sql:ty = $fix_value:expr );* $(;)? }
        moving { $( $col:ident $(named $name:literal)? : $rust:ty as $sql:ty = $value:expr );+ $(;)? }
        $(counted { $count:ident: $count_rust:ty as $count_sql:ty = $count_value:expr, from $from:expr; })?
        $(inserted on a server between $before:literal and $behind:literal)?
    ) => {
        $crate::tables::columns::columns! {
            in $table from ($line: $source) {
                $( $key: $key_rust as $key_sql = $key_value; )+
                $( $fix $(named $fix_name)?: $fix_rust as $fix_sql = $fix_value; )*
                $( $col $(named $name)?: $rust as $sql = $value; )+
                $( $count: $count_rust as $count_sql = $count_value; )?
            }
            $(on a server between $before and $behind)?
        }

        pub(crate) mod moves {
            #[allow(unused_imports, reason = "which of a table's imports its columns use differs")]
            use super::*;
            use $crate::tables::columns::{Before, column_name};
            use diesel::{query_builder::{AstPass, QueryFragment, QueryId}, sql_types::Array};

            pub(crate) struct One<'a> {
                $( $key: $key_rust, )+
                $( $col: $rust, )+
                $( $count: $count_rust, )?
                _source: std::marker::PhantomData<&'a ()>,
            }

            impl<'a> One<'a> {
                pub(crate) fn of($line: &'a $source) -> Self {
                    Self {
                        $( $key: $key_value, )+
                        $( $col: $value, )+
                        $( $count: $count_value, )?
                        _source: std::marker::PhantomData,
                    }
                }
            }

            impl QueryId for One<'_> {
                type QueryId = One<'static>;
                const HAS_STATIC_QUERY_ID: bool = true;
            }

            impl QueryFragment<diesel::sqlite::Sqlite> for One<'_> {
                fn walk_ast<'b>(
                    &'b self,
                    mut out: AstPass<'_, 'b, diesel::sqlite::Sqlite>,
                ) -> diesel::QueryResult<()> {
                    out.push_sql(concat!("UPDATE ", $table));
                    let mut mark = Before::each_of(" SET ", ", ");
                    $(
                        out.push_sql(mark.next());
                        out.push_sql(column_name!($col $($name)?));
                        out.push_sql(" = ");
                        out.push_bind_param::<$sql, _>(&self.$col)?;
                    )+
                    $(
                        out.push_sql(concat!(", ", stringify!($count), " = "));
                        out.push_bind_param::<$count_sql, _>(&self.$count)?;
                    )?
                    let mut mark = Before::each_of(" WHERE ", " AND ");
                    $(
                        out.push_sql(mark.next());
                        out.push_sql(concat!(stringify!($key), " = "));
                        out.push_bind_param::<$key_sql, _>(&self.$key)?;
                    )+
                    Ok(())
                }
            }

            impl<Conn> diesel::RunQueryDsl<Conn> for One<'_> {}

            pub(crate) struct Many<'a> {
                $( $key: Vec<$key_rust>, )+
                $( $col: Vec<$rust>, )+
                $( $count: Vec<$count_rust>, before: Vec<$count_rust>, rows: i64, )?
                _source: std::marker::PhantomData<&'a ()>,
            }

            impl<'a> Many<'a> {
                pub(crate) fn of(lines: impl Iterator<Item = &'a $source> + Clone) -> Self {
                    Self {
                        $( $key: lines.clone().map(|$line| -> $key_rust { let _ = $line; $key_value }).collect(), )+
                        $( $col: lines.clone().map(|$line| -> $rust { let _ = $line; $value }).collect(), )+
                        $(
                            $count: lines.clone().map(|$line| -> $count_rust { $count_value }).collect(),
                            before: lines.clone().map(|$line| -> $count_rust { $from }).collect(),
                            rows: i64::try_from(lines.clone().count()).unwrap_or(i64::MAX),
                        )?
                        _source: std::marker::PhantomData,
                    }
                }
            }

            impl QueryId for Many<'_> {
                type QueryId = Many<'static>;
                const HAS_STATIC_QUERY_ID: bool = true;
            }

            impl QueryFragment<diesel::pg::Pg> for Many<'_> {
                fn walk_ast<'b>(
                    &'b self,
                    mut out: AstPass<'_, 'b, diesel::pg::Pg>,
                ) -> diesel::QueryResult<()> {
                    $( out.push_sql(concat!("WITH ", stringify!($count), "s AS (")); )?
                    out.push_sql(concat!("UPDATE ", $table, " AS old"));
                    let mut mark = Before::each_of(" SET ", ", ");
                    $(
                        out.push_sql(mark.next());
                        out.push_sql(column_name!($col $($name)?));
                        out.push_sql(" = new.");
                        out.push_sql(column_name!($col $($name)?));
                    )+
                    $(
                        out.push_sql(concat!(", ", stringify!($count), " = new.", stringify!($count)));
                    )?
                    let mut mark = Before::each_of(" FROM (SELECT UNNEST (", ", UNNEST (");
                    $(
                        out.push_sql(mark.next());
                        out.push_bind_param::<Array<$key_sql>, _>(&self.$key)?;
                        out.push_sql(concat!(") AS ", stringify!($key)));
                    )+
                    $(
                        out.push_sql(mark.next());
                        out.push_bind_param::<Array<$sql>, _>(&self.$col)?;
                        out.push_sql(") AS ");
                        out.push_sql(column_name!($col $($name)?));
                    )+
                    $(
                        for (name, counts) in [(stringify!($count), &self.$count), ("before", &self.before)] {
                            out.push_sql(mark.next());
                            out.push_bind_param::<Array<$count_sql>, _>(counts)?;
                            out.push_sql(") AS ");
                            out.push_sql(name);
                        }
                    )?
                    let mut mark = Before::each_of(") AS new WHERE ", " AND ");
                    $(
                        out.push_sql(mark.next());
                        out.push_sql(concat!("old.", stringify!($key), " = new.", stringify!($key)));
                    )+
                    $(
                        out.push_sql(concat!(" AND old.", stringify!($count), " = new.before RETURNING TRUE)"));
                        out.push_sql(" SELECT (COUNT(*) - ");
                        out.push_bind_param::<diesel::sql_types::BigInt, _>(&self.rows)?;
                        out.push_sql(concat!(")::information_schema.cardinal_number FROM ", stringify!($count), "s"));
                    )?
                    Ok(())
                }
            }

            impl<Conn> diesel::RunQueryDsl<Conn> for Many<'_> {}
        }
    };
}

pub(crate) use {column_name, columns, saved_columns};
