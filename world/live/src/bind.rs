//! Opens sockets exactly at the requested addresses, with advice when that fails.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

use keytoll_net::Addr;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

/// The requested socket buffer; the kernel may grant less.
const BUFFER_BYTES: usize = 8 << 20;

/// A local address that cannot be used. Its message has advice.
#[derive(Debug, thiserror::Error)]
pub struct BindError {
    /// The address, whose kind shows whether it is for UDP, for TCP or directly on IP.
    pub local: Addr,
    /// Why.
    pub source: io::Error,
}

impl BindError {
    pub(crate) fn udp(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { local: Addr::Udp(address.into()), source }
    }

    pub(crate) fn tcp(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { local: Addr::Tcp(address.into()), source }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local, source } = self;
        write!(f, "listen on {}: ", described(*local))?;
        match (source.kind(), local.port()) {
            (ErrorKind::AddrInUse, Some(port)) => {
                let list = if matches!(local, Addr::Tcp(_)) { "-tlnp" } else { "-ulnp" };
                let holder = holder(port);
                write!(
                    f,
                    "the port is in use{holder}; stop who holds it (`ss {list} 'sport = :{port}'` names it) or choose another \
                     port"
                )
            }
            (ErrorKind::PermissionDenied, Some(_)) => write!(
                f,
                "no permission for a port below 1024; run as root, grant CAP_NET_BIND_SERVICE, or choose another port"
            ),
            (ErrorKind::PermissionDenied, None) => {
                write!(f, "no permission for a raw socket; run as root or grant CAP_NET_RAW")
            }
            (ErrorKind::AddrNotAvailable, _) => {
                write!(
                    f,
                    "no interface of this machine has {}; add the address or name another",
                    local.host()
                )
            }
            _ => write!(f, "{source}"),
        }
    }
}

/// `UDP 192.0.2.1:500`, `IP protocol 139 at 192.0.2.1`.
fn described(local: Addr) -> String {
    match local {
        Addr::Udp(socket) => format!("UDP {socket}"),
        Addr::Tcp(socket) => format!("TCP {socket}"),
        Addr::Sctp(socket) => format!("SCTP {socket}"),
        Addr::Ip { ip, protocol } => format!("IP protocol {protocol} at {ip}"),
        Addr::Mac(_) => local.host().to_string(),
    }
}

/// The usual owner of a port.
const fn holder(port: u16) -> &'static str {
    match port {
        500 | 4500 => ", perhaps by another IKE daemon such as strongSwan's charon",
        1812 | 1813 => ", perhaps by another RADIUS server such as FreeRADIUS",
        3868 => ", perhaps by another Diameter server",
        10_500 => ", perhaps by another HIP daemon",
        _ => "",
    }
}

/// A bound UDP socket that never blocks.
pub(crate) fn udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    only_what_was_named(&socket, address)?;
    // Only a privileged process may exceed the system's limit; a smaller buffer still works.
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
        let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    }
    if setsockopt(&socket, sockopt::SndBufForce, &BUFFER_BYTES).is_err() {
        let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    }
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A raw socket for one IP protocol at one address, which never blocks.
pub(crate) fn raw(ip: IpAddr, number: u8) -> io::Result<Socket> {
    let address = SocketAddr::new(ip, 0);
    let socket = Socket::new(Domain::for_address(address), Type::RAW, Some(i32::from(number).into()))?;
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Calls that nobody has taken yet.
const BACKLOG: i32 = 128;

/// A listening TCP socket that never blocks.
pub(crate) fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    only_what_was_named(&socket, address)?;
    // A restarted server need not wait for the end of TIME-WAIT.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// `[::]` is not also every IPv4 address.
fn only_what_was_named(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() { socket.set_only_v6(true) } else { Ok(()) }
}
