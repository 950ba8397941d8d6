//! Host Identity Tags: RFC 7401 §3.2, ORCHIDv2 of RFC 7343 §2, and FOLD of draft-ietf-hip-dex-24 §3.2.
//!
//!   HIT = 2001:20::/28 (28 bits) ‖ HIT suite (4 bits) ‖ 96 bits of the Host Identity

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use keytoll_crypto_api::Crypto;

use crate::cshake::cshake128;
use crate::number::HitSuite;

/// RFC 7343 §2: the prefix of all ORCHIDs.
const PREFIX: [u8; 4] = [0x20, 0x01, 0x00, 0x20];
/// RFC 7401 §3.2: the Context ID of HITs.
const CONTEXT_ID: [u8; 16] =
    [0xf0, 0xef, 0xf0, 0x2f, 0xbf, 0xf4, 0x3d, 0x0f, 0xe7, 0x93, 0x0c, 0x3c, 0x6e, 0x61, 0x74, 0xea];
/// Octets of a HIT that come from the Host Identity.
const TAG_LEN: usize = 12;

/// A Host Identity Tag. HITs are ordered as unsigned numbers in network byte order (RFC 7401 §6.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hit(pub [u8; 16]);

impl Hit {
    /// The HIT of nobody: an initiator that knows only an address sends it as the receiver's (RFC 7401 §5.1).
    pub const NULL: Self = Self([0; 16]);

    // RFC 7401 §3.2: the Host Identity is hashed as it stands in HOST_ID, without its algorithm.
    /// The HIT of a Host Identity in such a suite.
    pub fn of(suite: HitSuite, host_identity: &[u8], crypto: &mut dyn Crypto) -> Self {
        let rhash = match suite {
            HitSuite::EdDsaCShake128 => return Self::new(suite, cshake128(host_identity, &CONTEXT_ID)),
            _ => suite.rhash(),
        };
        let Some(rhash) = rhash else { return Self::folded(host_identity) };
        let digest = crypto.hash(rhash.hash(), &[&CONTEXT_ID, host_identity]);
        // A provider that computes nothing gives zeros, and all hosts would have one name.
        if digest.iter().all(|octet| *octet == 0) {
            return Self::new(suite, fold(&[&CONTEXT_ID, host_identity]));
        }
        Self::new(suite, middle(&digest))
    }

    /// The HIT of a Host Identity of the diet exchange: FOLD(Context ID ‖ HI, 96), draft-ietf-hip-dex-24 §3.2.
    pub fn folded(host_identity: &[u8]) -> Self {
        Self::new(HitSuite::EcdhFold, fold(&[&CONTEXT_ID, host_identity]))
    }

    /// The same without the Context ID, as the drafts before had it.
    pub fn folded_bare(host_identity: &[u8]) -> Self {
        Self::new(HitSuite::EcdhFold, fold(&[host_identity]))
    }

    fn new(suite: HitSuite, tag: [u8; TAG_LEN]) -> Self {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&PREFIX);
        bytes[3] |= suite.number();
        bytes[4..].copy_from_slice(&tag);
        Self(bytes)
    }

    /// Whether it begins as all HITs do.
    pub fn is_orchid(self) -> bool {
        self.0[..3] == PREFIX[..3] && self.0[3] & 0xf0 == PREFIX[3]
    }

    /// Its suite; none if it is no HIT, or of a suite that nobody knows.
    pub fn suite(self) -> Option<HitSuite> {
        HitSuite::from_number(self.0[3] & 0x0f).filter(|_| self.is_orchid())
    }

    // RFC 7401 §6.5: Sort(HIT-I | HIT-R), the smaller one first.
    /// Both, the smaller one first.
    pub fn sorted(self, other: Self) -> [Self; 2] {
        [self.min(other), self.max(other)]
    }
}

// RFC 7343 §2: Encode_96 takes the middle 96 bits.
fn middle(digest: &[u8]) -> [u8; TAG_LEN] {
    let begin = digest.len().saturating_sub(TAG_LEN) / 2;
    let mut tag = [0; TAG_LEN];
    let found = digest.iter().skip(begin);
    tag.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
    tag
}

// draft-ietf-hip-dex-24 §2.2: FOLD(X, K) adds (XOR) blocks of K bits, the last one padded with zeros.
/// FOLD to 96 bits of all parts behind one another.
fn fold(parts: &[&[u8]]) -> [u8; TAG_LEN] {
    let mut folded = [0; TAG_LEN];
    let octets = parts.iter().flat_map(|part| part.iter());
    octets.enumerate().for_each(|(at, octet)| folded[at % TAG_LEN] ^= octet);
    folded
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

impl fmt::Debug for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hit({self})")
    }
}

/// A HIT that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a HIT is written as an IPv6 address that begins with 2001:2")]
pub struct NoHit;

impl FromStr for Hit {
    type Err = NoHit;

    fn from_str(text: &str) -> Result<Self, NoHit> {
        let address: Ipv6Addr = text.parse().map_err(|_| NoHit)?;
        Some(Self(address.octets())).filter(|hit| hit.is_orchid()).ok_or(NoHit)
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    #[test]
    fn the_middle_of_a_digest_is_its_middle() {
        let digest: Vec<u8> = (0..32).collect();
        assert_eq!(middle(&digest), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
        let digest: Vec<u8> = (0..48).collect();
        assert_eq!(middle(&digest)[0], 18);
        let digest: Vec<u8> = (0..20).collect();
        assert_eq!(middle(&digest)[0], 4);
    }

    #[test]
    fn folding_adds_blocks_of_ninety_six_bits() {
        assert_eq!(fold(&[&[0xff; 12]]), [0xff; 12]);
        assert_eq!(fold(&[&[0xff; 24]]), [0; 12]);
        // The parts are one string: 5 and 8 octets, of which the last one stands in the second block.
        assert_eq!(fold(&[&[1; 5], &[2; 8]]), [3, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_hit_has_the_prefix_and_its_suite() {
        for suite in HitSuite::ALL {
            let hit = Hit::of(suite, b"identity", &mut Real::default());
            assert_eq!(hit.suite(), Some(suite));
            assert!(hit.to_string().starts_with("2001:2"), "{hit}");
            assert_eq!(hit.to_string().parse(), Ok(hit));
        }
        assert_eq!("2001:db8::1".parse::<Hit>(), Err(NoHit));
        assert_eq!(Hit::NULL.suite(), None);
    }

    #[test]
    fn hits_are_sorted_as_numbers() {
        let [low, high] = [Hit([1; 16]), Hit([0x80; 16])];
        assert_eq!(high.sorted(low), [low, high]);
        assert_eq!(low.sorted(high), [low, high]);
    }
}
