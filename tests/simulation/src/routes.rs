//! Routes that are the same for everybody, and nobody's beneficiaries.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Minor, StoreError, Tenant};
use quipu_merchants::{Beneficiary, BeneficiaryKind, Method, Route, RouteBook};

use crate::rail::{BANK, DESK};

type Read<T> = Result<T, StoreError>;

/// Routes, the same for everybody.
pub struct FixedRoutes(Arc<[Route]>);

impl FixedRoutes {
    /// The routes of a new merchant, at this fee for each payment.
    pub fn with_fee(fee: Minor) -> Self {
        let mut routes = Route::of_new_merchant();
        for route in &mut routes {
            route.fee_fixed = fee;
        }
        Self(routes.into())
    }

    /// The routes of a world: pesos of Mexico and redirects go over a bank, pesos of Argentina through people's hands.
    pub(crate) fn of_world(fee_bps: u16, fee_fixed: i64) -> Self {
        let mut routes = Route::of_new_merchant();
        for route in &mut routes {
            let by_hand = route.method == Method::BankTransfer;
            (if by_hand { DESK } else { BANK }).clone_into(&mut route.rail);
            route.fee_bps = fee_bps;
            route.fee_fixed = Minor::new(fee_fixed).unwrap_or(Minor::ZERO);
        }
        Self(routes.into())
    }
}

#[async_trait]
impl RouteBook for FixedRoutes {
    async fn routes(&self, _: MerchantId) -> Read<Arc<[Route]>> {
        Ok(Arc::clone(&self.0))
    }

    async fn beneficiary(&self, _: Tenant, _: BeneficiaryKind, _: i32) -> Read<Option<Beneficiary>> {
        Ok(None)
    }
}
