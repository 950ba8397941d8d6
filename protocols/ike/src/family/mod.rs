//! IKE as captures and observers know it: RFC 7296 for its second version, RFC 2408 and RFC 2409 for its first.
//!
//! A conversation is an IKE SA with everything that belongs to it: the exchanges, the questions that the gateway asks a server
//! for it, its ESP, the SAs that replace it.

mod analyser;
mod exchanges;
mod keys;
mod message;
mod method;
mod outcome;
mod payloads;
mod recognise;
mod sas;
mod v1;
mod v2;

use std::hash::{Hash, Hasher};

use keytoll_engine::Datagram;
use keytoll_engine::trace::{Message, Protocol, Revealed};
use keytoll_family::{Analyser, Family, KeyLine, KeyTable, Recogniser, Tables};
use keytoll_net::wire::{DecodeError, Reader};

use crate::IKE;
use crate::wire::Header;

pub use payloads::{Deleted, Meaning};
pub use v2::{Ike, Inside};

/// RFC 7296 §2.23, RFC 3948 §2.2: four zero bytes where ESP has its SPI.
pub const NON_ESP_MARKER: [u8; 4] = [0; 4];

/// IKE of either version.
#[derive(Debug)]
pub struct IkeFamily;

impl Family for IkeFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[IKE]
    }

    fn recogniser(&self) -> Option<Box<dyn Recogniser>> {
        Some(Box::new(recognise::Ports::default()))
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        message::read(without_marker(bytes))
    }

    fn hash(&self, datagram: &Datagram, mut hasher: &mut dyn Hasher) {
        // RFC 3947 §4: IKE moves to the port of NAT traversal, and a NAT changes ports; it is the same message.
        let (from, to) = (datagram.from, datagram.to);
        let direction = from.host() == to.host() && from.port() < to.port();
        (from.host(), to.host(), direction).hash(&mut hasher);
        without_marker(&datagram.bytes).hash(&mut hasher);
    }

    /// RFC 7296 §3.1: the initiator's SPI.
    fn conversation(&self, bytes: &[u8]) -> Option<u64> {
        without_marker(bytes).first_chunk().map(|spi| u64::from_be_bytes(*spi))
    }

    fn analyser(&self, tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(analyser::IkeAnalyser::new(tables)))
    }

    fn key_tables(&self) -> &'static [KeyTable] {
        const { &[KeyTable::new(keys::V2_TABLE), KeyTable::new(keys::V1_TABLE)] }
    }

    fn key_line(&self, revealed: &Revealed) -> Option<KeyLine> {
        keys::line(revealed)
    }

    fn wireshark(&self, _: Protocol, bytes: &[u8]) -> Option<(&'static str, &'static [u16])> {
        let is_marked = bytes.starts_with(&NON_ESP_MARKER);
        Some(if is_marked { ("UDPENCAP", &[4500]) } else { ("ISAKMP", &[500, 4500]) })
    }
}

/// The IKE message of a datagram, which on port 4500 (or any other that a configuration gives that role) has a marker in
/// front. No initiator SPI is 0, so a message that begins with four zeros and does not have the datagram's length is marked.
pub fn without_marker(bytes: &[u8]) -> &[u8] {
    let is_bare = Header::read(&mut Reader::new(bytes)).is_ok();
    bytes.strip_prefix(&NON_ESP_MARKER).filter(|_| !is_bare).unwrap_or(bytes)
}
