//! A condition that selects rows of a tenant by their keys.

use diesel::{
    AppearsOnTable, Expression, QueryResult, SelectableExpression,
    expression::{ValidGrouping, is_aggregate},
    pg::Pg,
    query_builder::{AstPass, QueryFragment, QueryId},
    sql_types::{Array, BigInt, Bool, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{Tenant, json_text};

/// The rows of a tenant that have one of some keys: each column of the key has one of the values given for
/// it.
///
/// On PostgreSQL merchant, environment and the rest of the key are looked up as one. Otherwise a planner that
/// believes that the tenant has hardly any rows would read all of them and compare each. It believes so of
/// every tenant that has grown since the table was analysed.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    table: &'static str,
    merchant: i64,
    environment: &'static str,
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: &'static str,
    /// The value of each key, or the one value that all keys have.
    values: Vec<String>,
    /// The values to choose from as a JSON array, which is how SQLite takes a list as one parameter.
    choice: String,
}

impl Keys {
    /// All rows of a tenant, until columns are added.
    pub(crate) fn of(tenant: Tenant, table: &'static str) -> Self {
        let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
        Self { table, merchant, environment, columns: Vec::new() }
    }

    /// Adds the condition that the column `name` has one of `values`.
    pub(crate) fn with<'v>(mut self, name: &'static str, values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        let choice = json_text(&values);
        if values.len() != 1
            && let Some(keys) = self.columns.iter().map(|column| column.values.len()).find(|keys| *keys != 1)
        {
            // Each key so far with each of the values.
            for column in self.columns.iter_mut().filter(|column| column.values.len() != 1) {
                column.values = vec![column.values.clone(); values.len()].concat();
            }
            values = values.into_iter().flat_map(|value| std::iter::repeat_n(value, keys)).collect();
        }
        self.columns.push(Column { name, values, choice });
        self
    }

    fn push_column<B>(&self, out: &mut AstPass<'_, '_, B>, name: &str) -> QueryResult<()>
    where
        B: diesel::backend::Backend,
    {
        out.push_identifier(self.table)?;
        out.push_sql(".");
        out.push_identifier(name)
    }
}

impl QueryFragment<Sqlite> for Keys {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.push_column(&mut out, "merchant_id")?;
        out.push_sql(" = ");
        out.push_bind_param::<BigInt, _>(&self.merchant)?;
        out.push_sql(" AND ");
        self.push_column(&mut out, "environment")?;
        out.push_sql(" = ");
        out.push_bind_param::<Text, _>(self.environment)?;
        for column in &self.columns {
            out.push_sql(" AND ");
            self.push_column(&mut out, column.name)?;
            out.push_sql(" IN (SELECT value FROM json_each(");
            out.push_bind_param::<Text, _>(&column.choice)?;
            out.push_sql("))");
        }
        Ok(())
    }
}

impl QueryFragment<Pg> for Keys {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(");
        self.push_column(&mut out, "merchant_id")?;
        out.push_sql(", ");
        self.push_column(&mut out, "environment")?;
        for column in &self.columns {
            out.push_sql(", ");
            self.push_column(&mut out, column.name)?;
        }
        out.push_sql(") IN (SELECT ");
        out.push_bind_param::<BigInt, _>(&self.merchant)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(self.environment)?;
        for column in &self.columns {
            out.push_sql(", ");
            if let [value] = column.values.as_slice() {
                out.push_bind_param::<Text, _>(value)?;
            } else {
                // Sets that are made in a list of columns keep the planner from moving what it is told here outside.
                out.push_sql("UNNEST(");
                out.push_bind_param::<Array<Text>, _>(&column.values)?;
                out.push_sql(")");
            }
        }
        out.push_sql(")");
        Ok(())
    }
}

impl Expression for Keys {
    type SqlType = Bool;
}

impl<T> AppearsOnTable<T> for Keys {}

impl<T> SelectableExpression<T> for Keys {}

impl<G> ValidGrouping<G> for Keys {
    type IsAggregate = is_aggregate::Never;
}

impl QueryId for Keys {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId};

    use super::*;
    use crate::schema::deliveries;

    fn tenant() -> Tenant {
        Tenant::new(MerchantId(7), Environment::Test)
    }

    fn on_both(keys: Keys) -> [String; 2] {
        use diesel::QueryDsl as _;
        let query = deliveries::table.filter(keys).select(deliveries::event_id);
        let texts = [
            diesel::debug_query::<Sqlite, _>(&query).to_string(),
            diesel::debug_query::<Pg, _>(&query).to_string(),
        ];
        texts.map(|text| text.split_once("WHERE ").expect("a condition").1.to_owned())
    }

    #[test]
    fn every_value_is_bound_and_one_value_stands_for_every_key() {
        let keys = Keys::of(tenant(), "deliveries").with("endpoint_id", ["e"]).with("event_id", ["a", "b"]);
        let [file, server] = on_both(keys);
        assert_eq!(
            file,
            "`deliveries`.`merchant_id` = ? AND `deliveries`.`environment` = ? \
             AND `deliveries`.`endpoint_id` IN (SELECT value FROM json_each(?)) \
             AND `deliveries`.`event_id` IN (SELECT value FROM json_each(?)) \
             -- binds: [7, \"test\", \"[\\\"e\\\"]\", \"[\\\"a\\\",\\\"b\\\"]\"]"
        );
        assert!(server.contains("IN (SELECT $1, $2, $3, UNNEST($4))"), "{server}");
        assert!(server.ends_with("[7, \"test\", \"e\", [\"a\", \"b\"]]"), "{server}");
    }

    #[test]
    fn a_server_is_given_each_endpoint_with_each_event() {
        let keys = Keys::of(tenant(), "deliveries")
            .with("endpoint_id", ["e", "f"])
            .with("event_id", ["a", "b", "c"]);
        let [endpoints, events] = [0, 1].map(|column: usize| keys.columns[column].values.as_slice());
        let mut pairs: Vec<_> =
            std::iter::zip(endpoints, events).map(|(one, other)| (one.as_str(), other.as_str())).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, [("e", "a"), ("e", "b"), ("e", "c"), ("f", "a"), ("f", "b"), ("f", "c")]);
    }

    #[test]
    fn no_value_is_no_row() {
        let keys = Keys::of(tenant(), "deliveries").with("endpoint_id", ["e", "f"]).with("event_id", []);
        let [file, server] = on_both(keys);
        assert!(file.ends_with("\"[]\"]") && server.ends_with("[7, \"test\", [], []]"), "{file} {server}");
    }
}
