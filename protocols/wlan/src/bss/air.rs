//! Frames to and from the air.

use keytoll_engine::trace::{Fact, Message, Protocol, Trace};
use keytoll_engine::{Addr, Datagram};
use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::{BROADCAST, ETHER_TYPE_IPV4, ETHER_TYPE_IPV6};
use crate::cipher::Side;
use crate::eapol::PacketType;
use crate::frame::header::{Addresses, DataHeader, Header, ManagementHeader, SequenceControl};
use crate::frame::management::{Action, subtype};
use crate::frame::{Flags, Frame, Management, llc};
use crate::{MacAddr, eapol, names};

/// Our end of the air, which numbers frames.
#[derive(Debug)]
pub(crate) struct Air {
    pub(crate) own: MacAddr,
    number: u16,
}

/// What a data frame carries for us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// An EAPOL PDU.
    Eapol(Vec<u8>),
    /// An IP packet.
    Packet(Vec<u8>),
}

impl Air {
    pub(crate) const fn new(own: MacAddr) -> Self {
        Self { own, number: 0 }
    }

    fn sequence(&mut self) -> SequenceControl {
        // 802.11-2020 §9.2.4.4.2: numbers count modulo 4096.
        self.number = (self.number + 1) % 4096;
        SequenceControl::numbered(self.number)
    }

    // 802.11-2020 §9.3.3.1: who asks all networks has the wildcard BSSID.
    /// Whether a management frame is for us as an access point: a probe request may be for everybody.
    pub(crate) fn is_for_access_point(&self, header: &ManagementHeader) -> bool {
        let is_probe = header.subtype == subtype::PROBE_REQUEST;
        let is_ours = |address: MacAddr| address == self.own || is_probe && address == BROADCAST;
        is_ours(header.destination) && is_ours(header.bssid)
    }

    /// Whether a management frame is one of an access point, and for us as a station or for everybody.
    pub(crate) fn is_for_station(&self, header: &ManagementHeader) -> bool {
        header.source == header.bssid && [self.own, BROADCAST].contains(&header.destination)
    }

    /// The header of a management frame.
    pub(crate) fn management(&mut self, subtype: u8, to: MacAddr, bssid: MacAddr) -> ManagementHeader {
        let sequence = self.sequence();
        ManagementHeader { sequence, ..ManagementHeader::new(subtype, to, self.own, bssid) }
    }

    /// A management frame in the clear; the trace is told of it.
    pub(crate) fn manage(
        &mut self,
        (to, bssid): (MacAddr, MacAddr),
        body: &Management<'_>,
        again: bool,
        trace: &mut dyn Trace,
    ) -> Datagram {
        let header = Header::Management(self.management(body.subtype(), to, bssid));
        let bytes = Frame { header, body: &body.to_bytes() }.to_bytes();
        let message = told(body, bytes.len());
        trace.record(Fact::Sent(Message { retransmission: again, ..message }));
        self.datagram(to, Protocol::MANAGEMENT, bytes)
    }

    /// An authentication frame whose body is written, and encrypted if it is protected; the trace is told of it.
    pub(crate) fn authenticate(
        &mut self,
        (to, bssid): (MacAddr, MacAddr),
        (sequence, body): (u16, &[u8]),
        again: bool,
        trace: &mut dyn Trace,
    ) -> Datagram {
        let mut header = self.management(subtype::AUTHENTICATION, to, bssid);
        // 802.11-2020 §12.3.3.3.4: the third frame is encrypted.
        if sequence == 3 {
            header.flags = protected(header.flags);
        }
        let bytes = Frame { header: Header::Management(header), body }.to_bytes();
        let message = names::management(subtype::AUTHENTICATION, sequence % 2 == 0, sequence, bytes.len());
        trace.record(Fact::Sent(Message { retransmission: again, ..message }));
        self.datagram(to, Protocol::MANAGEMENT, bytes)
    }

    /// The header of a data frame.
    pub(crate) fn data(&mut self, addresses: Addresses) -> DataHeader {
        let sequence = self.sequence();
        DataHeader { sequence, ..DataHeader::new(addresses) }
    }

    /// A frame as a datagram.
    pub(crate) fn frame(&self, header: Header, body: &[u8], protocol: Protocol) -> Datagram {
        let to = match header {
            Header::Data(data) => data.addresses.receiver(),
            Header::Management(management) => management.destination,
            Header::Control(control) => control.receiver,
        };
        self.datagram(to, protocol, Frame { header, body }.to_bytes())
    }

    const fn datagram(&self, to: MacAddr, protocol: Protocol, bytes: Vec<u8>) -> Datagram {
        Datagram { protocol, from: Addr::Mac(self.own), to: Addr::Mac(to), bytes }
    }
}

/// What traces are told of a management frame. What only an access point sends answers something.
pub(crate) fn told(body: &Management<'_>, bytes: usize) -> Message {
    let (is_answer, number) = match body {
        Management::Authentication(authentication) => {
            (authentication.sequence % 2 == 0, authentication.sequence)
        }
        Management::AssociationResponse(_) | Management::Beacon(_) => (true, 0),
        Management::Action(Action::SaQuery(query)) => {
            (query.is_response, u16::from_le_bytes(query.transaction))
        }
        _ => (false, 0),
    };
    names::management(body.subtype(), is_answer, number, bytes)
}

/// What traces are told of an EAPOL PDU of ours: a supplicant answers.
pub(crate) fn told_eapol(pdu: &[u8], ours: Side) -> Message {
    let read = eapol::Pdu::read(pdu).ok();
    let packet_type = read.map_or(PacketType::KEY, |pdu| pdu.packet_type);
    // RFC 3748 §4: the identifier is the second octet of an EAP packet.
    let identifier = read.filter(|pdu| pdu.packet_type == PacketType::EAP_PACKET);
    let identifier = identifier.and_then(|pdu| pdu.body.get(1).copied()).unwrap_or(0);
    let is_answer = ours == Side::Supplicant && packet_type != PacketType::START;
    names::pdu(packet_type, is_answer, identifier, pdu.len())
}

/// The flags of a protected frame.
pub(crate) const fn protected(flags: Flags) -> Flags {
    flags.with(Flags::PROTECTED)
}

/// LLC and SNAP in front of a payload.
pub(crate) fn with_llc(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut w = Writer::with_capacity(llc::LEN + payload.len() + 32);
    llc::write(&mut w, ether_type);
    w.bytes(payload);
    w.finish()
}

/// An IP packet behind LLC and SNAP; none if it is of no version.
pub(crate) fn packet_of(packet: &[u8]) -> Option<Vec<u8>> {
    let ether_type = match packet.first()? >> 4 {
        4 => ETHER_TYPE_IPV4,
        6 => ETHER_TYPE_IPV6,
        _ => return None,
    };
    Some(with_llc(ether_type, packet))
}

impl Heard {
    /// What is behind LLC and SNAP.
    pub(crate) fn read(mut body: Vec<u8>) -> Result<Option<Self>, DecodeError> {
        let ether_type = llc::read(&mut Reader::new(&body))?;
        // In place: every data frame comes by here.
        body.drain(..llc::LEN);
        Ok(match ether_type {
            eapol::pdu::ETHER_TYPE => Some(Self::Eapol(body)),
            ETHER_TYPE_IPV4 | ETHER_TYPE_IPV6 => Some(Self::Packet(body)),
            _ => None,
        })
    }
}
