//! The Internet checksum of RFC 1071, which IP, ICMP, UDP and TCP have in common.

use std::net::IpAddr;

/// The checksum of some bytes, computed with its own field zero. Zero if the bytes already hold a correct checksum.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    Sum::default().bytes(bytes).finish()
}

/// The checksum of a datagram or segment including its pseudo-header: RFC 768, RFC 9293 §3.1, RFC 8200 §8.1. Zero if it
/// already holds a correct one. RFC 768: a UDP checksum of zero is sent as all ones.
pub fn transport_checksum((source, destination): (IpAddr, IpAddr), protocol: u8, bytes: &[u8]) -> u16 {
    Sum::default().pseudo_header((source, destination), protocol, bytes.len()).bytes(bytes).finish()
}

/// A sum under way. Parts must have even lengths, except for the last.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd one at the end counts as if followed by a zero.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        // RFC 1071 §2 (B, C): in any byte order, several words at a time, with deferred carries.
        let (fours, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let words = fours.iter().chain([&last]).map(|&four| u64::from(u32::from_ne_bytes(four)));
        Self(self.0 + u64::from(u16::from_be(folded(words.sum()))))
    }

    /// Adds a number of 16 bits.
    #[must_use]
    pub const fn number(self, number: u16) -> Self {
        Self(self.0 + number as u64)
    }

    /// Adds the pseudo-header of the packet.
    #[must_use]
    pub fn pseudo_header(self, (source, destination): (IpAddr, IpAddr), protocol: u8, len: usize) -> Self {
        let addresses = self.address(source).address(destination);
        Self(addresses.0 + u64::from(protocol) + (len as u64 >> 16) + (len as u64 & 0xffff))
    }

    /// Adds an address.
    #[must_use]
    pub fn address(self, ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => self.bytes(&ip.octets()),
            IpAddr::V6(ip) => self.bytes(&ip.octets()),
        }
    }

    /// The sum folded to 16 bits; the checksum is its complement.
    pub fn folded(self) -> u16 {
        folded(self.0)
    }

    /// The checksum.
    pub fn finish(self) -> u16 {
        !self.folded()
    }
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 §4.1's loop, word by word.
    fn plain(bytes: &[u8]) -> u16 {
        let words =
            bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
        !folded(words.sum())
    }

    /// RFC 1071 §3.
    #[test]
    fn the_worked_example_of_the_rfc() {
        assert_eq!(internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    /// The worked example of the "IPv4 header checksum" article: 4500 0073 … b861 c0a8 0001 c0a8 00c7.
    #[test]
    fn a_header_of_ipv4() {
        let mut header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(internet_checksum(&header), 0xb861);
        header[10..12].copy_from_slice(&[0xb8, 0x61]);
        assert_eq!(internet_checksum(&header), 0);
    }

    #[test]
    fn many_words_at_a_time_are_the_sum_of_words() {
        let bytes: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for len in (0..70).chain([1399, 1400, 4999, 5000]) {
            assert_eq!(internet_checksum(&bytes[..len]), plain(&bytes[..len]), "{len} bytes");
        }
        assert_eq!(internet_checksum(&[0xff; 65_535]), plain(&[0xff; 65_535]));
    }

    #[test]
    fn parts_and_numbers_add_up() {
        let whole = internet_checksum(&[1, 2, 3, 4, 5]);
        assert_eq!(Sum::default().bytes(&[1, 2]).number(0x0304).bytes(&[5]).finish(), whole);
    }

    #[test]
    fn a_pseudo_header_is_twelve_bytes_or_forty() {
        let v4 = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let header = [192, 0, 2, 1, 192, 0, 2, 2, 0, 17, 0, 3, 7, 8, 9];
        assert_eq!(transport_checksum(v4, 17, &[7, 8, 9]), plain(&header));
        let ip = |last| [&[0x20, 1, 0x0d, 0xb8][..], &[0; 11], &[last]].concat();
        let v6 = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        let header = [&ip(1)[..], &ip(2), &[0, 0, 0, 3, 0, 0, 0, 6, 7, 8, 9]].concat();
        assert_eq!(transport_checksum(v6, 6, &[7, 8, 9]), plain(&header));
    }
}
