//! Which of our addresses leads to another one: the system's routes know.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The address that datagrams to `other` would come from. Nothing is sent.
pub fn local_towards(other: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(other)?;
    socket.local_addr().map(|local| local.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_leads_to_loopback() {
        let local = local_towards("127.0.0.1:500".parse().unwrap()).unwrap();
        assert_eq!(local, IpAddr::from([127, 0, 0, 1]));
    }
}
