//! Packets being put together: parameters in ascending order, then length and checksum. RFC 7401 §5.1, §5.2.1, §6.4.

use std::net::IpAddr;

use keytoll_engine::trace::Parts;
use keytoll_net::transport_checksum;
use keytoll_net::wire::Writer;

use super::header::{CHECKSUM_AT, Header, LENGTH_AT, PACKET_LEN_MAX};
use super::packet::{IP_PROTOCOL, Scope, scope};
use super::parameter::{total_len, write_parameter};
use crate::hit::Hit;
use crate::names;
use crate::number::{PacketType, ParameterType};
use crate::outgoing::Outgoing;

/// A packet being put together.
#[derive(Debug)]
pub struct Builder {
    packet_type: PacketType,
    w: Writer,
    last: ParameterType,
    parts: Parts,
}

impl Builder {
    /// A packet without parameters.
    pub fn new(packet_type: PacketType, sender: Hit, receiver: Hit) -> Self {
        let mut w = Writer::with_capacity(512);
        Header { packet_type, checksum: 0, controls: 0, sender, receiver }.write(&mut w);
        Self { packet_type, w, last: ParameterType(0), parts: Parts::default() }
    }

    /// Adds a parameter whose contents `write` writes.
    ///
    /// # Panics
    /// If a parameter of a greater type was added before: whoever builds a packet knows the order of its parameters.
    pub fn parameter(&mut self, kind: ParameterType, write: impl FnOnce(&mut Writer)) -> &mut Self {
        assert!(self.last <= kind, "parameters are added in ascending order of their types");
        self.last = kind;
        self.parts.push(names::parameter(kind));
        write_parameter(&mut self.w, kind, write);
        self
    }

    /// What a MAC or signature that is added next covers.
    pub fn scope(&self) -> Scope<'_> {
        scope(self.w.as_slice(), self.w.len())
    }

    /// Where the next parameter begins.
    pub const fn position(&self) -> usize {
        self.w.len()
    }

    /// Names a parameter that is inside an encrypted one, for traces.
    pub(crate) fn inside(&mut self, kind: ParameterType) -> &mut Self {
        self.parts.push(names::parameter(kind));
        self
    }

    /// Whether a parameter with so many octets of contents still fits into the packet.
    pub(crate) const fn has_room(&self, len: usize) -> bool {
        self.w.len() + total_len(len) <= PACKET_LEN_MAX
    }

    /// The packet with its names: as a response or not, and with the id of its exchange.
    ///
    /// # Panics
    /// If it is longer than [`PACKET_LEN_MAX`]: for packets that repeat nothing of the peer's, and so have lengths of our own.
    pub(crate) fn outgoing(self, response: bool, id: u32) -> Outgoing {
        self.fitting(response, id).expect("packets of ours are shorter than a length field can say")
    }

    /// The same of a packet whose length others decide, too; none if it has become too long.
    pub(crate) fn fitting(self, response: bool, id: u32) -> Option<Outgoing> {
        let (packet_type, parts) = (self.packet_type, self.parts);
        Some(Outgoing { packet_type, parts, response, id, bytes: self.finish()? })
    }

    /// The packet, its checksum zero, as UDP carries it (RFC 9028 §5.1); none if it is longer than [`PACKET_LEN_MAX`].
    pub fn finish(self) -> Option<Vec<u8>> {
        let mut bytes = self.w.finish();
        if bytes.len() > PACKET_LEN_MAX {
            return None;
        }
        bytes[LENGTH_AT] = u8::try_from(bytes.len() / 8 - 1).ok()?;
        Some(bytes)
    }
}

// RFC 7401 §5.1.1: over the pseudo-header of the packet's addresses and the packet.
/// Puts the checksum between these addresses into a packet that has none yet.
pub fn put_checksum(bytes: &mut [u8], addresses: (IpAddr, IpAddr)) {
    bytes[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let sum = transport_checksum(addresses, IP_PROTOCOL, bytes);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}
