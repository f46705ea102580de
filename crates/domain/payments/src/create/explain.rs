//! All problems of a create request.
//!
//! The caller is told all of them at once: those that the request itself shows, and those that the merchant's
//! customers, routes and beneficiaries show for the parts that could be read.

use quipu_kernel::{Problems, StoreError, Tenant};

use crate::{
    create::decide::{Decider, choose_route},
    request::invalid::{InvalidDraft, judge_webhook, refuse_unknown_customer},
};

impl Decider {
    /// Collects all problems of a request.
    pub(crate) async fn explain(
        &self,
        tenant: Tenant,
        invalid: InvalidDraft,
    ) -> Result<Problems, StoreError> {
        let InvalidDraft { mut problems, customer_id, pairing, payout, webhook } = invalid;
        judge_webhook(webhook.as_ref(), tenant.environment(), &mut problems);
        if let Some(id) = customer_id
            && self.reads.customer(tenant, id).await?.is_none()
        {
            refuse_unknown_customer(&mut problems);
        }
        // Whatever else is wrong with the way that the money is to go has been said.
        let (Some(mut payout), Some(key)) = (payout, pairing.route_key(tenant.environment())) else {
            return Ok(problems);
        };
        let routes = self.route_book.routes(tenant.merchant()).await?;
        if let Ok(route) = choose_route(&routes, key) {
            payout.look_up(&*self.route_book, tenant, &mut problems).await?;
            payout.judge_by(route, &mut problems);
        }
        Ok(problems)
    }
}
