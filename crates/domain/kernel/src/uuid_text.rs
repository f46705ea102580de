//! UUIDs as text: 36 characters, in lower case (RFC 9562).

use uuid::{Builder, Uuid};

use crate::{entropy::Entropy, timestamp::Timestamp};

/// A new random UUID (version 4).
pub fn uuid_v4(entropy: &dyn Entropy) -> String {
    let mut random = [0; 16];
    entropy.fill(&mut random);
    Builder::from_random_bytes(random).into_uuid().to_string()
}

/// A new UUID for a thing made at `at` (version 7). They sort by time.
pub fn uuid_v7(at: Timestamp, entropy: &dyn Entropy) -> String {
    let mut random = [0; 10];
    entropy.fill(&mut random);
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string()
}

/// The UUID that `text` writes with hyphens, in upper or lower case; `None` if it writes none.
pub fn read_uuid(text: &str) -> Option<String> {
    let uuid = if text.len() == 36 { Uuid::try_parse(text).ok() } else { None };
    uuid.map(|uuid| uuid.to_string())
}
