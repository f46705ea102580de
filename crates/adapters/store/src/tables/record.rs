//! Connects a type of record with its table.

/// Makes a `Table` from a file's `rows`. With `saved as` it makes a `SavedTable` from its `moves` too; the
/// keys of such a table are `merchant_id`, `environment` and `id`, and its `revision` counts the writes of a
/// row.
macro_rules! record_table {
    (
        $(#[$doc:meta])*
        $name:ident keeps $record:ty
        $(, prepared by $prepare:expr)?
        $(, saved as $aggregate:expr, in $table:literal)?
    ) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl $crate::tables::table::Table for $name {
            fn keeps(&self) -> std::any::TypeId {
                std::any::TypeId::of::<$record>()
            }

            $(
                fn prepare(&self, record: &dyn quipu_commit::Record) -> String {
                    let record = (record as &dyn std::any::Any).downcast_ref::<$record>();
                    record.map($prepare).unwrap_or_default()
                }
            )?

            fn insert_sqlite(
                &self,
                conn: &mut diesel::SqliteConnection,
                line: &$crate::tables::table::Line<'_>,
            ) -> diesel::QueryResult<()> {
                diesel::RunQueryDsl::execute(rows::One::of(line), conn).map(drop)
            }

            fn insert_postgres<'c>(
                &self,
                conn: &'c diesel_async::AsyncPgConnection,
                lines: &'c [$crate::tables::table::Line<'c>],
            ) -> futures_util::future::BoxFuture<'c, diesel::QueryResult<()>> {
                let statement = rows::Many::of(lines.iter());
                Box::pin(async move {
                    diesel_async::RunQueryDsl::execute(statement, &mut &*conn).await.map(drop)
                })
            }
        }

        $(
            $crate::tables::record::saved_table! { $name, $aggregate, $table }
        )?
    };
}

macro_rules! saved_table {
    ($name:ident, $aggregate:expr, $table:literal) => {
        mod standing {
            use diesel::sql_types::{Array, BigInt, Text};

            type Found = (BigInt, BigInt);

            $crate::statement::statement! { FindRevision on diesel::sqlite::Sqlite => BigInt {
                concat!("SELECT revision FROM ", $table, " WHERE merchant_id = ") => merchant: i64 as BigInt,
                " AND environment = " => environment: &'a str as Text, " AND id = " => id: &'a str as Text ; ""
            } }

            $crate::statement::statement! { LockRows on diesel::pg::Pg => Found {
                "SELECT wanted.place, found.revision FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
                ", " => environments: Vec<&'a str> as Array<Text>, ", " => ids: Vec<&'a str> as Array<Text> ;
                concat!(") WITH ORDINALITY AS wanted (merchant_id, environment, id, place) JOIN ", $table, " AS found
                    ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
                    AND found.id = wanted.id ORDER BY wanted.place FOR UPDATE OF found")
            } }
        }

        impl $crate::tables::table::SavedTable for $name {
            fn aggregate(&self) -> quipu_commit::Aggregate {
                $aggregate
            }

            fn update_sqlite(
                &self,
                conn: &mut diesel::SqliteConnection,
                line: &$crate::tables::table::Line<'_>,
            ) -> diesel::QueryResult<()> {
                diesel::RunQueryDsl::execute(moves::One::of(line), conn).map(drop)
            }

            fn update_postgres<'c>(
                &self,
                conn: &'c diesel_async::AsyncPgConnection,
                lines: &'c [$crate::tables::table::Line<'c>],
            ) -> futures_util::future::BoxFuture<'c, diesel::QueryResult<()>> {
                let statement = moves::Many::of(lines.iter());
                Box::pin(async move {
                    diesel_async::RunQueryDsl::execute(statement, &mut &*conn).await.map(drop)
                })
            }

            fn revision_sqlite(
                &self,
                conn: &mut diesel::SqliteConnection,
                tenant: quipu_kernel::Tenant,
                id: &str,
            ) -> diesel::QueryResult<Option<i64>> {
                let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
                let found = standing::FindRevision { merchant, environment, id };
                diesel::OptionalExtension::optional(diesel::RunQueryDsl::get_result(found, conn))
            }

            fn lock_postgres<'c>(
                &self,
                conn: &'c diesel_async::AsyncPgConnection,
                keys: &'c [(quipu_kernel::Tenant, &'c str)],
            ) -> futures_util::future::BoxFuture<'c, diesel::QueryResult<Vec<(i64, i64)>>> {
                let statement = standing::LockRows {
                    merchants: keys.iter().map(|(tenant, _)| tenant.merchant().0).collect(),
                    environments: keys.iter().map(|(tenant, _)| tenant.environment().as_str()).collect(),
                    ids: keys.iter().map(|(_, id)| *id).collect(),
                };
                Box::pin(diesel_async::RunQueryDsl::load(statement, &mut &*conn))
            }
        }
    };
}

pub(crate) use {record_table, saved_table};
