//! Files: statements of banks, and pictures.

use quipu_bankfiles::read_statement;
use quipu_tickets::ContentType;

/// The most bytes of a picture that a run tries: what is larger only takes longer.
const MOST_OF_PICTURE: usize = 64 * 1024;

/// A statement, as it was imported.
pub(crate) fn statement(bytes: &[u8]) -> bool {
    let read = || {
        let mut entries = Vec::new();
        let read = read_statement(bytes, |entry| entries.push(entry));
        read.map(|()| entries).map_err(|problem| problem.to_string())
    };
    let once = read();
    assert_eq!(once, read(), "it is read in two ways");
    let taken = once.is_ok();
    for entry in once.into_iter().flatten() {
        assert!(entry.amount.get() > 0, "{entry:?}");
    }
    taken
}

/// A file that says it is of some type: the first bytes, and the decoder.
pub(crate) fn picture(bytes: &[u8]) -> bool {
    let mut taken = false;
    for kind in ContentType::ALL {
        let begins = kind.begins(&bytes[..bytes.len().min(ContentType::HEAD_BYTES)]);
        if bytes.len() > MOST_OF_PICTURE || !kind.is_image() || !begins {
            continue;
        }
        if let Some((small, made)) = quipu_attachments::shrink(bytes, kind) {
            assert!(made.begins(&small[..small.len().min(ContentType::HEAD_BYTES)]), "{made:?}");
            taken = true;
        }
    }
    taken
}
