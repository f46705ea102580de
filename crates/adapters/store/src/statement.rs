//! Statements written by hand, for the few that run the most.
//!
//! Diesel builds and prepares every `UPDATE` and every upsert anew. A statement with a static identity is prepared once
//! for each connection and found again without building its text.
//!
//! A limit that is a parameter is written `LIMIT 0 + `: SQLite looks at the value of a bare one, and prepares
//! the statement again for each. A bare one does not compile.

/// Declares a statement as a struct whose fields are its parameters: text => parameter, text => parameter, …;
/// text. If it returns rows, their type follows the backend.
macro_rules! statement {
    ($(#[$doc:meta])* $name:ident on $backend:ty { ; $sql:expr }) => {
        $(#[$doc])*
        pub(crate) struct $name;

        $crate::statement::statement! { @impl ($name) ($name) $backend { ; $sql } }
    };
    ($(#[$doc:meta])* $name:ident on $backend:ty => $rows:ty { ; $sql:expr }) => {
        $crate::statement::statement! { $(#[$doc])* $name on $backend { ; $sql } }

        impl diesel::query_builder::Query for $name {
            type SqlType = $rows;
        }
    };
    ($(#[$doc:meta])* $name:ident on $backend:ty $(=> $rows:ty)? {
        $($before:expr => $field:ident: $rust:ty as $sql:ty),+ ; $after:expr
    }) => {
        $(#[$doc])*
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: $rust,)+
        }

        $crate::statement::statement! {
            @impl ($name<'_>) ($name<'static>) $backend { $($before => $field as $sql),+ ; $after }
        }

        $(
            impl diesel::query_builder::Query for $name<'_> {
                type SqlType = $rows;
            }
        )?
    };
    (@impl ($name:ty) ($identity:ty) $backend:ty { $($before:expr => $field:ident as $sql:ty),* ; $after:expr }) => {
        impl diesel::query_builder::QueryId for $name {
            type QueryId = $identity;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl diesel::query_builder::QueryFragment<$backend> for $name {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, $backend>,
            ) -> diesel::QueryResult<()> {
                $(
                    out.push_sql($before);
                    out.push_bind_param::<$sql, _>(&self.$field)?;
                )*
                out.push_sql($after);
                Ok(())
            }
        }

        impl<Conn> diesel::RunQueryDsl<Conn> for $name {}

        const _: () = {
            $(assert!(!$crate::statement::ends_in_a_bare_limit($before), "a bare limit is prepared again for each value");)*
        };
    };
}

pub(crate) use statement;

/// Whether a limit comes next without anything before it.
pub(crate) const fn ends_in_a_bare_limit(text: &str) -> bool {
    matches!(text.as_bytes().split_last_chunk(), Some((_, b"LIMIT ")))
}
