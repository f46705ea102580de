//! Under which master keys the stored secrets are sealed. A sealed text begins with `v1.`, the identifier of the key and
//! a dot.

use diesel::{pg::Pg, sql_types::Text, sqlite::Sqlite};
use quipu_kernel::StoreError;

use crate::{
    common_time::{now_in_file, now_on_server},
    connection::either,
    error::Fault,
    statement::statement,
    store::Store,
};

/// Every secret that is still in use, at a moment in milliseconds.
macro_rules! in_use {
    ($now:expr) => {
        concat!("(SELECT sealed_secret_test AS sealed FROM merchants \
          UNION ALL SELECT sealed_secret_live FROM merchants \
          UNION ALL SELECT former_secret_test FROM merchants WHERE former_until_test > ", $now, " \
          UNION ALL SELECT former_secret_live FROM merchants WHERE former_until_live > ", $now, " \
          UNION ALL SELECT sealed_secret FROM hmac_credentials WHERE revoked_at IS NULL \
          UNION ALL SELECT sealed_secret FROM webhook_endpoints WHERE sealed_secret IS NOT NULL AND removed_at IS NULL \
          UNION ALL SELECT sealed FROM page_keys) AS secrets")
    };
}

statement! { KeyIds on Sqlite => Text {
    ; concat!("SELECT DISTINCT substr(sealed, 4, instr(substr(sealed, 4), '.') - 1) FROM ", in_use!(now_in_file!()))
} }

statement! { KeyIdsOnServer on Pg => Text {
    ; concat!("SELECT DISTINCT split_part(sealed, '.', 2) FROM ", in_use!(now_on_server!()))
} }

impl Store {
    /// The identifiers of the master keys under which the stored secrets are sealed, in no order. Reads all merchants,
    /// credentials and endpoints.
    pub async fn master_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let read = self.inner.engine.read::<Vec<String>, Fault>(query!(|conn| Ok(either!(
            conn,
            load,
            KeyIds,
            KeyIdsOnServer
        )?)));
        Ok(read.await?)
    }
}
