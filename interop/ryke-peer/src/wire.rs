//! Datagrams of IKE between one socket and the gateway: at port 500 as they are, at port 4500 behind a marker (RFC 3948 §2.2).

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use ryke::{is_ike_on_4500, unwrap_ike_4500, wrap_ike_4500};

use crate::Outcome;

/// Time to wait for an answer of IKE.
pub const PATIENCE: Duration = Duration::from_secs(8);
/// Datagrams are not longer.
const DATAGRAM: usize = 65_535;

/// A socket, and where its requests go.
pub struct Wire {
    pub socket: UdpSocket,
    gateway: SocketAddr,
    is_marked: bool,
}

impl Wire {
    /// A socket with a new port.
    pub fn new(gateway: SocketAddr, is_marked: bool) -> Outcome<Self> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, gateway, is_marked })
    }

    /// The same socket for IKE at port 4500.
    pub fn moved_to(self, gateway: SocketAddr) -> Self {
        Self { gateway, is_marked: true, ..self }
    }

    /// Sends a request of IKE and waits for its response.
    pub fn ask(&self, request: &[u8]) -> Outcome<Vec<u8>> {
        let wrapped = if self.is_marked { wrap_ike_4500(request) } else { request.to_vec() };
        self.socket.send_to(&wrapped, self.gateway)?;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let (datagram, _) = receive(&self.socket)?;
            match (self.is_marked, is_ike_on_4500(&datagram)) {
                (true, true) => return Ok(unwrap_ike_4500(&datagram).unwrap_or_default().to_vec()),
                (false, _) => return Ok(datagram),
                (true, false) => {}
            }
        }
        Err("no response".into())
    }
}

/// The next datagram, and where it came from.
pub fn receive(socket: &UdpSocket) -> Outcome<(Vec<u8>, SocketAddr)> {
    let mut buffer = vec![0; DATAGRAM];
    let (length, from) = socket.recv_from(&mut buffer)?;
    buffer.truncate(length);
    Ok((buffer, from))
}
