//! A device's end of IKEv2 on a bare socket: every message passes the hands of whoever uses it, and nothing is said again.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Rng;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_ike::v2::Endpoint;
use keytoll_ike::{Command, Config, Event};
use keytoll_net::Addr;

use crate::trouble::Result;

/// A UDP datagram is not longer.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// A message that came, and what comes of it.
pub(crate) type Heard<'a> = (&'a [u8], Vec<Output<Event>>);

/// The endpoint and its socket.
pub(crate) struct Initiator {
    endpoint: Endpoint,
    crypto: Real,
    socket: UdpSocket,
    /// From where to where.
    route: (IpAddr, IpAddr),
    buffer: Vec<u8>,
}

impl Initiator {
    /// At port 500 of the first address, towards the second one; `patience` is how long it waits for a message.
    pub(crate) fn new(config: Config, route: (IpAddr, IpAddr), rng: Rng, patience: Duration) -> Result<Self> {
        let socket = UdpSocket::bind((route.0, config.port))?;
        socket.set_read_timeout(Some(patience))?;
        let (endpoint, buffer) = (Endpoint::new(config, rng), vec![0; DATAGRAM_BYTES_MAX]);
        Ok(Self { endpoint, crypto: Real::default(), socket, route, buffer })
    }

    /// Begins an SA; gives what is to be sent and what it tells.
    pub(crate) fn initiate(&mut self) -> Vec<Output<Event>> {
        let (local, remote) = self.route;
        self.command(Command::Initiate { connection: 0, local, remote })
    }

    pub(crate) fn command(&mut self, command: Command) -> Vec<Output<Event>> {
        handle(&mut self.endpoint, &mut self.crypto, Input::Command(command))
    }

    /// The next message; none if none comes in time.
    pub(crate) fn receive(&mut self) -> Result<Option<Heard<'_>>> {
        let Self { endpoint, crypto, socket, buffer, .. } = self;
        let (length, from) = match socket.recv_from(buffer) {
            Ok(received) => received,
            // An ICMP error of what was sent before is no message either.
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(why) => return Err(why.into()),
        };
        let (from, to, bytes) =
            (Addr::Udp(from.into()), Addr::Udp(socket.local_addr()?.into()), &buffer[..length]);
        let outputs = handle(endpoint, crypto, Input::Datagram { from, to, bytes });
        Ok(Some((bytes, outputs)))
    }

    pub(crate) fn send(&self, datagram: &Datagram) -> Result<()> {
        let to = datagram.to.socket().ok_or("IKE goes to ports of UDP")?;
        self.socket.send_to(&datagram.bytes, SocketAddr::from(to))?;
        Ok(())
    }
}

/// Time stands still, so that nothing is said again.
fn handle(endpoint: &mut Endpoint, crypto: &mut Real, input: Input<'_, Command>) -> Vec<Output<Event>> {
    let mut cx = Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace };
    endpoint.handle(input, &mut cx);
    std::iter::from_fn(|| endpoint.poll()).collect()
}
