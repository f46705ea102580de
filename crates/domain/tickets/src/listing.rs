//! Filters and orders of lists of tickets.

use std::str::FromStr;

use quipu_kernel::{PaymentId, Period, Tenant, Timestamp, Unrecognised, fold, wire_names};

use crate::{
    category::{Category, Priority},
    ids::TicketId,
    status::Status,
};

/// A ticket in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketSummary {
    /// The identifier of the ticket.
    pub id: TicketId,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// The category of the ticket.
    pub category: Category,
    /// The payment it is about.
    pub payment_id: Option<PaymentId>,
    /// Whether the merchant asks for a refund.
    pub requires_refund: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// When somebody last set its status or commented in public (UTC).
    pub last_activity_at: Timestamp,
}

/// A ticket in support's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueItem {
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// The part of it that its merchant sees.
    pub summary: TicketSummary,
    /// The member of support who works on it.
    pub assignee: Option<String>,
}

/// A filter of a tenant's tickets; every given member must match. An empty list narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketFilter {
    /// Only tickets in one of these statuses.
    pub statuses: Vec<Status>,
    /// Only tickets of one of these categories.
    pub categories: Vec<Category>,
    /// Only tickets with this text in title or description.
    pub search: Option<SearchText>,
    /// Only tickets about this payment.
    pub payment_id: Option<PaymentId>,
    /// Only tickets opened in this period.
    pub created: Period,
}

/// A text to search for, of 1 to 100 characters. Case is ignored, and no character has a special meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchText(String);

impl SearchText {
    /// The most characters it may have.
    pub const MAX: usize = 100;

    /// The text in the form in which it is compared ([`quipu_kernel::fold`]).
    pub fn folded(&self) -> &str {
        &self.0
    }
}

impl FromStr for SearchText {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let fits = (1..=Self::MAX).contains(&text.chars().count());
        if fits { Ok(Self(fold(text))) } else { Err(Unrecognised { expected: "at most 100 characters" }) }
    }
}

wire_names! {
    /// The key by which a list of tickets is sorted. Tickets with the same key are in the order in which they
    /// were opened.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum SortKey {
        /// The time at which the ticket was opened.
        #[default]
        CreatedAt = "created_at",
        /// The time at which its status last changed.
        UpdatedAt = "updated_at",
        /// The time at which somebody last set its status or commented in public.
        LastActivityAt = "last_activity_at",
        /// The status, in the order of [`Status::ALL`].
        Status = "status",
    }
}

wire_names! {
    /// The direction in which a list is sorted.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub enum SortOrder {
        /// The greatest first.
        #[default]
        Descending = "desc",
        /// The least first.
        Ascending = "asc",
    }
}

/// The order of a list of tickets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TicketSort {
    /// The key.
    pub key: SortKey,
    /// The direction.
    pub order: SortOrder,
}

/// A filter of support's queue, over all tenants; absent members narrow nothing. The queue shows unfinished
/// tickets before resolved, closed and canceled ones, urgent before normal ones, and then the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueFilter {
    /// Only tickets of this merchant.
    pub merchant: Option<quipu_kernel::MerchantId>,
    /// Only tickets in this environment.
    pub environment: Option<quipu_kernel::Environment>,
    /// Only tickets in one of these statuses.
    pub statuses: Vec<Status>,
    /// Only tickets of one of these categories.
    pub categories: Vec<Category>,
    /// Only tickets of this priority.
    pub priority: Option<Priority>,
    /// Only tickets on which this member of support works.
    pub assignee: Option<String>,
    /// Only tickets about this payment.
    pub payment_id: Option<PaymentId>,
    /// Only tickets opened in this period.
    pub created: Period,
}

/// The rank of a ticket in support's queue; the least comes first.
pub const fn queue_rank(status: Status, priority: Priority) -> i16 {
    match status {
        Status::Open | Status::InProgress | Status::WaitingCustomer | Status::OnHold => priority.rank(),
        Status::Resolved | Status::Closed | Status::Canceled => 2 + priority.rank(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_at_most_100_characters() {
        assert!("ñ".repeat(100).parse::<SearchText>().is_ok());
        assert!("ñ".repeat(101).parse::<SearchText>().is_err());
        assert!("".parse::<SearchText>().is_err());
    }

    #[test]
    fn the_queue_shows_urgent_work_first_and_what_is_finished_last() {
        let mut order: Vec<_> = Status::ALL
            .into_iter()
            .flat_map(|status| Priority::ALL.map(|priority| (queue_rank(status, priority), status, priority)))
            .collect();
        order.sort_unstable();
        assert_eq!(order[0].2, Priority::High);
        assert!(order[..4].iter().all(|(_, _, priority)| *priority == Priority::High));
        assert!(order[..8].iter().all(|(_, status, _)| *status < Status::Resolved));
        assert!(order[8..].iter().all(|(_, status, _)| *status >= Status::Resolved));
    }
}
