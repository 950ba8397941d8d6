//! Frames of wireless LANs: what the capture puts around them, and what a family takes out of them.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_crypto::Real;
use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Aired, LinkSeal, OnAir, Passed};
use keytoll_net::Addr;

use super::Origin;
use super::link::{Carried, Way, of_ether_type};
use crate::passage;
use crate::read::Frame;

/// Takes frames apart, by the first family that does.
pub(super) struct Air {
    on_air: Vec<Box<dyn OnAir>>,
    crypto: Real,
}

impl fmt::Debug for Air {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Air({} families)", self.on_air.len())
    }
}

/// What was in a frame.
pub(super) enum Taken {
    Message(Message),
    Pdu(Pdu),
}

/// A message of a wireless LAN's family.
pub(super) struct Message {
    protocol: Protocol,
    ends: [[u8; 6]; 2],
    bytes: Vec<u8>,
    seal: LinkSeal,
    /// Of the frame as it was on the air.
    wire_bytes: u32,
}

/// What any LAN carries.
pub(super) struct Pdu {
    ether_type: u16,
    ends: [[u8; 6]; 2],
    bytes: Vec<u8>,
    seal: LinkSeal,
}

impl Air {
    pub(super) fn new(on_air: Vec<Box<dyn OnAir>>) -> Self {
        Self { on_air, crypto: Real::default() }
    }

    /// Frames that were decrypted so far.
    pub(super) fn opened(&self) -> u64 {
        self.on_air.iter().map(|on_air| on_air.opened()).sum()
    }

    /// What is in a frame, or its kind if it is of no interest.
    pub(super) fn take(&mut self, frame: &[u8]) -> Result<Vec<Taken>, String> {
        let on_air = self.on_air.first_mut().ok_or("802.11")?;
        let wire_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let taken = |aired| match aired {
            Aired::Message { protocol, from, to, bytes, seal } => {
                Taken::Message(Message { protocol, ends: [from, to], bytes, seal, wire_bytes })
            }
            Aired::Pdu { ether_type, from, to, pdu, seal } => {
                Taken::Pdu(Pdu { ether_type, ends: [from, to], bytes: pdu, seal })
            }
        };
        Ok(on_air.take(frame, &mut self.crypto)?.into_iter().map(taken).collect())
    }
}

impl Pdu {
    /// The same as if a wire had carried it.
    pub(super) fn carried(&self) -> Result<Carried<'_>, String> {
        let [from, to] = self.ends.map(Some);
        of_ether_type(self.ether_type, &self.bytes, Way { direction: 0, from, to, seal: self.seal })
    }
}

impl Message {
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.ends, &self.bytes).hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn passed(self, frame: &Frame, origin: &Origin) -> Passed {
        let [from, to] = self.ends.map(Addr::Mac);
        Passed {
            first_ns: frame.at_ns,
            at_ns: frame.at_ns,
            frame: frame.number,
            packets: 1,
            wire_bytes: self.wire_bytes,
            datagram: Datagram { protocol: self.protocol, from, to, bytes: self.bytes },
            is_receiver_known: true,
            seal: self.seal,
            cut: None,
            fate: origin.comment.as_deref().and_then(passage::fate),
        }
    }
}
