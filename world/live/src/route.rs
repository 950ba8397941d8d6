//! Which of our addresses leads to another one: the system's routes know. And whether a port there is closed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The address that datagrams to `other` would come from. Nothing is sent.
pub fn local_towards(other: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(other)?;
    socket.local_addr().map(|local| local.ip())
}

/// How long news of a closed port is waited for.
const NEWS: Duration = Duration::from_secs(2);

/// Whether the host at the other end says that nobody listens on this UDP port. It is sent one octet that a NAT keepalive has
/// (RFC 3948 §2.3), which IKE ignores, from a socket of its own: only a connected one hears of ICMP (RFC 1122 §4.1.3.3).
pub fn is_closed(other: SocketAddr) -> io::Result<bool> {
    let socket = UdpSocket::bind((local_towards(other)?, 0))?;
    socket.connect(other)?;
    socket.set_read_timeout(Some(NEWS))?;
    socket.send(&[0xff])?;
    let heard = socket.recv(&mut [0; 1]);
    Ok(heard.is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_closed_when_nobody_listens() {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(!is_closed(address).unwrap());
        drop(listener);
        assert!(is_closed(address).unwrap());
    }

    #[test]
    fn loopback_leads_to_loopback() {
        let local = local_towards("127.0.0.1:500".parse().unwrap()).unwrap();
        assert_eq!(local, IpAddr::from([127, 0, 0, 1]));
    }
}
