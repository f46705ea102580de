//! Public comments on tickets, which everybody sees.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_merchants::Actor;
use quipu_tickets::{Author, CommentOn};

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "ticket_comments" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        ticket_id: &'a str as Text = line.record::<CommentOn>().ticket.as_str();
        id: i64 as BigInt = line.record::<CommentOn>().comment.id.0;
        author_type: &'a str as Text = line.record::<CommentOn>().comment.author.kind();
        author_id: Option<&'a str> as Nullable<Text> =
            actor_of(line.record::<CommentOn>()).map(|actor| actor.id.as_str());
        author_name: Option<&'a str> as Nullable<Text> =
            actor_of(line.record::<CommentOn>()).map(|actor| actor.name.as_str());
        body: &'a str as Text = &line.record::<CommentOn>().comment.body;
        created_at: i64 as BigInt = line.record::<CommentOn>().comment.created_at.millis();
    }
}

fn actor_of(said: &CommentOn) -> Option<&Actor> {
    match &said.comment.author {
        Author::Merchant => None,
        Author::Support(actor) => Some(actor),
    }
}

record_table! {
    /// Public comments.
    TicketComments keeps CommentOn
}
