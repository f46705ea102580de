//! Lines of the audit log, written by commits and by the directory.

use std::any::TypeId;

use diesel::{
    QueryResult, RunQueryDsl as _, SqliteConnection,
    sql_types::{BigInt, Nullable, Text},
};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use quipu_merchants::AuditRecord;

use super::{
    columns::columns,
    table::{Line, Table},
};

columns! {
    in "audit_log" from (line: AuditRecord) {
        id: &'a str as Text = &line.id;
        at: i64 as BigInt = line.at.millis();
        actor_id: &'a str as Text = &line.actor.id;
        actor_name: &'a str as Text = &line.actor.name;
        action: &'a str as Text = &line.action;
        merchant_id: Option<i64> as Nullable<BigInt> = line.merchant_id.map(|merchant| merchant.0);
        subject: &'a str as Text = &line.subject;
        before: String as Text = line.before.to_string();
        after: String as Text = line.after.to_string();
    }
}

/// The audit log.
pub(crate) struct AuditLog;

impl Table for AuditLog {
    fn keeps(&self) -> TypeId {
        TypeId::of::<AuditRecord>()
    }

    fn insert_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()> {
        rows::One::of(line.record()).execute(conn).map(drop)
    }

    fn insert_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>> {
        let statement = rows::Many::of(lines.iter().map(Line::record));
        Box::pin(async move { diesel_async::RunQueryDsl::execute(statement, &mut &*conn).await.map(drop) })
    }
}
