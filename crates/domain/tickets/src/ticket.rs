//! A ticket of a merchant.

use std::time::Duration;

use quipu_kernel::{PaymentId, Tenant, Timestamp};

use crate::{
    attachment::Attachment,
    category::{Category, Priority},
    draft::TicketDraft,
    ids::TicketId,
    status::{Status, Step},
};

/// The terms of a ticket, which never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The identifier of the ticket.
    pub id: TicketId,
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// The title, 1 to 200 characters.
    pub title: String,
    /// The description, at most 10,000 characters.
    pub description: Option<String>,
    /// The category of the ticket.
    pub category: Category,
    /// The merchant's own finer category.
    pub sub_category: Option<String>,
    /// The payment it is about. There is at most one ticket about a payment.
    pub payment_id: Option<PaymentId>,
    /// The merchant's free text for a transaction.
    pub transaction_id: Option<String>,
    /// The merchant's free text for a reference.
    pub reference: Option<String>,
    /// Whether the merchant asks for a refund.
    pub requires_refund: bool,
    /// When it was opened.
    pub created_at: Timestamp,
}

/// The state of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// The member of support who works on it. Merchants are not shown this.
    pub assignee: Option<String>,
    /// The summary that support wrote.
    pub resolution_summary: Option<String>,
    /// When its status last changed; at first, when it was opened.
    pub updated_at: Timestamp,
    /// When support resolved it; `None` if it was reopened since.
    pub resolved_at: Option<Timestamp>,
    /// When somebody last set its status or commented in public (UTC).
    pub last_activity_at: Timestamp,
    /// Grows by one with every change; of two changes decided on the same version only one happens.
    pub version: i64,
    /// The files of its public comments, in their order.
    pub attachments: Vec<Attachment>,
}

/// A ticket: its terms and its state. Its status changes only through `Ticket::after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    terms: Terms,
    state: State,
}

/// The ticket does not have this step in its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct NoSuchStep {
    /// The status of the ticket.
    pub status: Status,
    /// The step that was tried.
    pub step: Step,
}

impl NoSuchStep {
    fn text(self) -> String {
        let status = self.status.as_str();
        match self.step {
            Step::Comment | Step::Reply => format!("a ticket that is {status} takes no comments"),
            Step::Close | Step::CloseByItself => format!("a ticket that is {status} cannot be closed"),
            Step::Reopen => format!("a ticket that is {status} cannot be reopened"),
            Step::Support(target) => format!("a ticket that is {status} cannot become {}", target.as_str()),
        }
    }
}

impl Ticket {
    /// A new ticket.
    pub(crate) fn open(tenant: Tenant, id: TicketId, draft: TicketDraft, at: Timestamp) -> Self {
        let terms = Terms {
            id,
            tenant,
            title: draft.title,
            description: draft.description,
            category: draft.category,
            sub_category: draft.sub_category,
            payment_id: draft.payment_id,
            transaction_id: draft.transaction_id,
            reference: draft.reference,
            requires_refund: draft.requires_refund,
            created_at: at,
        };
        let state = State {
            status: Status::Open,
            assignee: None,
            resolution_summary: None,
            updated_at: at,
            resolved_at: None,
            last_activity_at: at,
            version: 1,
            attachments: Vec::new(),
        };
        Self { terms, state }
    }

    /// A ticket that was read from a store.
    pub const fn restore(terms: Terms, state: State) -> Self {
        Self { terms, state }
    }

    /// The terms with which it was opened.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Its current state.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Its identifier.
    pub const fn id(&self) -> &TicketId {
        &self.terms.id
    }

    /// Its status.
    pub const fn status(&self) -> Status {
        self.state.status
    }

    /// The priority that follows from its category.
    pub const fn priority(&self) -> Priority {
        self.terms.category.priority()
    }

    /// When it closes by itself: `after` without activity, if it is resolved.
    pub fn closes_at(&self, after: Duration) -> Option<Timestamp> {
        (self.state.status == Status::Resolved).then(|| self.state.last_activity_at.plus(after))
    }

    /// The time of what happens now: after what happened already, whatever the clocks of two nodes say.
    pub(crate) fn next_at(&self, now: Timestamp) -> Timestamp {
        let last = self.state.last_activity_at;
        if now < last { last.plus(Duration::from_millis(1)) } else { now }
    }

    /// The ticket after a step at its [next time](Self::next_at), if it has that step in its status. A reopened ticket is no
    /// longer resolved.
    pub(crate) fn after(&self, step: Step, at: Timestamp) -> Result<Self, NoSuchStep> {
        let status = self.state.status;
        let next = status.after(step).ok_or(NoSuchStep { status, step })?;
        let mut ticket = self.clone();
        let state = &mut ticket.state;
        state.version += 1;
        state.last_activity_at = at;
        if next != status {
            state.status = next;
            state.updated_at = at;
            match next {
                Status::Resolved => state.resolved_at = Some(at),
                Status::Open => (state.resolved_at, state.resolution_summary) = (None, None),
                _ => {}
            }
        }
        Ok(ticket)
    }

    /// The ticket with more files.
    pub(crate) fn with_attachments(mut self, attachments: &[Attachment]) -> Self {
        self.state.attachments.extend_from_slice(attachments);
        self
    }

    /// The ticket with the summary that support wrote, if there is one.
    pub(crate) fn with_summary(mut self, summary: Option<String>) -> Self {
        self.state.resolution_summary = summary.or(self.state.resolution_summary);
        self
    }

    /// The ticket assigned to `assignee`. Merchants are not shown this, so the times that they see do not
    /// change.
    pub(crate) fn assigned_to(&self, assignee: Option<String>) -> Self {
        let mut ticket = self.clone();
        ticket.state.assignee = assignee;
        ticket.state.version += 1;
        ticket
    }
}
