//! `quipu ticket`: what support does with tickets, from the shell.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use quipu_configuration::Settings;
use quipu_kernel::{Environment, MerchantId, PaymentId, Period};
use quipu_merchants::Actor;
use quipu_tickets::{
    AttachmentId, Category, EntryRecord, FileRefused, MoveDraft, Priority, QueueFilter, QueueRecord,
    ReplyDraft, Status, StoredAttachment, SupportReads, SupportTicket, Ticket, TicketError, TicketId,
    TicketOffice, parse_assignment,
};
use serde_json::json;
use tempfile::NamedTempFile;

use super::{
    answer,
    part::{self, Between, Part},
    session, values,
};
use crate::wire::{self, Foundation};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the queue: what is urgent first, then the oldest
    List(Filter),
    /// Show one ticket
    Show {
        /// The ticket's identifier
        id: TicketId,
    },
    /// List all that was said on a ticket, internal notes included, the oldest first
    Comments {
        /// The ticket's identifier
        id: TicketId,
        #[command(flatten)]
        part: Part,
    },
    /// Save a file that is attached to a ticket
    Attachment {
        /// The ticket's identifier
        id: TicketId,
        /// The attachment's identifier, as the ticket shows it
        attachment: AttachmentId,
        /// Where to; a file that is there already stays as it is
        #[arg(long)]
        to: PathBuf,
    },
    /// Assign a ticket to a member of support
    Assign {
        /// The ticket's identifier
        id: TicketId,
        /// The member of support; without it the ticket is unassigned
        #[arg(long)]
        to: Option<String>,
    },
    /// Move a ticket to another status
    Move {
        /// The ticket's identifier
        id: TicketId,
        #[arg(long, help = "in_progress, waiting_customer, on_hold, resolved, closed or canceled")]
        to: Status,
        /// The result, which the merchant sees; only with resolved, closed or canceled
        #[arg(long)]
        resolution_summary: Option<String>,
    },
    /// Comment on a ticket
    Comment {
        /// The ticket's identifier
        id: TicketId,
        /// What to say
        #[arg(long)]
        body: String,
        /// As a note that only support reads
        #[arg(long)]
        internal: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct Filter {
    /// Of this merchant
    #[arg(long, value_parser = values::merchant)]
    merchant: Option<MerchantId>,
    /// test or live
    #[arg(long)]
    environment: Option<Environment>,
    /// In this status; several may be given
    #[arg(long)]
    status: Vec<Status>,
    /// Of this category; several may be given
    #[arg(long)]
    category: Vec<Category>,
    /// high or normal
    #[arg(long)]
    priority: Option<Priority>,
    /// Assigned to this member of support
    #[arg(long)]
    assignee: Option<String>,
    /// About this payment
    #[arg(long)]
    payment: Option<PaymentId>,
    #[command(flatten)]
    between: Between,
    #[command(flatten)]
    part: Part,
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| {
            let office = || wire::ticket_office(foundation, settings);
            match self {
                Self::List(filter) => list(foundation, filter).await,
                Self::Show { id } => session::print(&SupportTicket::of(&found(foundation, &id).await?)),
                Self::Comments { id, part } => comments(foundation, &id, &part).await,
                Self::Attachment { id, attachment, to } => {
                    let (ticket, office) = (found(foundation, &id).await?, office()?);
                    let stored = office.attachment(ticket.terms().tenant, &id, &attachment).await?;
                    save(&office, &stored.context("the ticket has no such attachment")?, &to).await
                }
                Self::Assign { id, to } => {
                    let to = parse_assignment(&json!({ "assignee": to })).map_err(session::explained)?;
                    changed(&id, office()?.assign(&id, to, &Actor::shell()).await)
                }
                Self::Move { id, to, resolution_summary } => {
                    let body = json!({ "status": to.as_str(), "resolution_summary": resolution_summary });
                    let draft = MoveDraft::parse(&body).map_err(session::explained)?;
                    changed(&id, office()?.set_status(&id, &draft, &Actor::shell()).await)
                }
                Self::Comment { id, body, internal } => {
                    let draft = ReplyDraft::parse(&json!({ "body": body, "internal": internal }));
                    let draft = draft.map_err(session::explained)?;
                    let said = office()?.say(&id, draft, &Actor::shell()).await;
                    let entry = answer::explained(said, || {
                        format!("the comment may have been added: quipu ticket comments {id} shows it last")
                    })?;
                    answer::print(&EntryRecord::of(&entry))
                }
            }
        })
    }
}

async fn found(foundation: &Foundation, id: &TicketId) -> Result<Ticket> {
    foundation.store.any_ticket(id).await?.with_context(|| format!("no ticket has the identifier {id}"))
}

/// Prints a ticket that was changed.
fn changed(id: &TicketId, outcome: Result<Ticket, TicketError>) -> Result<()> {
    let ticket = answer::explained(outcome, || {
        format!("the change may have been made: quipu ticket show {id} shows how the ticket stands")
    })?;
    answer::print(&SupportTicket::of(&ticket))
}

async fn list(foundation: &Foundation, filter: Filter) -> Result<()> {
    let page = filter.part.page()?;
    let filter = QueueFilter {
        merchant: filter.merchant,
        environment: filter.environment,
        statuses: filter.status,
        categories: filter.category,
        priority: filter.priority,
        assignee: filter.assignee,
        payment_id: filter.payment,
        created: filter.between.period(),
    };
    let (items, total) = foundation.store.queue(&filter, page).await?;
    part::print(&items.iter().map(QueueRecord::of).collect::<Vec<_>>(), total)
}

async fn comments(foundation: &Foundation, id: &TicketId, part: &Part) -> Result<()> {
    let page = part.page()?;
    let ticket = found(foundation, id).await?;
    let (entries, total) =
        foundation.store.conversation(ticket.terms().tenant, id, Period::default(), page).await?;
    part::print(&entries.iter().map(EntryRecord::of).collect::<Vec<_>>(), total)
}

/// Saves a file completely or not at all: it is written beside its name first, and replaces no other file.
/// Only its owner may read it.
async fn save(office: &TicketOffice, stored: &StoredAttachment, to: &Path) -> Result<()> {
    let mut file = office.open_file(&stored.object).await.map_err(|refused| match refused {
        FileRefused::NotArrived => anyhow!(
            "the file is not in attachments_url, though it was uploaded: does that name the folder or bucket of the server?"
        ),
        other => other.into(),
    })?;
    let unwritten = || format!("{} cannot be written", to.display());
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut saved = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).with_context(unwritten)?;
    while let Some(piece) = file.read().await? {
        saved.write_all(&piece).with_context(unwritten)?;
    }
    saved.as_file().sync_all().with_context(unwritten)?;
    saved.persist_noclobber(to).map_err(|refused| refused.error).with_context(unwritten)?;
    answer::print(&stored.shown)
}
