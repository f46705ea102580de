//! What a ticket is about, and how urgent that makes it.

use std::str::FromStr;

use quipu_kernel::Unrecognised;
use serde::Serialize;

/// What a ticket is about (docs/API.md, "Tickets").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A payment went wrong.
    PaymentIssue,
    /// The merchant's own software and this interface.
    Integration,
    /// Limits of amounts or rates.
    Limits,
    /// The merchant's account.
    Account,
    /// Something in the gateway is wrong.
    Bug,
    /// A question.
    Question,
    /// A payer disputes a payment.
    Dispute,
    /// A payer is to get money back.
    RefundRequest,
    /// Anything else.
    Other,
}

impl Category {
    /// Every category, in the order in which the documents list them.
    pub const ALL: [Self; 9] = [
        Self::PaymentIssue,
        Self::Integration,
        Self::Limits,
        Self::Account,
        Self::Bug,
        Self::Question,
        Self::Dispute,
        Self::RefundRequest,
        Self::Other,
    ];

    /// The name in the interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PaymentIssue => "payment_issue",
            Self::Integration => "integration",
            Self::Limits => "limits",
            Self::Account => "account",
            Self::Bug => "bug",
            Self::Question => "question",
            Self::Dispute => "dispute",
            Self::RefundRequest => "refund_request",
            Self::Other => "other",
        }
    }

    /// How urgent a ticket of this category is: money that a payer or merchant waits for goes first.
    pub const fn priority(self) -> Priority {
        match self {
            Self::PaymentIssue | Self::RefundRequest => Priority::High,
            _ => Priority::Normal,
        }
    }
}

impl FromStr for Category {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let found = Self::ALL.into_iter().find(|category| category.as_str() == text);
        found.ok_or(Unrecognised {
            expected: "one of payment_issue, integration, limits, account, bug, question, dispute, refund_request, other",
        })
    }
}

/// Which tickets support takes up first. It follows from the category, and only support sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all normal ones.
    High,
    /// In its turn.
    Normal,
}

impl Priority {
    /// Both, the more urgent one first.
    pub const ALL: [Self; 2] = [Self::High, Self::Normal];

    /// The name in the interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
        }
    }

    /// Its place in support's queue, the least first.
    pub const fn rank(self) -> i16 {
        match self {
            Self::High => 0,
            Self::Normal => 1,
        }
    }
}

impl FromStr for Priority {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let found = Self::ALL.into_iter().find(|priority| priority.as_str() == text);
        found.ok_or(Unrecognised { expected: "one of high, normal" })
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
