//! Choice of the signature scheme for AUTH: what the key supports, what is configured, and what the peer can verify. Read RFC
//! 7427 §4 (announced hashes), RFC 8247 §3.2, RFC 7296 §3.8 and RFC 4754 (before RFC 7427) first.

use std::fmt;

use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};

use super::signature;
use crate::number::{AuthMethod, HashId};

/// The hash algorithms a peer can verify, from its SIGNATURE_HASH_ALGORITHMS (RFC 7427 §4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerHashes {
    announced: bool,
    bits: u8,
}

impl PeerHashes {
    /// The announced hashes: all but SHA-1, and the "identity" of Ed25519.
    pub(super) const OURS: [HashId; 4] =
        [HashId::SHA2_256, HashId::SHA2_384, HashId::SHA2_512, HashId::IDENTITY];

    /// The hashes in the notification's data; none without a notification.
    pub(super) fn read(data: Option<&[u8]>) -> Self {
        let Some(data) = data else { return Self::default() };
        let ids = data.as_chunks().0.iter().map(|id| u16::from_be_bytes(*id)).filter(|id| *id < 8);
        Self { announced: true, bits: ids.fold(0, |bits, id| bits | 1 << id) }
    }

    /// Whether one of SHA-2 is among them.
    pub(super) const fn knows_sha2(self) -> bool {
        self.has(HashId::SHA2_256) || self.has(HashId::SHA2_384) || self.has(HashId::SHA2_512)
    }

    const fn has(self, id: HashId) -> bool {
        self.announced && id.0 < 8 && self.bits & 1 << id.0 != 0
    }

    /// Whether the peer can verify such a signature, as far as it announces.
    fn takes(self, scheme: SignatureScheme) -> bool {
        match method(scheme) {
            Some(AuthMethod::DIGITAL_SIGNATURE) => {
                signature::hash_id(scheme).is_some_and(|hash| self.has(hash))
            }
            // RFC 7427 §4: without the notification only the old methods may be used; with it they are not needed.
            Some(_) => !self.announced,
            None => false,
        }
    }
}

impl fmt::Display for PeerHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.announced {
            return f.write_str("no hash of RFC 7427");
        }
        let known = (0..8).filter(|id| self.bits & 1 << id != 0).map(|id| HashId(id).name());
        f.write_str(&listed(known.map(str::to_owned)))
    }
}

/// We support no signature scheme that the peer can verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clash {
    /// Our schemes, as bits in the order of [`SignatureScheme::NEGOTIABLE`].
    ours: u16,
    /// The peer's.
    peer: PeerHashes,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ours = SignatureScheme::NEGOTIABLE.iter().enumerate().filter(|(at, _)| self.ours & 1 << at != 0);
        let ours = listed(ours.map(|(_, scheme)| scheme.to_string()));
        write!(f, "we sign with {ours}; the peer announces {}", self.peer)
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names = names.collect::<Vec<_>>().join(", ");
    if names.is_empty() { "nothing".to_owned() } else { names }
}

/// The default schemes of a key: hashes at least as strong as the key, the shortest first; and the old method of its curve.
/// RSA with SHA-1 must be configured.
// RFC 8247 §3.2: verifiers MUST support RSASSA-PSS, but no announcement shows whether a peer does, while every implementation
// of RFC 7427 verifies RSASSA-PKCS1-v1_5; so that comes first unless configured otherwise.
// one of RFC 7427 verifies RSASSA-PKCS1-v1_5, so that it goes first until somebody names the other.
pub const fn usual(kind: KeyKind) -> &'static [SignatureScheme] {
    use SignatureScheme::{EcdsaDer, EcdsaRaw, Ed25519, RsaPkcs1};
    match kind {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            &[RsaPkcs1(Hash::Sha256), RsaPkcs1(Hash::Sha384), RsaPkcs1(Hash::Sha512)]
        }
        KeyKind::EcdsaP256 => {
            &[EcdsaDer(Hash::Sha256), EcdsaDer(Hash::Sha384), EcdsaDer(Hash::Sha512), EcdsaRaw(Hash::Sha256)]
        }
        KeyKind::EcdsaP384 => &[EcdsaDer(Hash::Sha384), EcdsaDer(Hash::Sha512), EcdsaRaw(Hash::Sha384)],
        KeyKind::EcdsaP521 => &[EcdsaDer(Hash::Sha512), EcdsaRaw(Hash::Sha512)],
        KeyKind::Ed25519 => &[Ed25519],
    }
}

/// The first of the configured or default schemes that the peer can verify, and its AUTH method.
pub(super) fn choose(
    named: &[SignatureScheme],
    kind: KeyKind,
    peer: PeerHashes,
) -> Result<(AuthMethod, SignatureScheme), Clash> {
    let ours = if named.is_empty() { usual(kind) } else { named };
    let mut fitting = ours.iter().copied().filter(|scheme| scheme.fits(kind));
    let chosen = fitting.find(|scheme| peer.takes(*scheme));
    chosen.and_then(|scheme| Some((method(scheme)?, scheme))).ok_or_else(|| {
        let all = SignatureScheme::NEGOTIABLE.iter().enumerate();
        let bits = all.filter(|(_, scheme)| ours.contains(scheme)).fold(0, |bits, (at, _)| bits | 1 << at);
        Clash { ours: bits, peer }
    })
}

/// The AUTH method of a scheme; `None` if there is none.
// RFC 8247 §3.2: SHA-1 is not to be used with method 14, so it has only RFC 7296's own.
pub const fn method(scheme: SignatureScheme) -> Option<AuthMethod> {
    Some(match scheme {
        SignatureScheme::RsaPkcs1(Hash::Sha1) => AuthMethod::RSA_DIGITAL_SIGNATURE,
        SignatureScheme::EcdsaRaw(Hash::Sha256) => AuthMethod::ECDSA_SHA256_P256,
        SignatureScheme::EcdsaRaw(Hash::Sha384) => AuthMethod::ECDSA_SHA384_P384,
        SignatureScheme::EcdsaRaw(Hash::Sha512) => AuthMethod::ECDSA_SHA512_P521,
        SignatureScheme::RsaPkcs1(Hash::Sha256 | Hash::Sha384 | Hash::Sha512)
        | SignatureScheme::RsaPss(Hash::Sha256 | Hash::Sha384 | Hash::Sha512)
        | SignatureScheme::EcdsaDer(Hash::Sha256 | Hash::Sha384 | Hash::Sha512)
        | SignatureScheme::Ed25519 => AuthMethod::DIGITAL_SIGNATURE,
        _ => return None,
    })
}

/// The scheme of an AUTH payload with one of the old methods.
pub(super) fn of_old_method(wanted: AuthMethod) -> Option<SignatureScheme> {
    let old =
        |scheme: &SignatureScheme| method(*scheme) == Some(wanted) && wanted != AuthMethod::DIGITAL_SIGNATURE;
    SignatureScheme::NEGOTIABLE.into_iter().find(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcing(ids: &[HashId]) -> PeerHashes {
        let data: Vec<u8> = ids.iter().flat_map(|id| id.0.to_be_bytes()).collect();
        PeerHashes::read(Some(&data))
    }

    #[test]
    fn the_peer_s_hashes_decide_among_those_of_ours() {
        use SignatureScheme::{EcdsaDer, EcdsaRaw, RsaPkcs1, RsaPss};
        let named = [RsaPss(Hash::Sha512), RsaPkcs1(Hash::Sha256), RsaPkcs1(Hash::Sha1)];
        let chosen = |named: &[_], kind, peer| choose(named, kind, peer).map(|(_, scheme)| scheme);
        let rsa = KeyKind::Rsa2048;
        let both = announcing(&[HashId::SHA2_256, HashId::SHA2_512]);
        assert_eq!(chosen(&named, rsa, both), Ok(RsaPss(Hash::Sha512)));
        assert_eq!(chosen(&named, rsa, announcing(&[HashId::SHA2_256])), Ok(RsaPkcs1(Hash::Sha256)));
        assert_eq!(chosen(&named, rsa, PeerHashes::default()), Ok(RsaPkcs1(Hash::Sha1)));
        assert_eq!(chosen(&[], rsa, announcing(&[HashId::SHA2_512])), Ok(RsaPkcs1(Hash::Sha512)));
        let p384 = KeyKind::EcdsaP384;
        assert_eq!(chosen(&[], p384, PeerHashes::default()), Ok(EcdsaRaw(Hash::Sha384)));
        assert_eq!(chosen(&[EcdsaDer(Hash::Sha256)], p384, both), Ok(EcdsaDer(Hash::Sha256)));
        assert!(chosen(&[EcdsaRaw(Hash::Sha256)], p384, PeerHashes::default()).is_err(), "another curve's");
    }

    #[test]
    fn rsa_with_sha_1_is_made_only_where_it_is_named_and_nothing_was_announced() {
        let sha1 = [SignatureScheme::RsaPkcs1(Hash::Sha1)];
        let rsa = KeyKind::Rsa2048;
        assert!(choose(&[], rsa, PeerHashes::default()).is_err());
        assert!(choose(&sha1, rsa, announcing(&[HashId::SHA1])).is_err());
        assert_eq!(
            choose(&sha1, rsa, PeerHashes::default()),
            Ok((AuthMethod::RSA_DIGITAL_SIGNATURE, sha1[0]))
        );
    }

    #[test]
    fn a_clash_lists_the_schemes_of_both() {
        let clash = choose(
            &[SignatureScheme::RsaPss(Hash::Sha384)],
            KeyKind::Rsa2048,
            announcing(&[HashId::SHA2_256]),
        );
        assert_eq!(
            clash.unwrap_err().to_string(),
            "we sign with rsa-pss-sha384; the peer announces SHA2_256"
        );
        let clash = choose(&[], KeyKind::Ed25519, PeerHashes::default()).unwrap_err();
        assert_eq!(clash.to_string(), "we sign with ed25519; the peer announces no hash of RFC 7427");
        let clash = choose(&[], KeyKind::Ed25519, announcing(&[])).unwrap_err();
        assert_eq!(clash.to_string(), "we sign with ed25519; the peer announces nothing");
    }

    #[test]
    fn all_defaults_fit_their_key_and_have_a_method() {
        for &kind in KeyKind::ALL {
            for scheme in usual(kind) {
                assert!(scheme.fits(kind) && method(*scheme).is_some(), "{kind} {scheme}");
            }
        }
        assert!(SignatureScheme::NEGOTIABLE.into_iter().all(|scheme| method(scheme).is_some()));
    }

    #[test]
    fn a_short_key_has_no_room_for_a_long_salt() {
        assert!(!SignatureScheme::RsaPss(Hash::Sha512).fits(KeyKind::Rsa1024));
        assert!(SignatureScheme::RsaPss(Hash::Sha384).fits(KeyKind::Rsa1024));
        assert!(SignatureScheme::RsaPss(Hash::Sha512).fits(KeyKind::Rsa2048));
    }
}
