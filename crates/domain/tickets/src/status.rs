//! The statuses of a ticket and the only table of moves between them.

use quipu_kernel::wire_names;

wire_names! {
    /// The status of a ticket (docs/API.md, "Tickets").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Status {
        /// It is new, or was reopened.
        Open = "open",
        /// Support works on it.
        InProgress = "in_progress",
        /// Support waits for the merchant.
        WaitingCustomer = "waiting_customer",
        /// Support waits for somebody else.
        OnHold = "on_hold",
        /// Support has answered it.
        Resolved = "resolved",
        /// It is finished.
        Closed = "closed",
        /// It was given up without an answer.
        Canceled = "canceled",
    }
}

impl Status {
    /// Its position in [`Status::ALL`], from 0.
    pub const fn rank(self) -> i16 {
        match self {
            Self::Open => 0,
            Self::InProgress => 1,
            Self::WaitingCustomer => 2,
            Self::OnHold => 3,
            Self::Resolved => 4,
            Self::Closed => 5,
            Self::Canceled => 6,
        }
    }

    /// The complete transition table: the status of a ticket after `step`. `None` means that there is no such
    /// step in this status, and nothing changes.
    #[expect(
        clippy::match_same_arms,
        reason = "a row of the table stands for itself; merged rows would hide moves"
    )]
    pub const fn after(self, step: Step) -> Option<Self> {
        use Status::{Canceled, Closed, InProgress, OnHold, Open, Resolved, WaitingCustomer};
        let next = match (step, self) {
            (Step::Comment, WaitingCustomer) => InProgress,
            (Step::Comment, Open | InProgress | OnHold | Resolved) => self,
            (Step::Close, Open | InProgress | WaitingCustomer | Resolved) => Closed,
            (Step::Reopen, Resolved | Closed) => Open,
            (Step::Reply, Open | InProgress | WaitingCustomer | OnHold | Resolved) => self,
            (Step::Support(InProgress), Open | WaitingCustomer | OnHold) => InProgress,
            (Step::Support(WaitingCustomer), InProgress) => WaitingCustomer,
            (Step::Support(OnHold), InProgress) => OnHold,
            (Step::Support(Resolved), InProgress | WaitingCustomer | OnHold) => Resolved,
            (Step::Support(Closed), Resolved) => Closed,
            (Step::Support(Canceled), Open | InProgress | WaitingCustomer | OnHold) => Canceled,
            (Step::CloseByItself, Resolved) => Closed,
            _ => return None,
        };
        Some(next)
    }
}

/// A step of a ticket, by the person who takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The merchant adds a comment.
    Comment,
    /// The merchant closes the ticket.
    Close,
    /// The merchant reopens the ticket.
    Reopen,
    /// Support comments in public.
    Reply,
    /// Support sets this status.
    Support(Status),
    /// The ticket closes by itself, since it had no activity for long enough.
    CloseByItself,
}

impl Step {
    /// Every step, for tests over the whole table.
    pub const ALL: [Self; 12] = [
        Self::Comment,
        Self::Close,
        Self::Reopen,
        Self::Reply,
        Self::Support(Status::Open),
        Self::Support(Status::InProgress),
        Self::Support(Status::WaitingCustomer),
        Self::Support(Status::OnHold),
        Self::Support(Status::Resolved),
        Self::Support(Status::Closed),
        Self::Support(Status::Canceled),
        Self::CloseByItself,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row has a step, and the status after it for each status in the order of [`Status::ALL`]; `-`
    /// means that there is no such step.
    const TABLE: [(Step, [&str; 7]); 12] = {
        const NO: &str = "-";
        [
            (Step::Comment, ["open", "in_progress", "in_progress", "on_hold", "resolved", NO, NO]),
            (Step::Close, ["closed", "closed", "closed", NO, "closed", NO, NO]),
            (Step::Reopen, [NO, NO, NO, NO, "open", "open", NO]),
            (Step::Reply, ["open", "in_progress", "waiting_customer", "on_hold", "resolved", NO, NO]),
            (Step::Support(Status::Open), [NO; 7]),
            (
                Step::Support(Status::InProgress),
                ["in_progress", NO, "in_progress", "in_progress", NO, NO, NO],
            ),
            (Step::Support(Status::WaitingCustomer), [NO, "waiting_customer", NO, NO, NO, NO, NO]),
            (Step::Support(Status::OnHold), [NO, "on_hold", NO, NO, NO, NO, NO]),
            (Step::Support(Status::Resolved), [NO, "resolved", "resolved", "resolved", NO, NO, NO]),
            (Step::Support(Status::Closed), [NO, NO, NO, NO, "closed", NO, NO]),
            (Step::Support(Status::Canceled), ["canceled", "canceled", "canceled", "canceled", NO, NO, NO]),
            (Step::CloseByItself, [NO, NO, NO, NO, "closed", NO, NO]),
        ]
    };

    #[test]
    fn every_step_from_every_status_goes_where_the_table_says() {
        assert_eq!(TABLE.map(|(step, _)| step), Step::ALL, "a row for each step, in their order");
        for (step, row) in TABLE {
            for (status, expected) in Status::ALL.into_iter().zip(row) {
                let next = status.after(step).map_or("-", Status::as_str);
                assert_eq!(next, expected, "{status:?} after {step:?}");
            }
        }
    }

    #[test]
    fn names_are_read_as_they_are_written_and_ranks_follow_the_order() {
        for (rank, status) in (0..).zip(Status::ALL) {
            assert_eq!(status.as_str().parse(), Ok(status));
            assert_eq!(serde_json::to_value(status).expect("JSON"), status.as_str());
            assert_eq!(status.rank(), rank);
        }
        assert!("cancelled".parse::<Status>().is_err());
    }
}
