//! The category of a ticket, and the priority that follows from it.

use quipu_kernel::wire_names;

wire_names! {
    /// The category of a ticket (docs/API.md, "Tickets").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Category {
        /// A payment went wrong.
        PaymentIssue = "payment_issue",
        /// The merchant's own software and this interface.
        Integration = "integration",
        /// Limits of amounts or rates.
        Limits = "limits",
        /// The merchant's account.
        Account = "account",
        /// Something in the gateway is wrong.
        Bug = "bug",
        /// A question.
        Question = "question",
        /// A payer disputes a payment.
        Dispute = "dispute",
        /// A payer is to get money back.
        RefundRequest = "refund_request",
        /// Anything else.
        Other = "other",
    }
}

impl Category {
    /// The priority of a ticket of this category: money that a payer or merchant waits for goes first.
    pub const fn priority(self) -> Priority {
        match self {
            Self::PaymentIssue | Self::RefundRequest => Priority::High,
            _ => Priority::Normal,
        }
    }
}

wire_names! {
    /// The order in which support takes up tickets. It follows from the category, and only support sees it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Priority {
        /// Before all tickets of normal priority.
        High = "high",
        /// After all tickets of high priority.
        Normal = "normal",
    }
}

impl Priority {
    /// Its rank in support's queue; the least comes first.
    pub const fn rank(self) -> i16 {
        match self {
            Self::High => 0,
            Self::Normal => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_payment_issues_and_refund_requests_are_urgent() {
        let urgent: Vec<_> =
            Category::ALL.into_iter().filter(|category| category.priority() == Priority::High).collect();
        assert_eq!(urgent, [Category::PaymentIssue, Category::RefundRequest]);
        assert!(Priority::High.rank() < Priority::Normal.rank());
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for category in Category::ALL {
            assert_eq!(category.as_str().parse(), Ok(category));
            assert_eq!(serde_json::to_value(category).expect("JSON"), category.as_str());
        }
        for priority in Priority::ALL {
            assert_eq!(priority.as_str().parse(), Ok(priority));
        }
        assert!("Bug".parse::<Category>().is_err());
    }
}
