//! Work to be done later.

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_commit::{Queue, Work, WorkInHand};
use quipu_kernel::{Tenant, Timestamp};

use super::columns::columns;
use crate::statement::statement;

/// Work to be added.
pub(crate) struct WorkLine<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) work: &'a Work,
    /// If the node that commits it takes it at once.
    pub(crate) taken: Option<Taken<'a>>,
}

/// Which node does work, and since when.
#[derive(Clone, Copy)]
pub(crate) struct Taken<'a> {
    pub(crate) at: Timestamp,
    pub(crate) node: &'a str,
}

columns! {
    in "work" from (line: WorkLine<'a>) {
        queue: &'a str as Text = line.work.queue.0;
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        subject: &'a str as Text = &line.work.subject;
        action: &'a str as Text = line.work.action;
        due_at: i64 as BigInt = line.work.due.millis();
        due_since: i64 as BigInt = line.taken.map_or(line.work.due, |taken| taken.at).millis();
        attempts: i32 as Integer = 0;
        turn: i64 as BigInt = 1;
        lease_node: Option<&'a str> as Nullable<Text> = line.taken.map(|taken| taken.node);
    }
    then "ON CONFLICT (queue, merchant_id, environment, subject) DO UPDATE SET action = excluded.action,
        due_at = excluded.due_at, due_since = excluded.due_since, attempts = 0, turn = work.turn + 1,
        lease_node = excluded.lease_node"
}

statement! { DropOne on Sqlite {
    "DELETE FROM work WHERE queue = " => queue: &'a str as Text, " AND merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND subject = " => subject: &'a str as Text,
    " AND (turn = " => turn: Option<i64> as Nullable<BigInt>, " OR " => any_turn: bool as diesel::sql_types::Bool ; ")"
} }

statement! { DropMany on Pg {
    "DELETE FROM work USING (SELECT UNNEST (" => queues: Vec<&'a str> as Array<Text>,
    ") AS queue, UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ") AS merchant_id, UNNEST (" => environments: Vec<&'a str> as Array<Text>,
    ") AS environment, UNNEST (" => subjects: Vec<&'a str> as Array<Text>,
    ") AS subject, UNNEST (" => turns: Vec<Option<i64>> as Array<Nullable<BigInt>> ;
    ") AS turn) AS done WHERE work.queue = done.queue
        AND work.merchant_id = done.merchant_id AND work.environment = done.environment
        AND work.subject = done.subject AND (done.turn IS NULL OR work.turn = done.turn)"
} }

statement! { PutOffOne on Sqlite {
    "UPDATE work SET due_at = " => due_at: i64 as BigInt, ", due_since = " => due_since: i64 as BigInt,
    ", action = " => action: &'a str as Text, ", attempts = " => attempts: i32 as Integer,
    ", turn = turn + 1, lease_node = NULL WHERE queue = "
    => queue: &'a str as Text, " AND merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND subject = " => subject: &'a str as Text,
    " AND turn = " => turn: i64 as BigInt ; ""
} }

statement! { PutOffMany on Pg {
    "UPDATE work SET due_at = put.due_at, due_since = put.due_since, action = put.action, attempts = put.attempts,
        turn = work.turn + 1, lease_node = NULL FROM UNNEST (" => due: Vec<i64> as Array<BigInt>,
    ", " => since: Vec<i64> as Array<BigInt>, ", " => actions: Vec<&'a str> as Array<Text>, ", " => attempts: Vec<i32> as Array<Integer>, ", " => queues: Vec<&'a str> as Array<Text>,
    ", " => merchants: Vec<i64> as Array<BigInt>, ", " => environments: Vec<&'a str> as Array<Text>,
    ", " => subjects: Vec<&'a str> as Array<Text>, ", " => turns: Vec<i64> as Array<BigInt> ;
    ") AS put (due_at, due_since, action, attempts, queue, merchant_id, environment, subject, turn) WHERE work.queue = put.queue
        AND work.merchant_id = put.merchant_id AND work.environment = put.environment
        AND work.subject = put.subject AND work.turn = put.turn"
} }

/// Work to be removed: dropped by a decision, or done by the holder of the claim with this turn.
pub(crate) struct Gone<'a> {
    pub(crate) queue: Queue,
    pub(crate) tenant: Tenant,
    pub(crate) subject: &'a str,
    pub(crate) turn: Option<i64>,
}

impl<'a> Gone<'a> {
    pub(crate) fn one(&self) -> DropOne<'_> {
        DropOne {
            queue: self.queue.0,
            merchant: self.tenant.merchant().0,
            environment: self.tenant.environment().as_str(),
            subject: self.subject,
            turn: self.turn,
            any_turn: self.turn.is_none(),
        }
    }

    pub(crate) fn many(all: &[Self]) -> DropMany<'a> {
        DropMany {
            queues: all.iter().map(|gone| gone.queue.0).collect(),
            merchants: all.iter().map(|gone| gone.tenant.merchant().0).collect(),
            environments: all.iter().map(|gone| gone.tenant.environment().as_str()).collect(),
            subjects: all.iter().map(|gone| gone.subject).collect(),
            turns: all.iter().map(|gone| gone.turn).collect(),
        }
    }
}

/// Claimed work that is put off or held up.
pub(crate) struct Later<'a> {
    pub(crate) claim: &'a WorkInHand,
    pub(crate) due: i64,
    /// The time since which it is due.
    pub(crate) since: i64,
    pub(crate) action: &'a str,
}

impl<'a> Later<'a> {
    pub(crate) fn one(&self) -> PutOffOne<'_> {
        PutOffOne {
            due_at: self.due,
            due_since: self.since,
            action: self.action,
            attempts: self.claim.attempts,
            queue: self.claim.queue.0,
            merchant: self.claim.tenant.merchant().0,
            environment: self.claim.tenant.environment().as_str(),
            subject: &self.claim.subject,
            turn: self.claim.turn,
        }
    }

    pub(crate) fn many(all: &[Self]) -> PutOffMany<'a> {
        PutOffMany {
            due: all.iter().map(|later| later.due).collect(),
            since: all.iter().map(|later| later.since).collect(),
            actions: all.iter().map(|later| later.action).collect(),
            attempts: all.iter().map(|later| later.claim.attempts).collect(),
            queues: all.iter().map(|later| later.claim.queue.0).collect(),
            merchants: all.iter().map(|later| later.claim.tenant.merchant().0).collect(),
            environments: all.iter().map(|later| later.claim.tenant.environment().as_str()).collect(),
            subjects: all.iter().map(|later| later.claim.subject.as_str()).collect(),
            turns: all.iter().map(|later| later.claim.turn).collect(),
        }
    }
}
