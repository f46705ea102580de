//! Reads one request head: what follows it, and whether it is the last one of its connection.

/// The longest head that is read. One that has not arrived whole is kept in memory for as long as it may take.
pub(super) const LONGEST: usize = 32 * 1024;
/// The most lines of a head, the same as the web server's limit.
const LINES: usize = 96;
/// What no head begins with.
const NO_TEXT: u8 = 0;
/// The name of the header, and of the connection option, that offer another protocol.
const OFFER: &str = "upgrade";
/// The text written over an offer: a name of the same length without a meaning.
const IGNORED: &[u8; OFFER.len()] = b"ignored";

/// How bytes at the beginning of a head are read.
#[derive(Debug)]
pub(super) enum Beginning {
    Whole(Head),
    /// A head of this many bytes that leaves unclear where its body ends. The web server refuses it.
    Endless(usize),
    /// A head that is too long. It is made one that the web server refuses.
    Oversized,
    /// The rest of the head has not arrived.
    Part,
    /// Not a head; the web server refuses it.
    Nonsense,
}

/// One request head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) body: Body,
    /// Whether the connection ends with this request.
    pub(super) is_last: bool,
}

/// The body that follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Bytes(u64),
    Chunks,
}

/// Reads a head, and overwrites any offer to upgrade in it. We upgrade to nothing, so an offer has to be
/// ignored (RFC 9110, section 7.8), but the web server would take all later bytes for the other protocol.
pub(super) fn read(bytes: &mut [u8]) -> Beginning {
    let mut lines = [httparse::EMPTY_HEADER; LINES];
    let mut request = httparse::Request::new(&mut lines);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= LONGEST => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Beginning::Part,
        Ok(_) => {
            bytes[0] = NO_TEXT;
            return Beginning::Oversized;
        }
        Err(_) => return Beginning::Nonsense,
    };
    let Some(body) = body(&request) else { return Beginning::Endless(length) };
    // The web server would take all bytes after a CONNECT for its body.
    let is_tunnel = request.method == Some("CONNECT") && body == Body::None;
    let is_last = is_tunnel || is_last(&request);
    let begin = bytes.as_ptr().addr();
    let offers: Vec<_> = offers(&request).map(|offer| offer.as_ptr().addr() - begin).collect();
    for at in offers {
        bytes[at..at + IGNORED.len()].copy_from_slice(IGNORED);
    }
    Beginning::Whole(Head { length, body, is_last })
}

/// The body that follows a head (RFC 9112, section 6.3); `None` if that is unclear.
fn body(request: &httparse::Request<'_, '_>) -> Option<Body> {
    let mut length = None;
    let mut is_chunked = false;
    for line in request.headers.iter() {
        let value = str::from_utf8(line.value).unwrap_or_default().trim();
        if line.name.eq_ignore_ascii_case("content-length") {
            let (None, Ok(bytes)) = (length, value.parse::<u64>()) else { return None };
            length = Some(bytes);
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            if is_chunked || request.version != Some(1) || !value.eq_ignore_ascii_case("chunked") {
                return None;
            }
            is_chunked = true;
        }
    }
    match (is_chunked, length) {
        (true, None) => Some(Body::Chunks),
        (true, Some(_)) => None,
        (false, Some(bytes)) if bytes > 0 => Some(Body::Bytes(bytes)),
        (false, _) => Some(Body::None),
    }
}

/// Whether the client wants no further answer on the connection (RFC 9112, section 9.3).
fn is_last(request: &httparse::Request<'_, '_>) -> bool {
    let has = |wanted: &[u8]| options(request).any(|option| option.eq_ignore_ascii_case(wanted));
    has(b"close") || request.version == Some(0) && !has(b"keep-alive")
}

/// The options in the `Connection` header.
fn options<'r>(request: &'r httparse::Request<'_, '_>) -> impl Iterator<Item = &'r [u8]> {
    let lines = request.headers.iter().filter(|line| line.name.eq_ignore_ascii_case("connection"));
    lines.flat_map(|line| line.value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

/// The names in a head that offer another protocol.
fn offers<'r>(request: &'r httparse::Request<'_, '_>) -> impl Iterator<Item = &'r [u8]> {
    let names = request.headers.iter().map(|line| line.name.as_bytes());
    names.chain(options(request)).filter(|word| word.eq_ignore_ascii_case(OFFER.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head as it is passed on, and what was read in it.
    fn passed(head: &str) -> (String, Head) {
        let mut bytes = head.as_bytes().to_vec();
        let Beginning::Whole(head) = read(&mut bytes) else { panic!("no head: {head}") };
        (String::from_utf8(bytes).expect("UTF-8"), head)
    }

    #[test]
    fn an_offer_to_upgrade_is_not_passed_on() {
        let offering = "POST /upgrade HTTP/1.1\r\nHost: upgrade\r\nUPGRADE: websocket\r\nX-Upgrade: upgrade\r\n\
                        Connection: keep-alive ,Upgrade\r\nContent-Length: 7\r\nConnection: upgrade\r\n\r\nupgrade";
        let expected = "POST /upgrade HTTP/1.1\r\nHost: upgrade\r\nignored: websocket\r\nX-Upgrade: upgrade\r\n\
                        Connection: keep-alive ,ignored\r\nContent-Length: 7\r\nConnection: ignored\r\n\r\nupgrade";
        let (text, head) = passed(offering);
        assert_eq!(text, expected);
        assert_eq!((head.body, head.is_last), (Body::Bytes(7), false));
    }

    #[test]
    fn the_last_request_of_a_connection_says_so() {
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive, Close\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: disclose\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
            ("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", true),
            ("CONNECT x:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n", false),
        ] {
            assert_eq!(passed(head).1.is_last, expected, "{head}");
        }
    }
}
