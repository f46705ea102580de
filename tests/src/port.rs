//! Ports for servers that begin to listen later.

use std::{
    hash::{BuildHasher as _, RandomState},
    net::{Ipv4Addr, TcpListener},
};

/// A TCP port of this machine on which nobody listens. It is below those that the system hands out by itself, so that
/// nobody is given it until its server is there, or while it is down.
pub fn free_port() -> u16 {
    let random = || u16::try_from(RandomState::new().hash_one(()) % 12_000).expect("a small number");
    let mut candidates = std::iter::repeat_with(|| 20_000 + random());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    candidates.find(is_free).expect("the candidates never end")
}
