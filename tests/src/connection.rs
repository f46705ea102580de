//! What the system knows of connections.

use std::net::SocketAddr;

/// Whether the system still has the server's side of a connection over 127.0.0.1. Beside other tests its list has thousands of
/// lines, so it should not be asked without a pause.
pub fn is_held(server: SocketAddr, client: SocketAddr) -> bool {
    let end = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let connections = std::fs::read_to_string("/proc/net/tcp").expect("a list of connections");
    connections.contains(&format!("{} {}", end(server), end(client)))
}
