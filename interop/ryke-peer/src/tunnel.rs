//! Steps of a device with an SA: echoes, requests, and the gateway's requests.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use ryke::{ChildSa, IkeHeader, is_ike_on_4500, unwrap_ike_4500, wrap_ike_4500};

use crate::Outcome;
use crate::packet::{echo_reply_in, echo_request};
use crate::requests::{Change, Peer};
use crate::settings::Settings;
use crate::wire::{PATIENCE, receive};

/// Echoes of one step.
const ECHOES: u16 = 5;
/// Time to wait for the answer to an echo.
const ECHO_LIMIT: Duration = Duration::from_secs(2);

/// An IKE SA with a CHILD SA.
pub struct Tunnel {
    pub peer: Peer,
    pub child: ChildSa,
    /// The socket of ESP, at port 4500 of IKE, too.
    pub socket: UdpSocket,
    pub esp: SocketAddr,
    /// IKE SAs that were replaced and not yet deleted.
    pub old: Vec<Peer>,
}

impl Tunnel {
    /// Takes a step.
    pub fn step(&mut self, word: &str, settings: &Settings) -> Outcome<()> {
        match word {
            "echo" => {
                let ends = (settings.need("inner")?.parse()?, settings.need("ping")?.parse()?);
                echo(&mut self.child, &self.socket, self.esp, ends)
            }
            "serve" => self.serve(),
            "probe" => self.peer.probe(),
            "repeat" => self.peer.repeat(),
            "rekey" => self.peer.rekey(&self.child).map(|child| self.child = child),
            "delete" => self.peer.end(),
            _ => Err(format!("no step {word}").into()),
        }
    }

    /// Answers the next request of the gateway.
    fn serve(&mut self) -> Outcome<()> {
        self.socket.set_read_timeout(Some(PATIENCE))?;
        loop {
            let (datagram, from) = receive(&self.socket)?;
            let Some(request) = unwrap_ike_4500(&datagram) else { continue };
            let spis = |peer: &Peer| (peer.sa.spi_i, peer.sa.spi_r);
            let header = IkeHeader::parse(request)?;
            let asked = (header.initiator_spi, header.responder_spi);
            let known = std::iter::once(&self.peer).chain(&self.old).find(|peer| spis(peer) == asked);
            let Some(peer) = known.filter(|_| !header.flags.response) else { continue };
            let (response, change) = peer.answer(request, None)?;
            self.socket.send_to(&wrap_ike_4500(&response), from)?;
            match change {
                Change::None | Change::End => {}
                Change::Child(child) => self.child = child,
                Change::Ike(sa) => {
                    let new = Peer { sa: *sa, next_id: 0, ..self.peer.clone() };
                    self.old.push(std::mem::replace(&mut self.peer, new));
                }
            }
            return Ok(());
        }
    }
}

/// Five echoes, one after another.
pub fn echo(
    child: &mut ChildSa,
    socket: &UdpSocket,
    gateway: SocketAddr,
    (source, destination): (Ipv4Addr, Ipv4Addr),
) -> Outcome<()> {
    let mut answered = 0;
    for sequence in 1..=ECHOES {
        let request = child.outbound.seal(&echo_request(source, destination, sequence), 4)?;
        socket.send_to(&request, gateway)?;
        answered += u16::from(awaits_reply(child, socket, sequence)?);
    }
    println!("echo: {answered} of {ECHOES} answered");
    Ok(())
}

fn awaits_reply(child: &ChildSa, socket: &UdpSocket, sequence: u16) -> Outcome<bool> {
    let end = Instant::now() + ECHO_LIMIT;
    socket.set_read_timeout(Some(ECHO_LIMIT))?;
    while Instant::now() < end {
        let Ok((datagram, from)) = receive(socket) else { break };
        if is_ike_on_4500(&datagram) {
            continue;
        }
        let Ok((inner, _)) = child.inbound.open(&datagram) else { continue };
        if echo_reply_in(&inner) == Some(sequence) {
            println!("echo {sequence} answered from port {}", from.port());
            return Ok(true);
        }
    }
    Ok(false)
}
