//! The guard of addresses: which of them a delivery may be sent to.
//!
//! Merchants choose where deliveries go, and the gateway is inside a network that trusts it. So it connects
//! only to addresses of the public internet. Every address is checked after a name was resolved and before a
//! connection is made, so that an attacker gains nothing by a name that points to a private address or that
//! changes its address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not of the public internet (RFC 6890 and the IANA registry of special-purpose
/// addresses), each with the length of its prefix.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only block of IPv6 in use for the public internet.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The parts of that block that are not public: protocol assignments including Teredo, documentation, 6to4.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is one of the public internet.
///
/// An IPv6 address with an IPv4 address inside is never public, in any form: mapped, compatible, translated
/// (NAT64), 6to4, Teredo, ISATAP. Where it leads is decided by the translator.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|block| holds_v4(*block, address)),
        IpAddr::V6(address) => {
            holds_v6(GLOBAL_V6, address)
                && !SPECIAL_V6.iter().any(|block| holds_v6(*block, address))
                && !is_isatap(address)
        }
    }
}

/// ISATAP (RFC 5214) has no fixed prefix: the last 64 bits begin with `5efe` and end in an IPv4 address.
const fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    matches!(segments[4], 0 | 0x0200) && segments[5] == 0x5efe
}

const fn holds_v4((block, prefix): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (block.to_bits() ^ address.to_bits()) >> (32 - prefix) == 0
}

const fn holds_v6((block, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (block.to_bits() ^ address.to_bits()) >> (128 - prefix) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(text: &str) -> bool {
        is_public(text.parse().expect("an address"))
    }

    #[test]
    fn addresses_of_the_public_internet_may_be_dialled() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:800::200e",
            "2001:4860:4860::8888",
            "2001:200::1",
            "2003::1",
        ] {
            assert!(judge(text), "{text}");
        }
    }

    #[test]
    fn nothing_else_may() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "fc00::1",
            "fdff::1",
            "ff02::1",
            "100::1",
            "2001:db8::1",
            "2001:10::1",
            "2001:20::1",
            "2001:2::1",
            "3fff::1",
            "5f00::1",
            "4000::1",
            "e000::1",
        ] {
            assert!(!judge(text), "{text}");
        }
    }

    #[test]
    fn no_form_in_which_ipv4_hides_in_ipv6_is_public() {
        for v4 in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "8.8.8.8"] {
            let [a, b, c, d] = v4.parse::<Ipv4Addr>().expect("an address").octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for text in [
                format!("::ffff:{v4}"),
                format!("::{v4}"),
                format!("::ffff:0:{v4}"),
                format!("64:ff9b::{v4}"),
                format!("64:ff9b:1::{v4}"),
                format!("2002:{high:x}:{low:x}::1"),
                format!("2001::{:x}:{:x}", !high, !low),
                format!("2001:0:{high:x}:{low:x}::1"),
                format!("fe80::5efe:{v4}"),
                format!("2606:4700::5efe:{v4}"),
                format!("2606:4700::200:5efe:{v4}"),
            ] {
                assert!(!judge(&text), "{text}");
            }
        }
    }

    proptest! {
        /// The standard library also classifies some kinds of addresses, and agrees with this function on
        /// these.
        #[test]
        fn what_the_standard_library_knows_to_be_special_is_not_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation()
                || address.is_unspecified();
            prop_assert!(!special || !is_public(IpAddr::V4(address)), "{}", address);
            prop_assert!(!is_public(IpAddr::V6(address.to_ipv6_mapped())));
            prop_assert!(!is_public(IpAddr::V6(address.to_ipv6_compatible())));
        }

        #[test]
        fn a_public_ipv6_address_is_global_unicast(bits: u128) {
            let address = Ipv6Addr::from_bits(bits);
            let special = address.is_unique_local() || address.is_unicast_link_local() || address.is_multicast()
                || address.is_loopback() || address.to_ipv4().is_some();
            prop_assert!(!special || !is_public(IpAddr::V6(address)), "{}", address);
        }
    }
}
