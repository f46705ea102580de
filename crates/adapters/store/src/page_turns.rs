//! Pages of a merchant's lists, read in the merchant's turn.

use quipu_kernel::MerchantId;
use tokio::{sync::OwnedSemaphorePermit, time::timeout_at};

use crate::{
    call_wait::CallWait,
    connection::Connection,
    error::{Fault, Trouble},
    query::{Query, Reading},
    store::Inner,
};

impl Inner {
    /// Reads a page of a list that a merchant asks for. One page of each merchant is read at a time, so that those of one,
    /// which may take long, do not use all connections for lists.
    pub(crate) async fn read_page<T, E>(&self, merchant: MerchantId, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        let turn = self.turn_of(merchant).await?;
        self.engine.read_as(Reading::Page, holding(turn, query)).await
    }

    async fn turn_of(&self, merchant: MerchantId) -> Result<OwnedSemaphorePermit, Fault> {
        let wait = CallWait::begin(self.engine.times());
        let queue = self.page_turns.queue(merchant);
        let turn = timeout_at(wait.deadline, queue.acquire_owned()).await;
        turn.map_err(|_| Fault::Overloaded)?.map_err(|_| Fault::Abandoned)
    }
}

/// The query, which holds the turn until it has ended, even if its caller has gone away before.
fn holding<T, E>(turn: OwnedSemaphorePermit, query: impl Query<T, E>) -> impl Query<T, E>
where
    T: 'static,
    E: 'static,
{
    move |conn: &mut Connection| {
        let reading = query(conn);
        Box::pin(async move {
            let _turn = turn;
            reading.await
        })
    }
}
