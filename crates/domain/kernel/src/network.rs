//! Networks, as operators give them.

use std::{net::IpAddr, str::FromStr};

/// One address, or all addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    bits: u128,
    prefix: u32,
}

/// The text names no address and no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an IP address or a CIDR network")]
pub struct NoNetwork;

/// An address as a number, IPv4 within IPv6.
fn number(address: IpAddr) -> u128 {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    u128::from(address)
}

impl FromStr for Network {
    type Err = NoNetwork;

    /// `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(it, prefix)| (it, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| NoNetwork)?;
        let (width, before) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let prefix = prefix.map_or(Ok(width), str::parse::<u32>).map_err(|_| NoNetwork)?;
        if prefix > width {
            return Err(NoNetwork);
        }
        Ok(Self { bits: number(address), prefix: before + prefix })
    }
}

impl Network {
    /// Whether the address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ignored = 128 - self.prefix;
        self.prefix == 0 || self.bits >> ignored == number(address) >> ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_or_refused() {
        let network: Network = "10.0.0.0/8".parse().expect("a network");
        assert!(network.contains([10, 9, 8, 7].into()) && !network.contains([11, 0, 0, 1].into()));
        for text in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/x", "::/129"] {
            assert_eq!(text.parse::<Network>(), Err(NoNetwork), "{text}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_like_its_own() {
        for (network, within, without) in [
            ("10.0.0.7", "10.0.0.7", "10.0.0.6"),
            ("10.0.0.7/32", "10.0.0.7", "10.0.0.6"),
            ("10.0.0.7/31", "10.0.0.6", "10.0.0.5"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
            ("10.0.0.0/8", "::ffff:10.0.0.7", "::10.0.0.7"),
            ("::ffff:10.0.0.0/104", "10.0.0.7", "11.0.0.7"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::2"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::"),
            ("fd00::/8", "fdff::1", "fe00::1"),
        ] {
            let contains = |address: &str| {
                let network: Network = network.parse().expect("a network");
                network.contains(address.parse().expect("an address"))
            };
            assert_eq!((contains(within), contains(without)), (true, false), "{network}");
        }
        let all: Network = "::/0".parse().expect("a network");
        assert!(all.contains([203, 0, 113, 9].into()));
    }
}
