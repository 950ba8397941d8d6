//! The gateway's part in echoes: it answers requests for its addresses through the SA that leads back. RFC 792, RFC 4443 §4.2.

use std::net::IpAddr;

use super::{Echoes, Fate};
use crate::icmp::{self, Echo};
use crate::ip;
use crate::ipsec::Delivered;

/// A host that answers echo requests.
#[derive(Debug)]
pub struct Responder {
    addresses: Vec<IpAddr>,
}

impl Responder {
    /// Answers for these addresses.
    pub const fn new(addresses: Vec<IpAddr>) -> Self {
        Self { addresses }
    }
}

impl Echoes for Responder {
    fn fate(&mut self, packet: Delivered, has_interface: bool) -> Fate {
        if has_interface {
            return Fate::Interface(packet);
        }
        let is_ours = self.addresses.contains(&packet.destination);
        if !is_ours || packet.protocol != icmp::protocol(packet.source) {
            return Fate::Discarded(Some("icmp: not for the gateway"));
        }
        match Echo::read(packet.source, packet.destination, packet.payload()) {
            Ok(Some(echo)) if echo.reply => Fate::Discarded(None),
            Ok(Some(request)) => reply(request, &packet).map_or(Fate::Discarded(None), Fate::Answered),
            _ => Fate::Discarded(Some("icmp: malformed")),
        }
    }
}

/// The IP packet that answers a request.
fn reply(request: Echo, packet: &Delivered) -> Option<Vec<u8>> {
    let (source, destination) = (packet.destination, packet.source);
    let payload = Echo { reply: true, ..request }.write(source, destination);
    ip::Packet { source, destination, protocol: packet.protocol, payload: &payload }.write()
}
