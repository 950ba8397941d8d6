//! ICMP and ICMPv6 echo, RFC 792 and RFC 4443 §4.

use std::net::IpAddr;

use keytoll_net::wire::{DecodeError, Reader};
use keytoll_net::{internet_checksum, transport_checksum};

/// IP protocol number of ICMP.
pub const ICMP: u8 = 1;
/// Next header number of ICMPv6.
pub const ICMPV6: u8 = 58;

/// An echo request or reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    /// A reply, not a request.
    pub reply: bool,
    /// Distinguishes the pinging processes of a host.
    pub identifier: u16,
    /// Counts the requests.
    pub sequence: u16,
    /// The data to echo.
    pub data: Vec<u8>,
}

/// The protocol number of echoes between addresses of this family.
pub const fn protocol(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => ICMP,
        IpAddr::V6(_) => ICMPV6,
    }
}

/// Type numbers (request, reply) of a family.
const fn types(ip: IpAddr) -> (u8, u8) {
    match ip {
        IpAddr::V4(_) => (8, 0),
        IpAddr::V6(_) => (128, 129),
    }
}

impl Echo {
    /// Layout: Type(1) Code(1) Checksum(2) Identifier(2) Sequence(2) Data(*).
    pub fn write(&self, source: IpAddr, destination: IpAddr) -> Vec<u8> {
        let (request, reply) = types(source);
        let mut message = vec![if self.reply { reply } else { request }, 0, 0, 0];
        message.extend_from_slice(&self.identifier.to_be_bytes());
        message.extend_from_slice(&self.sequence.to_be_bytes());
        message.extend_from_slice(&self.data);
        let sum = checksum(source, destination, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        message
    }

    /// Reads an echo message; `None` for other types and wrong checksums.
    ///
    /// # Errors
    /// The message is shorter than its header.
    pub fn read(source: IpAddr, destination: IpAddr, message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let mut r = Reader::new(message);
        let (kind, code) = (r.u8("ICMP type")?, r.u8("ICMP code")?);
        r.skip(2, "ICMP checksum")?;
        let (identifier, sequence) = (r.u16("ICMP identifier")?, r.u16("ICMP sequence number")?);
        let (request, reply) = types(source);
        let sound = code == 0 && checksum(source, destination, message) == 0;
        let wanted = sound && (kind == request || kind == reply);
        Ok(wanted.then(|| Self { reply: kind == reply, identifier, sequence, data: r.rest().to_vec() }))
    }
}

/// RFC 792: over the message; RFC 4443 §2.3: and the pseudo-header.
fn checksum(source: IpAddr, destination: IpAddr, message: &[u8]) -> u16 {
    match source {
        IpAddr::V4(_) => internet_checksum(message),
        IpAddr::V6(_) => transport_checksum((source, destination), ICMPV6, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_message_is_read_and_a_damaged_one_is_not() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let (a, b): (IpAddr, IpAddr) = (a.parse().unwrap(), b.parse().unwrap());
            let echo = Echo { reply: true, identifier: 3, sequence: 9, data: vec![1, 2, 3] };
            let mut bytes = echo.write(a, b);
            assert_eq!(Echo::read(a, b, &bytes).unwrap(), Some(echo));
            bytes[9] ^= 4;
            assert_eq!(Echo::read(a, b, &bytes).unwrap(), None);
            assert!(Echo::read(a, b, &bytes[..7]).is_err());
        }
    }

    /// RFC 1071 by hand: 0800 + 0001 + 0001 = 0802, whose complement is f7fd.
    #[test]
    fn the_checksum_is_the_internets() {
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        let message = [8, 0, 0xf7, 0xfd, 0, 1, 0, 1];
        assert!(Echo::read(local, local, &message).unwrap().is_some());
    }
}
