//! Lists of what happened in a period.

/// Narrows a boxed query to the rows whose `column` lies in a period.
macro_rules! in_period {
    ($query:expr, $column:expr, $period:expr) => {{
        let mut query = $query;
        if let Some(from) = $period.from {
            query = query.filter($column.ge(from.millis()));
        }
        if let Some(to) = $period.to {
            query = query.filter($column.le(to.millis()));
        }
        query
    }};
}

pub(crate) use in_period;
