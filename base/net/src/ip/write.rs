//! Writing IP headers in front of a payload, and changing them in transit.

use std::net::IpAddr;

use super::{FRAGMENT_HEADER, HEADER_V4, HEADER_V6, extension, header_bytes};
use crate::internet_checksum;

/// The position of a fragment in its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its offset in bytes: a multiple of 8.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more: bool,
}

/// The fields of a header without options; lengths and checksum follow from the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The protocol number of the payload.
    pub protocol: u8,
    /// DSCP and ECN: type of service or traffic class.
    pub class: u8,
    /// IPv6: the flow label, of 20 bits.
    pub flow_label: u32,
    /// TTL or hop limit.
    pub hops: u8,
    /// The identification, the same in all fragments of a packet; IPv4 uses its low half, whole IPv6 packets have none.
    pub identification: u32,
    /// IPv4: whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Its position, if it is a fragment.
    pub part: Option<Part>,
}

impl Fields {
    /// A whole packet of class 0 without a flow label, with hop limit 64 and, in IPv4, DF set.
    pub const fn new((source, destination): (IpAddr, IpAddr), protocol: u8) -> Self {
        Self {
            source,
            destination,
            protocol,
            class: 0,
            flow_label: 0,
            hops: 64,
            identification: 0,
            dont_fragment: true,
            part: None,
        }
    }

    /// Bytes of the header, including IPv6's Fragment header.
    pub const fn header_bytes(&self) -> usize {
        header_bytes(self.destination)
            + if self.part.is_some() && self.destination.is_ipv6() { FRAGMENT_HEADER } else { 0 }
    }

    /// Writes the header in front of the payload already in `packet`. `None` if the addresses are of different families, the
    /// packet is too long, or there is no room for the header.
    #[inline]
    pub fn write(&self, packet: &mut [u8]) -> Option<()> {
        let length = packet.len();
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let head = packet.first_chunk_mut()?;
                *head = self.v4(u16::try_from(length).ok()?);
                head[12..16].copy_from_slice(&source.octets());
                head[16..].copy_from_slice(&destination.octets());
                let sum = internet_checksum(head);
                head[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let head = packet.get_mut(..self.header_bytes())?;
                let first = 6 << 28 | u32::from(self.class) << 20 | self.flow_label & 0xf_ffff;
                head[..4].copy_from_slice(&first.to_be_bytes());
                head[4..6].copy_from_slice(&u16::try_from(length - HEADER_V6).ok()?.to_be_bytes());
                head[6] = self.protocol;
                head[7] = self.hops;
                head[8..24].copy_from_slice(&source.octets());
                head[24..HEADER_V6].copy_from_slice(&destination.octets());
                if let Some(part) = self.part {
                    head[6] = extension::FRAGMENT;
                    head[HEADER_V6..].copy_from_slice(&self.fragment_header(part));
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// RFC 791 §3.1 without addresses and checksum: Version, IHL, TOS, Total Length(2) Identification(2) Flags, Offset(2) TTL
    /// Protocol Checksum(2) Source(4) Destination(4).
    #[inline]
    const fn v4(&self, length: u16) -> [u8; HEADER_V4] {
        let [high, low] = length.to_be_bytes();
        let [.., i0, i1] = self.identification.to_be_bytes();
        let (offset, more) = match self.part {
            Some(part) => (part.offset / 8, part.more),
            None => (0, false),
        };
        let flags = offset | (self.dont_fragment as u16) << 14 | (more as u16) << 13;
        let [f0, f1] = flags.to_be_bytes();
        let mut head = [0; HEADER_V4];
        [head[0], head[1], head[2], head[3]] = [0x45, self.class, high, low];
        [head[4], head[5], head[6], head[7]] = [i0, i1, f0, f1];
        [head[8], head[9]] = [self.hops, self.protocol];
        head
    }

    /// RFC 8200 §4.5: Next Header(1) Reserved(1) Offset(13b) Reserved(2b) More(1b) Identification(4).
    const fn fragment_header(&self, part: Part) -> [u8; FRAGMENT_HEADER] {
        // The offset in units of 8 bytes is shifted left by 3 bits, so it equals the offset in bytes.
        let [o0, o1] = (part.offset & !7 | part.more as u16).to_be_bytes();
        let [i0, i1, i2, i3] = self.identification.to_be_bytes();
        [self.protocol, 0, o0, o1, i0, i1, i2, i3]
    }
}

/// Writes the length of a whole packet into its header, and renews IPv4's checksum: afterwards the header must not change. The
/// packet must not be longer than its kind of header can express.
// RFC 8200 §3: the header is not counted, so a packet may have 40 bytes more than 16 bits express.
pub fn set_length(header: &mut [u8], total_bytes: usize) {
    if header[0] >> 4 == 4 {
        header[2..4].copy_from_slice(&(total_bytes as u16).to_be_bytes());
        renew_checksum(header);
    } else {
        header[4..6].copy_from_slice(&((total_bytes - HEADER_V6) as u16).to_be_bytes());
    }
}

/// Replaces the ECN field of a packet.
pub fn set_ecn(packet: &mut [u8], ecn: u8) {
    if packet[0] >> 4 == 4 {
        packet[1] = packet[1] & !3 | ecn;
        let header_len = usize::from(packet[0] & 15) * 4;
        renew_checksum(&mut packet[..header_len]);
    } else {
        packet[1] = packet[1] & !0x30 | ecn << 4;
    }
}

/// Recomputes the checksum of an IPv4 header.
fn renew_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = internet_checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Fragment, Header};
    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(v6: bool, class: u8, dont_fragment: bool, identification: u32, length in 48_usize..200) {
            let ends = if v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
            let ends = (ends.0.parse().unwrap(), ends.1.parse().unwrap());
            let fields = Fields { class, dont_fragment, identification, ..Fields::new(ends, 17) };
            let mut packet = vec![0; length];
            fields.write(&mut packet).unwrap();
            let header = Header::read(&packet).unwrap();
            prop_assert_eq!((header.source(), header.destination()), ends);
            prop_assert_eq!((header.class, header.protocol, header.total_len), (class, 17, length));
            prop_assert_eq!((header.dont_fragment, header.fragment), (dont_fragment || v6, Fragment::Whole));
            let part = Some(Part { offset: 1480, more: false });
            let fields = Fields { part, dont_fragment: false, ..fields };
            fields.write(&mut packet).unwrap();
            let header = Header::read(&packet).unwrap();
            prop_assert_eq!((header.fragment, header.protocol), (Fragment::Later, 17));
            prop_assert_eq!(header.header_len, fields.header_bytes());
            if !v6 {
                prop_assert_eq!(internet_checksum(&packet[..20]), 0);
            }
        }
    }

    #[test]
    fn what_ip_cannot_say_is_not_written() {
        let [v4, v6]: [IpAddr; 2] = ["192.0.2.1", "2001:db8::1"].map(|ip| ip.parse().unwrap());
        assert_eq!(Fields::new((v4, v6), 17).write(&mut [0; 100]), None);
        assert_eq!(Fields::new((v4, v4), 17).write(&mut [0; 19]), None);
        assert_eq!(Fields::new((v6, v6), 17).write(&mut [0; 39]), None);
        assert_eq!(Fields::new((v4, v4), 17).write(&mut vec![0; 65_536]), None);
    }
}
