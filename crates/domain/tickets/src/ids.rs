//! The identifiers of tickets, comments and attachments.

use std::{fmt, str::FromStr};

use quipu_kernel::{Entropy, Timestamp, Unrecognised, read_uuid, uuid_v7};
use serde::Serialize;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $name(String);

        impl $name {
            /// A new identifier for a thing made at `at`: a UUID of version 7 (RFC 9562), which sorts by
            /// time.
            pub fn new(at: Timestamp, entropy: &dyn Entropy) -> Self {
                Self(uuid_v7(at, entropy))
            }

            /// The identifier as text: 36 characters in lower case.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Unrecognised;

            /// Reads the form with hyphens, in upper or lower case.
            fn from_str(text: &str) -> Result<Self, Unrecognised> {
                read_uuid(text).map(Self).ok_or(Unrecognised { expected: $expected })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

uuid_id! {
    /// The identifier of a ticket.
    TicketId, "a ticket identifier"
}
uuid_id! {
    /// The identifier of an attachment, and of the upload that it was before.
    AttachmentId, "an attachment identifier"
}

/// The number of a comment or an internal note, 1 to 2^53 − 1. Both share one sequence, which grows with
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CommentId(pub i64);

impl fmt::Display for CommentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CommentId {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.map(Self).ok_or(Unrecognised { expected: "a comment's number" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(255);
        }
    }

    #[test]
    fn identifiers_are_uuids_that_sort_by_time() {
        let at = |millis| TicketId::new(Timestamp::from_millis(millis), &Fixed);
        let (early, late) = (at(1_763_683_200_000), at(1_763_683_200_001));
        assert_eq!(early.as_str(), "019aa3b5-ec00-7fff-bfff-ffffffffffff");
        assert!(early < late);
        assert_eq!(early.as_str().parse(), Ok(early.clone()));
        assert_eq!(early.as_str().to_uppercase().parse(), Ok(early));
    }

    #[test]
    fn other_texts_are_no_identifiers() {
        for text in [
            "",
            "x",
            "019a9f4a4400",
            "019aa3b5ec007fffbfffffffffffffff",
            "../../../../../../../../../etc/passwd",
        ] {
            assert!(text.parse::<TicketId>().is_err(), "{text:?}");
        }
        for text in ["", "-1", "+1", "1.0", "99999999999999999999"] {
            assert!(text.parse::<CommentId>().is_err(), "{text:?}");
        }
        assert_eq!("7".parse(), Ok(CommentId(7)));
    }
}
