//! Listening sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listens, with a queue in which connections wait while all threads are busy.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart need not wait until the last connections of the process before are forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The address in a form that can be called: the unspecified address becomes the local one.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

#[cfg(test)]
mod tests {
    use std::{net::TcpStream, time::Duration};

    use super::*;

    #[test]
    fn many_connections_wait_while_nobody_accepts() {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("a limit");
        // Less than the whole queue, so that the test needs fewer descriptors than a shell usually has.
        let many = most.trim().parse::<usize>().expect("a number").min(700);
        let waiting: Vec<_> =
            (0..many).map(|_| TcpStream::connect_timeout(&address, Duration::from_secs(20))).collect();
        assert_eq!(waiting.iter().filter(|stream| stream.is_ok()).count(), many);
    }
}
