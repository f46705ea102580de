//! Which tickets a list shows, and in which order.

use std::str::FromStr;

use quipu_kernel::{PaymentId, Tenant, Timestamp, Unrecognised, fold, wire_names};
use quipu_merchants::Period;

use crate::{
    category::{Category, Priority},
    ids::TicketId,
    status::Status,
};

/// A ticket in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketSummary {
    /// Its identifier.
    pub id: TicketId,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// What it is about.
    pub category: Category,
    /// The payment it is about.
    pub payment_id: Option<PaymentId>,
    /// Whether the merchant asks for a refund.
    pub requires_refund: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// When somebody last moved it or commented in public.
    pub last_activity_at: Timestamp,
}

/// A ticket in support's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueItem {
    /// Whose.
    pub tenant: Tenant,
    /// What its merchant sees.
    pub summary: TicketSummary,
    /// Who works on it.
    pub assignee: Option<String>,
}

/// Which tickets of a tenant are listed; every given member must match. An empty list narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketFilter {
    /// In one of these statuses.
    pub statuses: Vec<Status>,
    /// In one of these categories.
    pub categories: Vec<Category>,
    /// With this text in title or description.
    pub search: Option<SearchText>,
    /// About this payment.
    pub payment_id: Option<PaymentId>,
    /// Opened in this period.
    pub created: Period,
}

/// A text that is looked for without regard to case, each of its characters as it stands. 1 to 100 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchText(String);

impl SearchText {
    /// The most characters it may have.
    pub const MAX: usize = 100;

    /// The text in the form in which it is compared.
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
    /// By what a list of tickets is sorted. Equals stand in the order in which they were opened.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum SortKey {
        /// When they were opened.
        #[default]
        CreatedAt = "created_at",
        /// When their status last changed.
        UpdatedAt = "updated_at",
        /// When somebody last moved them or commented in public.
        LastActivityAt = "last_activity_at",
        /// Their status, in the order of [`Status::ALL`].
        Status = "status",
    }
}

wire_names! {
    /// In which direction.
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
    /// By what.
    pub key: SortKey,
    /// In which direction.
    pub order: SortOrder,
}

/// Which tickets support's queue shows, over all tenants; what is absent narrows nothing. It shows unfinished tickets
/// before resolved, closed and canceled ones, urgent before normal ones, and then the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueFilter {
    /// Of this merchant.
    pub merchant: Option<quipu_kernel::MerchantId>,
    /// In this environment.
    pub environment: Option<quipu_kernel::Environment>,
    /// In one of these statuses.
    pub statuses: Vec<Status>,
    /// In one of these categories.
    pub categories: Vec<Category>,
    /// Of this priority.
    pub priority: Option<Priority>,
    /// In the hands of this member of support.
    pub assignee: Option<String>,
    /// About this payment.
    pub payment_id: Option<PaymentId>,
    /// Opened in this period.
    pub created: Period,
}

/// The place of a ticket in support's queue, the least first.
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
