//! Writing a packet, RFC 2865 §3, and sealing it with the shared secret, RFC 2866 §3 and RFC 3579 §3.2.

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::trace::{Fact, Message};
use keytoll_net::wire::Writer;

use super::{Attribute, Authenticator, Packet, eap_message};
use crate::names;
use crate::number::{AttributeType, Code};
use crate::protect::authenticator;

/// A packet being written.
#[derive(Debug)]
pub struct PacketBuilder {
    w: Writer,
    message_authenticator: Option<usize>,
}

/// A packet exceeds 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {length} bytes, {max} are the limit", max = Packet::LEN_MAX)]
pub struct PacketTooLong {
    /// Length of the packet in bytes.
    pub length: usize,
}

/// A finished packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The packet on the wire.
    pub bytes: Vec<u8>,
}

impl PacketBuilder {
    /// A packet without attributes.
    pub fn new(code: Code, identifier: u8) -> Self {
        let mut w = Writer::with_capacity(256);
        w.u8(code.0);
        w.u8(identifier);
        w.zeros(2 + 16);
        Self { w, message_authenticator: None }
    }

    /// A packet whose first attribute is a Message-Authenticator, so that nothing an attacker chose precedes it.
    pub fn authentic(code: Code, identifier: u8) -> Self {
        let mut packet = Self::new(code, identifier);
        packet.message_authenticator();
        packet
    }

    /// Appends a Message-Authenticator, to be computed when the packet is sealed.
    pub fn message_authenticator(&mut self) {
        self.message_authenticator = Some(self.w.len() + Attribute::HEADER_LEN);
        self.attribute(&Attribute::fixed(AttributeType::MESSAGE_AUTHENTICATOR, &[0; 16]));
    }

    /// Appends an attribute.
    pub fn attribute(&mut self, attribute: &Attribute<'_>) {
        attribute.write(&mut self.w);
    }

    /// Appends attributes.
    pub fn attributes<'a>(&mut self, attributes: impl IntoIterator<Item = Attribute<'a>>) {
        attributes.into_iter().for_each(|attribute| self.attribute(&attribute));
    }

    /// Appends an EAP packet, in as many attributes as it needs.
    pub fn eap_message(&mut self, eap: &[u8]) {
        self.attributes(eap_message::split(eap));
    }

    /// Seals an Access-Request with an unpredictable authenticator.
    ///
    /// # Errors
    /// The packet is longer than RFC 2865 §3 allows.
    pub fn seal_request(
        mut self,
        authenticator: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<Sealed, PacketTooLong> {
        self.set_length()?;
        self.set_authenticator(authenticator);
        self.set_message_authenticator(secret, crypto);
        Ok(self.finish())
    }

    /// Seals a response to the request that had this authenticator.
    ///
    /// # Errors
    /// The packet is longer than RFC 2865 §3 allows.
    // RFC 3579 §3.2: the Message-Authenticator is inserted before the Response Authenticator is calculated.
    pub fn seal_response(
        mut self,
        request: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<Sealed, PacketTooLong> {
        self.set_length()?;
        self.set_authenticator(request);
        self.set_message_authenticator(secret, crypto);
        let response = authenticator::response(self.w.as_slice(), request, secret, crypto);
        self.set_authenticator(&response);
        Ok(self.finish())
    }

    /// Seals an Accounting-Request.
    ///
    /// # Errors
    /// The packet is longer than RFC 2865 §3 allows.
    // RFC 2866 §3: its authenticator is that of a response to a request whose authenticator was zero.
    pub fn seal_accounting(self, secret: &Secret, crypto: &mut dyn Crypto) -> Result<Sealed, PacketTooLong> {
        self.seal_response(&authenticator::ZERO, secret, crypto)
    }

    fn set_length(&mut self) -> Result<(), PacketTooLong> {
        let length = self.w.len();
        if length > Packet::LEN_MAX {
            return Err(PacketTooLong { length });
        }
        self.w.patch_u16(2, u16::try_from(length).expect("at most 4096"));
        Ok(())
    }

    fn set_authenticator(&mut self, authenticator: &Authenticator) {
        self.w.as_mut_slice()[4..Packet::HEADER_LEN].copy_from_slice(authenticator);
    }

    /// Needs length and authenticator.
    fn set_message_authenticator(&mut self, secret: &Secret, crypto: &mut dyn Crypto) {
        if let Some(at) = self.message_authenticator {
            let tag = authenticator::message(self.w.as_slice(), at, secret, crypto);
            self.w.as_mut_slice()[at..at + 16].copy_from_slice(&tag);
        }
    }

    fn finish(self) -> Sealed {
        Sealed { bytes: self.w.finish() }
    }
}

impl Sealed {
    /// The fact about sending it.
    pub(crate) fn fact(&self, retransmission: bool) -> Fact {
        let (code, identifier) = (Code(self.bytes[0]), self.bytes[1]);
        let message = names::message(code, identifier, self.bytes.len(), self.attributes());
        Fact::Sent(Message { retransmission, ..message })
    }

    /// The types of its attributes, in order.
    // RFC 2865 §5:  Type(1) Length(1) Value(*); the length counts all three.
    fn attributes(&self) -> impl Iterator<Item = AttributeType> {
        let mut rest = &self.bytes[Packet::HEADER_LEN..];
        std::iter::from_fn(move || {
            let &[kind, length, ..] = rest else { return None };
            rest = &rest[usize::from(length)..];
            Some(AttributeType(kind))
        })
    }
}
