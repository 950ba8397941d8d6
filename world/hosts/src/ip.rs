//! The subset of IP that our own traffic needs: writing and reading a header with its payload. RFC 791, RFC 8200 §3.

use std::net::IpAddr;

use keytoll_net::ip::{Fields, Header};
use keytoll_net::wire::DecodeError;

/// A packet without options or extension headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The payload's protocol.
    pub protocol: u8,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet's bytes; `None` if the addresses are of different families or it is too long.
    pub fn write(&self) -> Option<Vec<u8>> {
        let fields = Fields::new((self.source, self.destination), self.protocol);
        let header_bytes = fields.header_bytes();
        let mut bytes = vec![0; header_bytes + self.payload.len()];
        bytes[header_bytes..].copy_from_slice(self.payload);
        fields.write(&mut bytes)?;
        Some(bytes)
    }

    /// Reads a packet. Ignores options, extension headers, and bytes after its end (RFC 4303 §2.7: traffic flow confidentiality
    /// padding).
    ///
    /// # Errors
    /// The bytes are not a whole, unfragmented IP packet.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let header = Header::read(bytes)?;
        let payload = &bytes[header.header_len..header.total_len];
        let (source, destination) = (header.source(), header.destination());
        Ok(Self { source, destination, protocol: header.protocol, payload })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(v6 in any::<bool>(), protocol in prop::sample::select(&[1_u8, 6, 17, 58, 255][..]), payload in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (source, destination) = if v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
            let packet = Packet { source: source.parse().unwrap(), destination: destination.parse().unwrap(), protocol, payload: &payload };
            let mut bytes = packet.write().unwrap();
            prop_assert_eq!(Packet::read(&bytes).unwrap(), packet.clone());
            for cut in 0..bytes.len() {
                prop_assert!(Packet::read(&bytes[..cut]).is_err());
            }
            bytes.extend([0; 7]);
            prop_assert_eq!(Packet::read(&bytes).unwrap(), packet);
        }

        #[test]
        fn any_bytes_are_a_packet_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Packet::read(&bytes);
        }
    }
}
