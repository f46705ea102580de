//! Used nonces.
//!
//! If another node has just used one, the row that would replace it has no time of expiry and violates a
//! constraint, so that nothing of the transaction is committed.

use diesel::sql_types::{BigInt, Text};
use quipu_commit::Changes;

use super::columns::columns;

columns! {
    in "nonces" from (line: Changes) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        value: &'a str as Text = line.nonce.as_ref().map_or("", |nonce| nonce.value.as_str());
        expires_at: i64 as BigInt = line.nonce.as_ref().map_or(0, |nonce| nonce.expires_at.millis());
    }
    then "ON CONFLICT (merchant_id, value) DO UPDATE SET expires_at = CASE WHEN nonces.expires_at <= "
        at: i64 as BigInt, " THEN excluded.expires_at END"
}
