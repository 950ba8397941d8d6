//! The AUTH payload: proving who we are, and judging the peer's proof. RFC 7296 §2.15, RFC 7427, RFC 4754.

use keytoll_engine::Ctx;
use keytoll_engine::algorithm::{Hash, KeyKind, Prf, SignatureScheme};
use keytoll_engine::credentials::Credential;
use keytoll_engine::crypto::{Secret, SigningKey};

use super::config::{Believe, Prove};
use super::event::Reason;
use super::inbound::Inbound;
use super::keys::{IkeKeys, Role, SignedOctets};
use super::signature::{self, DigitalSignature};
use crate::certificates::owns;
use crate::number::{AuthMethod, CertEncoding, HashId};
use crate::wire::{Authentication, Identification};

/// Our proof, ready for the wire.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) method: AuthMethod,
    pub(super) data: Vec<u8>,
}

impl Proof {
    pub(super) fn payload(&self) -> Authentication<'_> {
        Authentication { method: self.method, data: &self.data }
    }

    /// RFC 7296 §2.16: after EAP both sides prove themselves with the key it made, or without one with SK_p.
    pub(super) fn by_eap(
        octets: &SignedOctets<'_>,
        keys: &IkeKeys,
        signer: Role,
        msk: Option<&Secret>,
        cx: &mut Ctx<'_>,
    ) -> Self {
        let secret = msk.map_or(keys.auth(signer), |msk| msk);
        let data = octets.shared_key_mic(cx.crypto, keys.prf(), secret).to_vec();
        Self { method: AuthMethod::SHARED_KEY_MIC, data }
    }
}

/// Judges the peer's AUTH after EAP, see [`Proof::by_eap`].
pub(super) fn verify_eap(
    octets: &SignedOctets<'_>,
    keys: &IkeKeys,
    signer: Role,
    msk: Option<&Secret>,
    auth: Authentication<'_>,
    cx: &mut Ctx<'_>,
) -> Result<(), Reason> {
    let secret = msk.map_or(keys.auth(signer), |msk| msk);
    let sound = auth.method == AuthMethod::SHARED_KEY_MIC
        && octets.is_shared_key_mic(cx.crypto, keys.prf(), secret, auth.data);
    sound.then_some(()).ok_or(Reason::AuthenticationFailed)
}

/// The hash algorithms a peer can verify, from its SIGNATURE_HASH_ALGORITHMS (RFC 7427 §4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PeerHashes {
    announced: bool,
    bits: u8,
}

impl PeerHashes {
    /// What we announce: everything but SHA-1, and the "identity" of Ed25519.
    pub(super) const OURS: [HashId; 4] =
        [HashId::SHA2_256, HashId::SHA2_384, HashId::SHA2_512, HashId::IDENTITY];

    pub(super) fn read(data: Option<&[u8]>) -> Self {
        let Some(data) = data else { return Self::default() };
        let ids = data.as_chunks().0.iter().map(|id| u16::from_be_bytes(*id)).filter(|id| *id < 8);
        Self { announced: true, bits: ids.fold(0, |bits, id| bits | 1 << id) }
    }

    const fn has(self, id: HashId) -> bool {
        self.announced && id.0 < 8 && self.bits & 1 << id.0 != 0
    }

    /// The method and scheme for a key, or none if the peer cannot verify any.
    fn scheme(self, kind: KeyKind) -> Option<(AuthMethod, SignatureScheme)> {
        let modern = modern_scheme(kind);
        let id = signature::hash_id(modern)?;
        if self.has(id) {
            return Some((AuthMethod::DIGITAL_SIGNATURE, modern));
        }
        // RFC 7427 §4: without the notification only the old methods may be used.
        if self.announced { None } else { old_scheme(kind) }
    }
}

/// RFC 7427 with the hash that fits the key's strength.
const fn modern_scheme(kind: KeyKind) -> SignatureScheme {
    match kind {
        KeyKind::EcdsaP256 => SignatureScheme::EcdsaDer(Hash::Sha256),
        KeyKind::EcdsaP384 => SignatureScheme::EcdsaDer(Hash::Sha384),
        KeyKind::EcdsaP521 => SignatureScheme::EcdsaDer(Hash::Sha512),
        KeyKind::Ed25519 => SignatureScheme::Ed25519,
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            SignatureScheme::RsaPkcs1(Hash::Sha256)
        }
    }
}

/// RFC 7296 §3.8 (RSA with SHA-1) and RFC 4754 (ECDSA, r ‖ s).
const fn old_scheme(kind: KeyKind) -> Option<(AuthMethod, SignatureScheme)> {
    Some(match kind {
        KeyKind::EcdsaP256 => (AuthMethod::ECDSA_SHA256_P256, SignatureScheme::EcdsaRaw(Hash::Sha256)),
        KeyKind::EcdsaP384 => (AuthMethod::ECDSA_SHA384_P384, SignatureScheme::EcdsaRaw(Hash::Sha384)),
        KeyKind::EcdsaP521 => (AuthMethod::ECDSA_SHA512_P521, SignatureScheme::EcdsaRaw(Hash::Sha512)),
        KeyKind::Ed25519 => return None,
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            (AuthMethod::RSA_DIGITAL_SIGNATURE, SignatureScheme::RsaPkcs1(Hash::Sha1))
        }
    })
}

/// Makes our AUTH.
pub(super) fn prove(
    prove: &Prove,
    octets: &SignedOctets<'_>,
    prf: Prf,
    peer: PeerHashes,
    cx: &mut Ctx<'_>,
) -> Result<Proof, Reason> {
    match prove {
        Prove::Psk(secret) => {
            let data = octets.shared_key_mic(cx.crypto, prf, secret).to_vec();
            Ok(Proof { method: AuthMethod::SHARED_KEY_MIC, data })
        }
        Prove::Certificate(Credential { key, .. }) | Prove::RawKey(key) => sign(key, octets, peer, cx),
        // The proof comes at the end, see `Proof::by_eap`.
        Prove::Eap => Err(Reason::Eap),
    }
}

fn sign(
    key: &SigningKey,
    octets: &SignedOctets<'_>,
    peer: PeerHashes,
    cx: &mut Ctx<'_>,
) -> Result<Proof, Reason> {
    let (method, scheme) = peer.scheme(key.kind).ok_or(Reason::AuthenticationFailed)?;
    let value = cx.crypto.sign(key, scheme, &octets.parts());
    let data = match method {
        AuthMethod::DIGITAL_SIGNATURE => DigitalSignature { scheme, value: &value }.write(),
        _ => Some(value),
    };
    Ok(Proof { method, data: data.ok_or(Reason::AuthenticationFailed)? })
}

/// Judges the peer's AUTH, and with certificates its identity.
pub(super) fn verify(
    believe: &Believe,
    octets: &SignedOctets<'_>,
    prf: Prf,
    id: &Identification<'_>,
    inbound: &Inbound<'_>,
    cx: &mut Ctx<'_>,
) -> Result<(), Reason> {
    let auth = inbound.need_auth()?;
    match believe {
        Believe::Psk { any, by_identity } => {
            let secret = by_identity.get(&id.to_identity()).or(any.as_ref());
            let secret = secret.ok_or(Reason::AuthenticationFailed)?;
            let sound = auth.method == AuthMethod::SHARED_KEY_MIC
                && octets.is_shared_key_mic(cx.crypto, prf, secret, auth.data);
            sound.then_some(()).ok_or(Reason::AuthenticationFailed)
        }
        // Believed or not when EAP has ended, see `verify_eap`.
        Believe::Eap => Err(Reason::Eap),
        Believe::RawKey(spki) => {
            let (scheme, signature) = signature_of(auth).ok_or(Reason::AuthenticationFailed)?;
            let verdict = cx.crypto.verify(spki, scheme, &octets.parts(), signature);
            verdict.map_err(|_| Reason::AuthenticationFailed)
        }
        Believe::Certificate(trust) => {
            // Somebody without a signature need not be asked for a certificate.
            let (scheme, signature) = signature_of(auth).ok_or(Reason::AuthenticationFailed)?;
            let chain: Vec<&[u8]> = inbound
                .certificates()
                .filter(|certificate| certificate.encoding == CertEncoding::X509_SIGNATURE)
                .map(|certificate| certificate.data)
                .collect();
            let peer = trust.verify(&chain, cx.now, cx.crypto).map_err(Reason::Certificate)?;
            if !owns(&peer, id) {
                return Err(Reason::WrongIdentity);
            }
            let verdict = cx.crypto.verify(&peer.spki, scheme, &octets.parts(), signature);
            verdict.map_err(|_| Reason::AuthenticationFailed)
        }
    }
}

/// The scheme and the signature proper of an AUTH payload.
fn signature_of(auth: Authentication<'_>) -> Option<(SignatureScheme, &[u8])> {
    match auth.method {
        AuthMethod::DIGITAL_SIGNATURE => {
            let DigitalSignature { scheme, value } = DigitalSignature::read(auth.data).ok()?;
            // RFC 8247 §3.2: SHA-1 is not to be used with method 14; we never announce it.
            (signature::hash_id(scheme) != Some(HashId::SHA1)).then_some((scheme, value))
        }
        AuthMethod::RSA_DIGITAL_SIGNATURE => Some((SignatureScheme::RsaPkcs1(Hash::Sha1), auth.data)),
        AuthMethod::ECDSA_SHA256_P256 => Some((SignatureScheme::EcdsaRaw(Hash::Sha256), auth.data)),
        AuthMethod::ECDSA_SHA384_P384 => Some((SignatureScheme::EcdsaRaw(Hash::Sha384), auth.data)),
        AuthMethod::ECDSA_SHA512_P521 => Some((SignatureScheme::EcdsaRaw(Hash::Sha512), auth.data)),
        _ => None,
    }
}
