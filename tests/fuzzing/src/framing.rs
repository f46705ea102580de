//! The framing of requests on one connection.

use quipu_http::fuzzing::{Framing, read_framing};

/// The most bytes that a run tries. What is longer is read in the same way, and a head beyond all bounds is
/// judged by what has come of it.
const MOST: usize = 4 * 1024;
/// The word that is written over, and the one that is written.
const OFFER: &[u8] = b"upgrade";
const IGNORED: &[u8] = b"ignored";

/// The bytes of a connection, in pieces of several lengths.
pub(crate) fn framing(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(MOST)];
    let whole = read_framing(bytes, || bytes.len());
    begins(bytes, &whole);
    for lengths in [&[1][..], &[2, 3, 7], &[64, 1, 500]] {
        let mut lengths = lengths.iter().copied().cycle();
        let cut = read_framing(bytes, || lengths.next().unwrap_or(1));
        assert_eq!(cut, whole, "it depends on how it is cut: {:?}", String::from_utf8_lossy(bytes));
    }
    !whole.bodies.is_empty()
}

/// What is passed on begins like what has come, but for offers to upgrade.
fn begins(bytes: &[u8], Framing { passed_on, .. }: &Framing) {
    assert!(passed_on.len() <= bytes.len(), "bytes were added");
    let mut at = 0;
    while at < passed_on.len() {
        if passed_on[at] == bytes[at] {
            at += 1;
            continue;
        }
        let end = passed_on.len().min(at + OFFER.len());
        // An offer in capitals differs at once, and one in small letters too: the words share no beginning.
        let is_offer = bytes[at..end].eq_ignore_ascii_case(OFFER) && &passed_on[at..end] == IGNORED;
        assert!(
            is_offer,
            "{:?} became {:?}",
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(passed_on)
        );
        at = end;
    }
}
