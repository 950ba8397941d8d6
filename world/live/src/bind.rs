//! Opening sockets exactly where they were asked for, and saying what to do when that fails.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};

use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

/// What the kernel may hold for a socket; it takes as much of it as it allows.
const BUFFER_BYTES: usize = 8 << 20;

/// A local address that cannot be used. Its text says what to do.
#[derive(Debug, thiserror::Error)]
pub struct BindError {
    /// UDP or TCP.
    pub carrier: &'static str,
    /// Which.
    pub address: SocketAddr,
    /// Why.
    pub source: io::Error,
}

impl BindError {
    pub(crate) fn udp(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { carrier: "UDP", address, source }
    }

    pub(crate) fn tcp(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { carrier: "TCP", address, source }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, list) = (self.carrier, if self.carrier == "TCP" { "-tlnp" } else { "-ulnp" });
        let Self { address, source, .. } = self;
        write!(f, "listen on {name} {address}: ")?;
        match source.kind() {
            ErrorKind::AddrInUse => write!(
                f,
                "the port is in use{}; stop who holds it (`ss {list} 'sport = :{}'` names it) or choose another port",
                holder(address.port()),
                address.port()
            ),
            ErrorKind::PermissionDenied => write!(
                f,
                "no permission for a port below 1024; run as root, grant CAP_NET_BIND_SERVICE, or choose another port"
            ),
            ErrorKind::AddrNotAvailable => {
                write!(
                    f,
                    "no interface of this machine has {}; add the address or name another",
                    address.ip()
                )
            }
            _ => write!(f, "{source}"),
        }
    }
}

/// Who usually has a port.
const fn holder(port: u16) -> &'static str {
    match port {
        500 | 4500 => ", perhaps by another IKE daemon such as strongSwan's charon",
        1812 | 1813 => ", perhaps by another RADIUS server such as FreeRADIUS",
        3868 => ", perhaps by another Diameter server",
        _ => "",
    }
}

/// A bound UDP socket that never blocks.
pub(crate) fn udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    only_what_was_named(&socket, address)?;
    // Only the system's administrator may go beyond the system's limit; a smaller buffer than asked for still works.
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

/// Calls that nobody has taken yet.
const BACKLOG: i32 = 128;

/// A listening TCP socket that never blocks.
pub(crate) fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    only_what_was_named(&socket, address)?;
    // Who starts again need not wait until the connections of before are forgotten.
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
