//! The use cases of tickets, over one set of ports. What merchants do is in `merchant`, what support does in `support`,
//! what happens to files in `transfer`, and what happens by itself in `tend`.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Changes, Commit, CommitError, Index, Refusal};
use quipu_kernel::{Clock, Entropy, IdSource, Tenant};
use quipu_merchants::AuditRecord;

use crate::{
    changes,
    decide::{Desk, TicketChange},
    error::{TicketError, unforeseen},
    ids::TicketId,
    ports::{FileStore, SupportReads, Thumbnails, TicketReads},
    ticket::{NoSuchStep, Ticket},
};

/// How often a decision is made again because the ticket changed under it. Of those who change one ticket at once, each
/// round takes one.
const TRIES: u8 = 100;

/// What the use cases need.
pub struct TicketPorts {
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// What merchants read.
    pub reads: Arc<dyn TicketReads>,
    /// What support reads.
    pub support: Arc<dyn SupportReads>,
    /// Where files are.
    pub files: Arc<dyn FileStore>,
    /// Makes small pictures.
    pub thumbnails: Arc<dyn Thumbnails>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// The periods that the configuration sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketPeriods {
    /// How long a resolved ticket waits for more before it closes by itself.
    pub close_after: Duration,
    /// How long an upload URL lives.
    pub upload_expires_in: Duration,
    /// How long a download URL lives.
    pub download_expires_in: Duration,
}

impl Default for TicketPeriods {
    fn default() -> Self {
        Self {
            close_after: Duration::from_hours(7 * 24),
            upload_expires_in: Duration::from_mins(10),
            download_expires_in: Duration::from_mins(5),
        }
    }
}

/// Where tickets are worked on.
pub struct TicketOffice {
    pub(crate) ports: TicketPorts,
    pub(crate) periods: TicketPeriods,
    pub(crate) comment_ids: IdSource,
}

impl TicketOffice {
    /// Over these ports.
    pub fn new(ports: TicketPorts, periods: TicketPeriods) -> Self {
        Self { ports, periods, comment_ids: IdSource::default() }
    }

    /// The periods that the configuration sets.
    pub const fn periods(&self) -> TicketPeriods {
        self.periods
    }

    pub(crate) fn desk(&self) -> Desk<'_> {
        let (at, entropy) = (self.ports.clock.now(), self.ports.entropy.as_ref());
        Desk { at, entropy, comment_ids: &self.comment_ids }
    }

    pub(crate) async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Ticket, TicketError> {
        self.ports.reads.ticket(tenant, id).await?.ok_or(TicketError::NotFound)
    }

    /// Decides and commits, again as often as the ticket changed in between. Who changes it for support says what the audit
    /// log is told.
    pub(crate) async fn change(
        &self,
        tenant: Tenant,
        id: &TicketId,
        decide: impl Fn(Desk<'_>, &Ticket) -> Result<TicketChange, NoSuchStep> + Send + Sync,
        audit: impl Fn(Desk<'_>, &TicketChange) -> Option<AuditRecord> + Send + Sync,
    ) -> Result<TicketChange, TicketError> {
        for _ in 0..TRIES {
            let ticket = self.ticket(tenant, id).await?;
            let desk = self.desk();
            let change = decide(desk, &ticket)?;
            let mut changes = changes::of_ticket(change.clone(), desk.at, self.periods.close_after);
            if let Some(line) = audit(desk, &change) {
                changes.add(line);
            }
            if self.commit_unless_stale(changes).await? {
                return Ok(change);
            }
        }
        Err(TicketError::Overtaken)
    }

    /// Whether it was committed; if not, it was decided on something that has changed since.
    pub(crate) async fn commit_unless_stale(&self, changes: Changes) -> Result<bool, TicketError> {
        match self.ports.commit.commit(changes).await {
            Ok(_) => Ok(true),
            Err(CommitError::Refused(Refusal::Stale)) => Ok(false),
            Err(CommitError::Refused(Refusal::NameTaken { name, .. }))
                if name.index == Index::TICKET_PAYMENT =>
            {
                Err(TicketError::ExistsForPayment)
            }
            Err(error) => Err(unforeseen(error).into()),
        }
    }
}

/// Nothing for the audit log, which is about what the operator's staff do.
pub(crate) fn unaudited(_: Desk<'_>, _: &TicketChange) -> Option<AuditRecord> {
    None
}
