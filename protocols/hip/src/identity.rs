//! Host Identities: public keys as HOST_ID carries them, RFC 7401 §5.2.9 and RFC 9374 §3.4.
//!
//!   RSA    exponent length(1 or 3) exponent modulus           (RFC 3110 §2)
//!   ECDSA  curve(2) x y                                       (RFC 7401 §5.2.9)
//!   EdDSA  curve(2) zero(2) key                               (RFC 9374 §3.4.1)
//!   ECDH   curve(2) key                                       (draft-ietf-hip-dex-24 §5.2.3)

use keytoll_crypto_api::algorithm::{Group, Hash, KeyKind, SignatureScheme};
use keytoll_crypto_api::{Crypto, KeyPair, Rejected, SigningKey};

use crate::hit::Hit;
use crate::number::HitSuite;
use crate::spki;
use crate::wire::HostId;
use crate::wire::host_id::{DomainType, HostIdAlgorithm};

/// Our own identity: a key, its HOST_ID, its HIT.
#[derive(Debug, Clone)]
pub struct HostIdentity {
    key: IdentityKey,
    algorithm: HostIdAlgorithm,
    identity: Vec<u8>,
    suite: HitSuite,
    hit: Hit,
    domain: Option<(DomainType, Vec<u8>)>,
}

/// The private key of an identity.
#[derive(Debug, Clone)]
pub enum IdentityKey {
    /// One that signs, for the base exchange.
    Signing(SigningKey, SignatureScheme),
    /// One that agrees, for the diet exchange.
    Agreeing(KeyPair),
}

/// Why a key is no Host Identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key that HIP has no Host Identity for")]
pub struct NoIdentity;

impl HostIdentity {
    /// Of a key that signs.
    ///
    /// # Errors
    /// If HIP has no Host Identity for such a key, or its SubjectPublicKeyInfo cannot be read.
    pub fn signing(key: SigningKey, crypto: &mut dyn Crypto) -> Result<Self, NoIdentity> {
        let (algorithm, identity) = spki::to_host_identity(&key.spki).ok_or(NoIdentity)?;
        let (suite, scheme) = of_kind(key.kind).ok_or(NoIdentity)?;
        let hit = Hit::of(suite, &identity, crypto);
        let key = IdentityKey::Signing(key, scheme);
        Ok(Self { key, algorithm, identity, suite, hit, domain: None })
    }

    /// Of a static key for Diffie-Hellman; `variant` says how its HIT is made.
    ///
    /// # Errors
    /// If HIP has no Host Identity for a key of its group.
    pub fn agreeing(key: KeyPair, variant: DietVariant) -> Result<Self, NoIdentity> {
        let curve = curve_of(key.private.group).ok_or(NoIdentity)?;
        let identity = [&curve.to_be_bytes(), &key.public[..]].concat();
        let hit = variant.hit(&identity);
        let key = IdentityKey::Agreeing(key);
        let (algorithm, suite) = (HostIdAlgorithm::ECDH, HitSuite::EcdhFold);
        Ok(Self { key, algorithm, identity, suite, hit, domain: None })
    }

    /// Signs with this hash, if its key is one of P-256.
    #[must_use]
    pub fn with_p256_hash(mut self, hash: P256Hash) -> Self {
        if let IdentityKey::Signing(key, scheme) = &mut self.key
            && key.kind == KeyKind::EcdsaP256
        {
            *scheme = hash.scheme();
        }
        self
    }

    /// With a name of the host in its HOST_ID.
    #[must_use]
    pub fn named(mut self, kind: DomainType, name: &[u8]) -> Self {
        self.domain = Some((kind, name.to_vec()));
        self
    }

    /// Its HIT.
    pub const fn hit(&self) -> Hit {
        self.hit
    }

    /// The suite of its HIT.
    pub const fn suite(&self) -> HitSuite {
        self.suite
    }

    /// Its key.
    pub const fn key(&self) -> &IdentityKey {
        &self.key
    }

    /// The algorithm, as HOST_ID and signatures name it.
    pub const fn algorithm(&self) -> HostIdAlgorithm {
        self.algorithm
    }

    /// What HOST_ID says of it.
    pub fn host_id(&self) -> HostId<'_> {
        let (domain_type, domain) =
            self.domain.as_ref().map_or((DomainType::NONE, &[][..]), |(kind, name)| (*kind, name));
        HostId { algorithm: self.algorithm, identity: &self.identity, domain_type, domain }
    }
}

/// The HIT of a host by its public key, a DER SubjectPublicKeyInfo.
///
/// # Errors
/// If HIP has no Host Identity for such a key.
pub fn hit_of_public_key(
    spki: &[u8],
    variant: DietVariant,
    crypto: &mut dyn Crypto,
) -> Result<Hit, NoIdentity> {
    if let Some(public) = spki::x25519(spki) {
        let curve = curve_of(Group::X25519).ok_or(NoIdentity)?;
        return Ok(variant.hit(&[&curve.to_be_bytes(), public].concat()));
    }
    let (algorithm, identity) = spki::to_host_identity(spki).ok_or(NoIdentity)?;
    let suite = match algorithm {
        HostIdAlgorithm::RSA => HitSuite::RsaSha256,
        HostIdAlgorithm::ECDSA => HitSuite::EcdsaSha384,
        HostIdAlgorithm::EDDSA => HitSuite::EdDsaCShake128,
        _ => return Err(NoIdentity),
    };
    Ok(Hit::of(suite, &identity, crypto))
}

/// Which text of the diet exchange is followed; both sides must follow the same, for packets do not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DietVariant {
    /// draft-ietf-hip-dex-24: with I_NONCE, Curve25519 and Curve448.
    #[default]
    Draft24,
    /// As the prototypes of 2011 and 2015 have it: no I_NONCE, HIP_MAC_3, and the NIST curves of those years.
    Prototype,
}

impl DietVariant {
    // RFC 7401 §3.2: the Context ID comes first; the prototypes folded the key alone.
    /// The HIT of an identity.
    pub fn hit(self, identity: &[u8]) -> Hit {
        match self {
            Self::Draft24 => Hit::folded(identity),
            Self::Prototype => Hit::folded_bare(identity),
        }
    }
}

/// The hash of signatures with keys of P-256. Packets do not name it, so both hosts must be configured with the same.
///
/// RFC 7401 §5.2.9 refers to RFC 4754, where P-256 goes with SHA-256; the name of the HIT suite, ECDSA/SHA-384, is also read as the hash
/// of the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum P256Hash {
    /// As RFC 4754 §1 has it.
    #[default]
    Sha256,
    /// That of the HIT suite.
    Sha384,
}

impl P256Hash {
    const fn scheme(self) -> SignatureScheme {
        match self {
            Self::Sha256 => SignatureScheme::EcdsaRaw(Hash::Sha256),
            Self::Sha384 => SignatureScheme::EcdsaRaw(Hash::Sha384),
        }
    }
}

/// RFC 7401 §5.2.10, RFC 4754 §1, RFC 8032: which suite and which scheme a kind of key has.
const fn of_kind(kind: KeyKind) -> Option<(HitSuite, SignatureScheme)> {
    Some(match kind {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            (HitSuite::RsaSha256, SignatureScheme::RsaPss(Hash::Sha256))
        }
        KeyKind::EcdsaP256 => (HitSuite::EcdsaSha384, P256Hash::Sha256.scheme()),
        KeyKind::EcdsaP384 => (HitSuite::EcdsaSha384, SignatureScheme::EcdsaRaw(Hash::Sha384)),
        KeyKind::Ed25519 => (HitSuite::EdDsaCShake128, SignatureScheme::Ed25519),
        KeyKind::EcdsaP521 => return None,
    })
}

/// The curves of ECDH identities: draft-ietf-hip-dex-24 §5.2.3, and RFC 7401 §5.2.9 for those of NIST.
const CURVES: [(u16, Group); 4] =
    [(1, Group::Ecp256), (2, Group::Ecp384), (5, Group::X25519), (6, Group::X448)];

fn curve_of(group: Group) -> Option<u16> {
    CURVES.iter().find(|(_, known)| *known == group).map(|&(curve, _)| curve)
}

/// A peer's identity, as far as a host can compute with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerIdentity {
    /// A key that verifies.
    Verifying {
        /// Its algorithm.
        algorithm: HostIdAlgorithm,
        /// As a DER SubjectPublicKeyInfo.
        spki: Vec<u8>,
        /// What its signatures are.
        scheme: SignatureScheme,
    },
    /// A key for Diffie-Hellman.
    Agreeing {
        /// Its group.
        group: Group,
        /// The public value.
        public: Vec<u8>,
    },
}

impl PeerIdentity {
    /// The identity that a HOST_ID holds; one of P-256 signs with this hash.
    ///
    /// # Errors
    /// If it is of an algorithm or a curve that is not computed here.
    pub fn of(host_id: &HostId<'_>, p256_hash: P256Hash) -> Result<Self, NoIdentity> {
        if host_id.algorithm == HostIdAlgorithm::ECDH {
            return Self::agreeing(host_id.identity).ok_or(NoIdentity);
        }
        let (kind, spki) = spki::of_host_identity(host_id.algorithm, host_id.identity).ok_or(NoIdentity)?;
        let scheme = match kind {
            spki::Kind::Rsa => SignatureScheme::RsaPss(Hash::Sha256),
            spki::Kind::P256 => p256_hash.scheme(),
            spki::Kind::P384 => SignatureScheme::EcdsaRaw(Hash::Sha384),
            spki::Kind::Ed25519 => SignatureScheme::Ed25519,
        };
        Ok(Self::Verifying { algorithm: host_id.algorithm, spki, scheme })
    }

    fn agreeing(identity: &[u8]) -> Option<Self> {
        let (curve, public) = identity.split_first_chunk()?;
        let &(_, group) = CURVES.iter().find(|(known, _)| *known == u16::from_be_bytes(*curve))?;
        (public.len() == group.public_len()).then(|| Self::Agreeing { group, public: public.to_vec() })
    }

    /// Checks a signature of its over these parts.
    ///
    /// # Errors
    /// If it is wrong, or the identity is one that does not sign.
    pub fn verify(
        &self,
        signed: &[&[u8]],
        signature: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Result<(), Rejected> {
        match self {
            Self::Verifying { spki, scheme, .. } => crypto.verify(spki, *scheme, signed, signature),
            Self::Agreeing { .. } => Err(Rejected),
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::{Null, Real, keys};
    use keytoll_crypto_api::Rng;

    use super::*;

    #[test]
    fn what_an_identity_signs_its_host_id_verifies() {
        let crypto = &mut Real::default();
        for kind in
            [KeyKind::Rsa1024, KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::Ed25519]
        {
            let key = keys::generate(kind, &mut Rng::named(1, kind.name()));
            let identity = HostIdentity::signing(key, crypto).unwrap();
            let IdentityKey::Signing(key, scheme) = identity.key() else { panic!("{kind} signs") };
            let signature = crypto.sign(key, *scheme, &[b"packet"]);
            let peer = PeerIdentity::of(&identity.host_id(), P256Hash::Sha256).unwrap();
            assert_eq!(peer.verify(&[b"packet"], &signature, crypto), Ok(()), "{kind}");
            assert_eq!(peer.verify(&[b"pocket"], &signature, crypto), Err(Rejected), "{kind}");
            assert_eq!(identity.hit().suite(), Some(identity.suite()));
        }
        let other = keys::generate(KeyKind::EcdsaP521, &mut Rng::named(1, "p521"));
        assert!(HostIdentity::signing(other, crypto).is_err());
    }

    #[test]
    fn only_keys_of_p256_have_a_choice_of_hash() {
        let crypto = &mut Real::default();
        for (kind, is_chosen) in [(KeyKind::EcdsaP256, true), (KeyKind::EcdsaP384, false)] {
            let key = keys::generate(kind, &mut Rng::named(1, kind.name()));
            let identity = HostIdentity::signing(key, crypto).unwrap();
            let hit = identity.hit();
            let identity = identity.with_p256_hash(P256Hash::Sha384);
            assert_eq!(identity.hit(), hit, "the hash of signatures is not in the HIT");
            let IdentityKey::Signing(key, scheme) = identity.key() else { panic!("{kind} signs") };
            let signature = crypto.sign(key, *scheme, &[b"packet"]);
            let verified = |hash, crypto: &mut Real| {
                let peer = PeerIdentity::of(&identity.host_id(), hash).unwrap();
                peer.verify(&[b"packet"], &signature, crypto).is_ok()
            };
            assert_eq!(*scheme, SignatureScheme::EcdsaRaw(Hash::Sha384));
            assert!(verified(P256Hash::Sha384, crypto), "{kind}");
            assert_eq!(verified(P256Hash::Sha256, crypto), !is_chosen, "{kind}");
        }
    }

    #[test]
    fn a_public_key_has_the_hit_of_its_host() {
        let crypto = &mut Real::default();
        for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::Ed25519] {
            let key = keys::generate(kind, &mut Rng::named(1, kind.name()));
            let spki = key.spki.clone();
            let hit = HostIdentity::signing(key, crypto).unwrap().hit();
            assert_eq!(hit_of_public_key(&spki, DietVariant::Draft24, crypto), Ok(hit), "{kind}");
        }
        let pair = crypto.generate(Group::X25519, &mut Rng::named(1, "dh"));
        let spki = [&b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x6e\x03\x21\x00"[..], &pair.public].concat();
        let hit = HostIdentity::agreeing(pair, DietVariant::Draft24).unwrap().hit();
        assert_eq!(hit_of_public_key(&spki, DietVariant::Draft24, crypto), Ok(hit));
        let other = keys::generate(KeyKind::EcdsaP521, &mut Rng::named(1, "p521"));
        for wrong in [&other.spki[..], &spki[..43], &[]] {
            assert_eq!(hit_of_public_key(wrong, DietVariant::Draft24, crypto), Err(NoIdentity));
        }
    }

    #[test]
    fn hits_of_pretended_keys_differ_without_a_hash() {
        let hit = |seed| {
            let key = keys::generate_null(KeyKind::Rsa2048, &mut Rng::named(seed, "key"));
            HostIdentity::signing(key, &mut Null).unwrap().hit()
        };
        assert_ne!(hit(1), hit(2));
    }

    #[test]
    fn identities_for_agreement_keep_their_curve() {
        let crypto = &mut Real::default();
        let pair = crypto.generate(Group::X25519, &mut Rng::named(1, "dh"));
        let identity = HostIdentity::agreeing(pair.clone(), DietVariant::Draft24).unwrap();
        let expected = PeerIdentity::Agreeing { group: Group::X25519, public: pair.public.clone() };
        assert_eq!(PeerIdentity::of(&identity.host_id(), P256Hash::Sha256), Ok(expected));
        assert_eq!(identity.host_id().identity[..2], [0, 5]);
        let cut = HostId::new(HostIdAlgorithm::ECDH, &identity.host_id().identity[..33]);
        assert_eq!(PeerIdentity::of(&cut, P256Hash::Sha256), Err(NoIdentity));
        let pair = crypto.generate(Group::Modp2048, &mut Rng::named(1, "dh"));
        assert!(HostIdentity::agreeing(pair, DietVariant::Draft24).is_err());
    }

    /// Both keys of RFC 5903 §8.1, whose HITs were computed independently: curve, x and y, folded.
    #[test]
    fn hits_of_the_prototypes_as_a_second_reader_computed_them() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
        };
        let keys = [
            (
                "0001dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c37725811805271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3",
                "2001:24:18bb:916c:ef66:475:a853:498d",
            ),
            (
                "0001d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab",
                "2001:24:31dc:4bac:f0e0:c33e:765e:f1d",
            ),
        ];
        for (identity, hit) in keys {
            assert_eq!(DietVariant::Prototype.hit(&hex(identity)).to_string(), hit);
        }
    }
}
