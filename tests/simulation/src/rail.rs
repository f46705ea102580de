//! A rail that only listens: whatever is known of a payment comes from elsewhere.

use async_trait::async_trait;
use quipu_merchants::Route;
use quipu_payments::{IssuedInstructions, Payment, Rail, RailStatus, Submission};

/// The rail of a world that calls the bank.
pub(crate) const BANK: &str = "http:bank";
/// The rail of a world that waits for people.
pub(crate) const DESK: &str = "manual";

/// Under the name that the routes of a new merchant have.
pub(crate) struct SilentRail;

impl SilentRail {
    /// Its name.
    pub(crate) const NAME: &str = "simulator";
}

#[async_trait]
impl Rail for SilentRail {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn issue(&self, _: &Payment, _: &Route) -> IssuedInstructions {
        IssuedInstructions::default()
    }

    async fn submit(&self, _: &Payment) -> Submission {
        Submission::Accepted { provider_reference: None }
    }

    async fn ask(&self, _: &Payment) -> RailStatus {
        RailStatus::WillReport
    }
}
