//! Parses the framing of incoming requests (heads and chunk sizes), and passes them on one by one.
//!
//! A head is passed on when it is complete, and the bytes after a request when that request is answered. So a
//! refusal by the web server itself always stands at the beginning of an answer, where it can be recognised,
//! and nothing after the last request of a connection is carried out. Bytes that are no head are passed on as
//! they are, for the web server to refuse. Of a request whose body has no certain end only the head is passed
//! on, which the web server refuses too.

use super::{
    Conversation,
    chunks::{Chunks, Followed},
    head::{self, Beginning, Body, Head},
};

/// The position of a connection in its stream of requests.
enum State {
    Head,
    /// Within a body, with this many bytes still to come.
    Body(u64),
    Chunks(Chunks),
    /// After a request.
    Behind,
    /// After everything that is passed on.
    Over,
    /// Within bytes that the web server refuses.
    Nonsense,
}

/// Follows the bytes that arrive on one connection.
pub(super) struct Incoming {
    state: State,
    /// Whether the connection ends with the present request.
    is_last: bool,
    /// Bytes that have arrived and were not passed on.
    held: Vec<u8>,
    /// How many of the held bytes may be passed on.
    free: usize,
}

impl Incoming {
    pub(super) const fn new() -> Self {
        Self { state: State::Head, is_last: false, held: Vec::new(), free: 0 }
    }

    /// Whether all of a request was passed on whose answer has not been seen. While held bytes may still be
    /// passed on they belong to this request, even if the answer is sent.
    pub(super) const fn is_behind(&self) -> bool {
        self.free == 0 && matches!(self.state, State::Behind)
    }

    /// Whether more of a request's body has to arrive.
    pub(super) const fn is_within_body(&self) -> bool {
        self.free == 0 && matches!(self.state, State::Body(_) | State::Chunks(_))
    }

    /// Whether held bytes may be passed on.
    pub(super) const fn has_free(&self) -> bool {
        self.free > 0
    }

    /// Whether bytes are held that belong to no request so far. Then no more need be read.
    pub(super) const fn is_ahead(&self) -> bool {
        self.free == 0 && !self.held.is_empty() && matches!(self.state, State::Behind | State::Over)
    }

    /// Takes bytes that have arrived. Returns how many of them are passed on at once; the others are held.
    pub(super) fn take(&mut self, arrived: &mut [u8], conversation: &Conversation) -> usize {
        if self.held.is_empty() {
            let passed = self.follow(arrived, conversation);
            self.held.extend_from_slice(&arrived[passed..]);
            return passed;
        }
        self.held.extend_from_slice(arrived);
        self.look(conversation);
        0
    }

    /// Begins the next request, after the present one was passed on and answered.
    pub(super) fn go_on(&mut self, conversation: &Conversation) {
        self.state = State::Head;
        self.look(conversation);
    }

    /// Passes on at most `at_most` of the held bytes; returns how many.
    pub(super) fn give(&mut self, at_most: usize, to: impl FnOnce(&[u8])) -> usize {
        let some = self.free.min(at_most);
        to(&self.held[..some]);
        self.free -= some;
        if some == self.held.len() {
            // An idle connection holds no memory.
            self.held = Vec::new();
        } else {
            self.held.drain(..some);
        }
        some
    }

    fn look(&mut self, conversation: &Conversation) {
        let mut held = std::mem::take(&mut self.held);
        self.free = self.follow(&mut held, conversation);
        self.held = held;
    }

    /// How many of the bytes may be passed on now.
    fn follow(&mut self, bytes: &mut [u8], conversation: &Conversation) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &mut bytes[at..];
            match &mut self.state {
                State::Head => match head::read(rest) {
                    Beginning::Whole(head) => {
                        at += head.length;
                        self.begin(&head, conversation);
                    }
                    Beginning::Part => return at,
                    Beginning::Oversized => {
                        conversation.find_oversized();
                        self.state = State::Over;
                        return at + 1;
                    }
                    Beginning::Endless(length) => {
                        self.state = State::Over;
                        return at + length;
                    }
                    Beginning::Nonsense => self.state = State::Nonsense,
                },
                State::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.end();
                    }
                }
                State::Chunks(chunks) => match chunks.follow(rest) {
                    Followed::All => return bytes.len(),
                    Followed::ToTheEnd(taken) => {
                        at += taken;
                        self.end();
                    }
                    Followed::Refused(taken) => {
                        self.state = State::Over;
                        return at + taken;
                    }
                },
                State::Behind | State::Over => return at,
                State::Nonsense => return bytes.len(),
            }
        }
        at
    }

    fn begin(&mut self, head: &Head, conversation: &Conversation) {
        self.is_last = head.is_last;
        let mut announced = None;
        match head.body {
            Body::None => self.end(),
            Body::Bytes(bytes) => self.state = State::Body(bytes),
            Body::Chunks => {
                let chunks = Chunks::new();
                announced = Some(chunks.announced());
                self.state = State::Chunks(chunks);
            }
        }
        conversation.announce(announced);
    }

    /// Notes that all of a request has arrived.
    fn end(&mut self) {
        self.state = if self.is_last { State::Over } else { State::Behind };
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            chunks::ABSURD,
            framing::{Framing, read_framing},
        },
        *,
    };

    const HEAD: &str = "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

    /// What becomes of a text in pieces of this length: the bytes that are passed on, and the announced body of
    /// each request.
    fn follow(text: &str, piece: usize) -> (String, Vec<Option<(u64, bool)>>) {
        let Framing { passed_on, bodies } = read_framing(text.as_bytes(), || piece);
        (String::from_utf8(passed_on).expect("UTF-8"), bodies)
    }

    #[test]
    fn requests_are_told_apart_however_they_are_cut() {
        let text = format!(
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /y HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello\
             {HEAD}5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n{HEAD}3 \r\n1\r\n\r\n0\r\n\r\n"
        );
        for piece in [1, 2, 3, 7, 64, 10_000] {
            let (passed, announced) = follow(&text, piece);
            assert_eq!(passed, text, "pieces of {piece}");
            assert_eq!(announced, [None, None, Some((15, false)), Some((3, false))], "pieces of {piece}");
        }
    }

    #[test]
    fn an_offer_to_upgrade_changes_nothing_however_it_is_cut() {
        let text = |name: &str| {
            format!(
                "GET / HTTP/1.1\r\nHost: x\r\n{name}: h2c\r\n\r\nPOST /y HTTP/1.1\r\nConnection: {name}\r\n\
                 {name}: websocket\r\nContent-Length: 7\r\n\r\nupgrade{}5\r\nhello\r\n0\r\n\r\n",
                HEAD.replace("\r\n\r\n", &format!("\r\n{name}: foo\r\n\r\n"))
            )
        };
        for piece in [1, 2, 3, 7, 64, 10_000] {
            let (passed, announced) = follow(&text("upgrade"), piece);
            assert_eq!(passed, text("ignored"), "pieces of {piece}");
            assert_eq!(announced, [None, None, Some((5, false))], "pieces of {piece}");
        }
    }

    #[test]
    fn what_comes_behind_a_request_waits_for_its_answer() {
        let (conversation, mut incoming) = (Conversation::new(None), Incoming::new());
        let first = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
        let mut bytes = format!("{first}BAD\r\n\r\n").into_bytes();
        assert_eq!(incoming.take(&mut bytes, &conversation), first.len());
        assert!(incoming.is_behind() && incoming.is_ahead() && !incoming.has_free());
        incoming.go_on(&conversation);
        let mut given = Vec::new();
        incoming.give(100, |bytes| given.extend_from_slice(bytes));
        assert_eq!(given, b"BAD\r\n\r\n");
    }

    #[test]
    fn the_next_request_waits_until_all_of_one_is_given_even_if_that_is_answered() {
        let (conversation, mut incoming) = (Conversation::new(None), Incoming::new());
        let (begun, rest) = HEAD.split_at(30);
        assert_eq!(
            incoming.take(&mut begun.as_bytes().to_vec(), &conversation),
            0,
            "a head is passed on whole"
        );
        let mut arrived = format!("{rest}7\r\nBAD\r\n\r\n\r\n0\r\n\r\nGET / HTTP").into_bytes();
        assert_eq!(incoming.take(&mut arrived, &conversation), 0);
        let mut given = Vec::new();
        while incoming.has_free() {
            assert!(!incoming.is_behind(), "its body is still held");
            incoming.give(HEAD.len(), |bytes| given.extend_from_slice(bytes));
        }
        assert!(incoming.is_behind() && incoming.is_ahead());
        assert!(given.ends_with(b"0\r\n\r\n"));
        incoming.go_on(&conversation);
        assert!(!incoming.has_free(), "of the next head only a part has come");
    }

    #[test]
    fn nothing_is_passed_on_behind_the_last_request() {
        let first = "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        for piece in [1, 10_000] {
            let (passed, _) = follow(&format!("{first}GET / HTTP/1.1\r\nHost: x\r\n\r\n"), piece);
            assert_eq!(passed, first);
        }
    }

    #[test]
    fn a_head_is_not_waited_for_beyond_all_bounds() {
        let endless = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(200_000));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(head::LONGEST));
        for text in [endless, long] {
            for piece in [1_000, 30_000, 300_000] {
                assert_eq!(follow(&text, piece).0, "\0", "what the web server refuses");
            }
        }
        let longest = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(head::LONGEST - 18));
        assert_eq!(longest.len(), head::LONGEST);
        assert_eq!(follow(&longest, 1_000).0, longest);
    }

    #[test]
    fn what_is_announced_is_known_before_it_comes() {
        for (size, expected) in [("200000", 0x0020_0000), ("FFFFFFFF", 0xFFFF_FFFF)] {
            let (_, announced) = follow(&format!("{HEAD}{size}\r\n"), 1);
            assert_eq!(announced, [Some((expected, false))]);
        }
        for size in ["8000000000000000", "10000000000000000", "fffffffffffffffffffffffff"] {
            let text = format!("{HEAD}{size}\r\nabc");
            let (passed, announced) = follow(&text, 10_000);
            assert!(passed.len() < text.len() - 5, "the web server would stumble over {size}");
            assert!(matches!(announced[..], [Some((bytes, false))] if bytes > ABSURD), "{announced:?}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_not_passed_on() {
        for wrong in [
            "zz\r\n",
            "\r\n",
            "-1\r\n",
            "5\nhello",
            "1\r\nab",
            "1\r\na\rx",
            "0\r\n\n",
            "0\r\nT: z\n\r\n",
            "1 1\r\n",
            "1;\u{1}",
            "1;x=\"y\"\r\n",
            "1;x=\\\r\n",
        ] {
            let text = format!("{HEAD}{wrong}");
            for piece in [1, 10_000] {
                let (passed, announced) = follow(&text, piece);
                assert!(passed.len() < text.len(), "{wrong:?}");
                assert!(matches!(announced[..], [Some((_, true))]), "{wrong:?}: {announced:?}");
            }
        }
    }

    #[test]
    fn what_is_no_head_passes() {
        let text = "nonsense\r\n\r\nzz\r\n";
        assert_eq!(follow(text, 10_000).0, text);
    }

    #[test]
    fn of_a_request_whose_end_is_in_doubt_only_the_head_passes() {
        for head in [
            "POST /x HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "POST /x HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "POST /x HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST /x HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST /x HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n",
            "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            for piece in [1, 10_000] {
                let (passed, announced) = follow(&format!("{head}GET / HTTP/1.1\r\nHost: x\r\n\r\n"), piece);
                assert_eq!((passed.as_str(), announced.len()), (head, 0));
            }
        }
    }
}
