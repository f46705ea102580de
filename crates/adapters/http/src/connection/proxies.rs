//! Which proxies are trusted to say where a call comes from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use actix_web::{HttpRequest, http::header};
use quipu_kernel::Network;

/// Whether a proxy at the address is trusted.
pub(crate) fn is_trusted(address: IpAddr, trusted: &[Network]) -> bool {
    trusted.iter().any(|network| network.contains(address))
}

/// The client's address: the peer, or, behind trusted proxies, the address that they name in
/// `X-Forwarded-For`. The rightmost address that is not a trusted proxy counts, since that client may have
/// invented all addresses to its left.
pub(crate) fn client(request: &HttpRequest, trusted: &[Network]) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip().to_canonical();
    if !is_trusted(peer, trusted) {
        return Some(peer);
    }
    let lines = request.headers().get_all("x-forwarded-for").map(header::HeaderValue::as_bytes);
    Some(forwarded_client(peer, lines, trusted))
}

/// The client whom a trusted proxy names in these lines of `X-Forwarded-For`; the proxy itself if it names
/// none.
pub fn forwarded_client<'l>(
    proxy: IpAddr,
    lines: impl Iterator<Item = &'l [u8]>,
    trusted: &[Network],
) -> IpAddr {
    // The part that a client invented, on the left, may not be text; it must not hide the part that proxies
    // added.
    let named: Vec<_> = lines.flat_map(|line| line.split(|byte| *byte == b',')).collect();
    let mut nearest = proxy;
    for bytes in named.into_iter().rev() {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        let Some(address) = named_address(text) else { break };
        nearest = address.to_canonical();
        if !is_trusted(nearest, trusted) {
            break;
        }
    }
    nearest
}

/// An entry of `X-Forwarded-For`. Some proxies add the port, and put brackets around an IPv6 address.
fn named_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().map(|named| named.ip());
    bare.parse().or_else(|_| with_port()).ok()
}

/// The address as it is counted: an IPv4 address, or the /64 network that one IPv6 subscriber usually has
/// alone.
pub(crate) fn subscriber(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// The counted address as text.
pub(crate) fn counted_as(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "unknown".to_owned(), |address| subscriber(address).to_string())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_rightmost_address_that_is_no_trusted_proxys_counts() {
        let trusted = ["10.0.0.0/8", "fd00::1"].map(|text| text.parse().expect("a network"));
        for (peer, forwarded, expected) in [
            ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
            ("10.1.2.3", "198.51.100.7", "198.51.100.7"),
            ("10.1.2.3", "203.0.113.9, 198.51.100.7, 10.9.9.9", "198.51.100.7"),
            ("10.1.2.3", "nonsense", "10.1.2.3"),
            ("10.1.2.3", "", "10.1.2.3"),
            ("fd00::1", "::ffff:198.51.100.7", "198.51.100.7"),
            ("10.1.2.3", "198.51.100.7:5678", "198.51.100.7"),
            ("10.1.2.3", "2001:db8::7", "2001:db8::7"),
            ("10.1.2.3", "[2001:db8::7]", "2001:db8::7"),
            ("10.1.2.3", "203.0.113.9, [2001:db8::7]:443, 10.9.9.9:80", "2001:db8::7"),
        ] {
            let peer = format!("[{peer}]:7").replace("[10", "10").replace("[192", "192");
            let peer = if peer.starts_with('[') { peer } else { peer.replace(']', "") };
            let request = TestRequest::default()
                .peer_addr(peer.parse().expect("an address"))
                .insert_header(("X-Forwarded-For", forwarded));
            let found = client(&request.to_http_request(), &trusted).expect("an address");
            assert_eq!(found.to_string(), expected, "{peer} {forwarded}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_hide_nothing_of_what_stands_to_their_right() {
        let header =
            actix_web::http::header::HeaderValue::from_bytes(b"\xc3\xa9\xff, 198.51.100.7").expect("a value");
        let request = TestRequest::default()
            .peer_addr("10.1.2.3:7".parse().expect("an address"))
            .insert_header(("X-Forwarded-For", header));
        let trusted = ["10.0.0.0/8".parse().expect("a network")];
        let found = client(&request.to_http_request(), &trusted).expect("an address");
        assert_eq!(found.to_string(), "198.51.100.7");
    }
}
