//! Finds the holders of unique names.

/// Makes a `NameTable` from the column of the name, the condition under which the name is held, and the
/// column of the holder. If several rows have the name, the least holder counts.
macro_rules! held_names {
    (
        $(#[$doc:meta])*
        $name:ident of $index:expr, in $table:literal by $column:literal $(where $condition:literal)?,
        held by $holder:literal: $rust:ty as $sql:ty => $wrap:expr, within $module:ident
    ) => {
        $(#[$doc])*
        pub(crate) struct $name;

        mod $module {
            use diesel::sql_types::{Array, BigInt, Text};

            type Found = (BigInt, $sql);

            $crate::statement::statement! { FindHolder on diesel::sqlite::Sqlite => $sql {
                concat!("SELECT ", $holder, " FROM ", $table, " WHERE merchant_id = ") => merchant: i64 as BigInt,
                " AND environment = " => environment: &'a str as Text,
                concat!(" AND ", $column, " = ") => name: &'a str as Text ;
                concat!($(" AND ", $condition,)? " ORDER BY ", $holder, " LIMIT 1")
            } }

            $crate::statement::statement! { FindHolders on diesel::pg::Pg => Found {
                "SELECT wanted.place, found.holder FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
                ", " => environments: Vec<&'a str> as Array<Text>, ", " => names: Vec<&'a str> as Array<Text> ;
                concat!(") WITH ORDINALITY AS wanted (merchant_id, environment, name, place)
                    CROSS JOIN LATERAL (SELECT ", $holder, " AS holder FROM ", $table, " AS held
                        WHERE held.merchant_id = wanted.merchant_id AND held.environment = wanted.environment
                            AND held.", $column, " = wanted.name", $(" AND ", $condition,)? "
                        ORDER BY ", $holder, " LIMIT 1) AS found")
            } }
        }

        impl $crate::tables::table::NameTable for $name {
            fn index(&self) -> quipu_commit::Index {
                $index
            }

            fn holder_sqlite(
                &self,
                conn: &mut diesel::SqliteConnection,
                tenant: quipu_kernel::Tenant,
                name: &str,
            ) -> diesel::QueryResult<Option<quipu_commit::Holder>> {
                let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
                let found = $module::FindHolder { merchant, environment, name };
                let holder: diesel::QueryResult<$rust> = diesel::RunQueryDsl::get_result(found, conn);
                Ok(diesel::OptionalExtension::optional(holder)?.map($wrap))
            }

            fn holders_postgres<'c>(
                &self,
                conn: &'c diesel_async::AsyncPgConnection,
                names: &'c [(quipu_kernel::Tenant, &'c str)],
            ) -> futures_util::future::BoxFuture<'c, diesel::QueryResult<Vec<(i64, quipu_commit::Holder)>>> {
                let statement = $module::FindHolders {
                    merchants: names.iter().map(|(tenant, _)| tenant.merchant().0).collect(),
                    environments: names.iter().map(|(tenant, _)| tenant.environment().as_str()).collect(),
                    names: names.iter().map(|(_, name)| *name).collect(),
                };
                Box::pin(async move {
                    let found: Vec<(i64, $rust)> =
                        diesel_async::RunQueryDsl::load(statement, &mut &*conn).await?;
                    Ok(found.into_iter().map(|(place, holder)| (place, $wrap(holder))).collect())
                })
            }
        }
    };
}

pub(crate) use held_names;
