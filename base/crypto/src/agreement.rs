//! Key agreement: RFC 3526 and RFC 7296 appendix B (MODP), RFC 5903 (ECP), RFC 7748 and RFC 8031 (X25519), with the
//! checks of RFC 6989 on the peer's public value.

use std::fmt;

use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::{KeyPair, PrivateKey, Rejected, Rng, Secret};
use keytoll_native::awslc::ec::Curve;
use keytoll_native::awslc::modp::Prime;
use keytoll_native::awslc::x25519;

/// The length of private exponents of MODP groups; it affects their cost more than the library does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exponents {
    /// Twice the group's strength as SP 800-56A rev. 3 table 26 estimates it (RFC 3526 §8 recommends twice the strength
    /// too), as careful modern implementations do. The table leaves out 768 bits; the same estimate (FIPS 140-2 IG 7.5) is
    /// used.
    #[default]
    Short,
    /// As long as the prime, as implementations without that estimate do, those of the papers included.
    Full,
}

impl Exponents {
    /// Length of a private exponent in bits; none for groups that have no exponents.
    pub const fn bits(self, group: Group) -> Option<usize> {
        match (self, group) {
            (_, Group::Ecp256 | Group::Ecp384 | Group::Ecp521 | Group::X25519 | Group::X448) => None,
            // One bit less than the prime, so that no exponent exceeds it.
            (Self::Full, _) => Some(group.public_len() * 8 - 1),
            (Self::Short, Group::Modp768) => Some(140),
            (Self::Short, Group::Modp1024) => Some(160),
            (Self::Short, Group::Modp1536) => Some(192),
            (Self::Short, Group::Modp2048) => Some(224),
            (Self::Short, Group::Modp3072) => Some(256),
            (Self::Short, Group::Modp4096) => Some(304),
            (Self::Short, Group::Modp6144) => Some(352),
            (Self::Short, Group::Modp8192) => Some(400),
        }
    }

    /// Draws an exponent with its highest bit set, so that it has exactly the reported length.
    pub(crate) fn draw(self, group: Group, rng: &mut Rng) -> Secret {
        let bits = self.bits(group).expect("MODP groups have exponents");
        let mut bytes = vec![0; bits.div_ceil(8)];
        rng.fill(&mut bytes);
        let top = (bits - 1) % 8;
        bytes[0] = bytes[0] & ((1 << top) - 1) | 1 << top;
        Secret::new(bytes)
    }
}

impl fmt::Display for Exponents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Short => "short (twice the strength: 140 to 400 bits)",
            Self::Full => "full (the prime's length)",
        })
    }
}

/// The family a group belongs to.
pub(crate) enum Family {
    Modp(Prime),
    Ecp(Curve),
    X25519,
    /// Not in AWS-LC.
    X448,
}

pub(crate) const fn family(group: Group) -> Family {
    match group {
        Group::Modp768 => Family::Modp(Prime::Bits768),
        Group::Modp1024 => Family::Modp(Prime::Bits1024),
        Group::Modp1536 => Family::Modp(Prime::Bits1536),
        Group::Modp2048 => Family::Modp(Prime::Bits2048),
        Group::Modp3072 => Family::Modp(Prime::Bits3072),
        Group::Modp4096 => Family::Modp(Prime::Bits4096),
        Group::Modp6144 => Family::Modp(Prime::Bits6144),
        Group::Modp8192 => Family::Modp(Prime::Bits8192),
        Group::Ecp256 => Family::Ecp(Curve::P256),
        Group::Ecp384 => Family::Ecp(Curve::P384),
        Group::Ecp521 => Family::Ecp(Curve::P521),
        Group::X25519 => Family::X25519,
        Group::X448 => Family::X448,
    }
}

/// Whether AWS-LC has the group.
pub(crate) const fn supports(group: Group) -> bool {
    !matches!(family(group), Family::X448)
}

/// Makes a key pair.
pub(crate) fn generate(group: Group, exponents: Exponents, rng: &mut Rng) -> KeyPair {
    let mut public = vec![0; group.public_len()];
    let secret = match family(group) {
        Family::Modp(prime) => {
            let exponent = exponents.draw(group, rng);
            prime.power_of_two(&exponent, &mut public);
            exponent
        }
        Family::Ecp(curve) => draw_scalar(curve, rng, |scalar| curve.public(scalar, &mut public)),
        Family::X25519 => return x25519(&rng.bytes()),
        Family::X448 => panic!("x448 needs the OpenSSL backend; ask Real::supports before offering it"),
    };
    KeyPair { private: PrivateKey { group, secret }, public }
}

/// The key pair of this private key of X25519.
pub(crate) fn x25519(private: &[u8; 32]) -> KeyPair {
    let private_key = PrivateKey { group: Group::X25519, secret: Secret::from(&private[..]) };
    KeyPair { private: private_key, public: x25519::public(private).to_vec() }
}

/// Computes the shared secret.
pub(crate) fn agree(private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
    let group = private.group;
    // RFC 7296 §3.4: a MODP value is padded to the prime's length; the other groups have one length each.
    if peer.len() != group.public_len() {
        return Err(Rejected);
    }
    let mut secret = vec![0; group.secret_len()];
    let valid = match family(group) {
        Family::Modp(prime) => prime.power(peer, &private.secret, &mut secret),
        Family::Ecp(curve) => curve.agree(&private.secret, peer, &mut secret),
        // RFC 8031 §2.3 leaves the all-zero check open; RFC 7748 §6.1 describes it, and the library does it.
        Family::X25519 => x25519_agree(private, peer, &mut secret),
        Family::X448 => false,
    };
    let secret = Secret::new(secret);
    valid.then_some(secret).ok_or(Rejected)
}

/// FIPS 186-5 A.2.2: draws until the scalar is in [1, n − 1]; only then can its public value be computed.
pub(crate) fn draw_scalar(curve: Curve, rng: &mut Rng, mut has_public: impl FnMut(&[u8]) -> bool) -> Secret {
    let mut scalar = zeroize::Zeroizing::new([0; 66]);
    let scalar = &mut scalar[..curve.field_len()];
    loop {
        rng.fill(scalar);
        scalar[0] &= curve.first_byte_mask();
        if has_public(scalar) {
            return Secret::from(&*scalar);
        }
    }
}

fn x25519_agree(private: &PrivateKey, peer: &[u8], secret: &mut [u8]) -> bool {
    let secret = secret.try_into().expect("an X25519 secret has 32 bytes");
    x25519::agree(array(&private.secret), array(peer), secret)
}

fn array(bytes: &[u8]) -> &[u8; 32] {
    bytes.try_into().expect("X25519 works on 32 bytes, and lengths were checked")
}
