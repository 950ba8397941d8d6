//! The AUTH payload: our proof, and verification of the peer's. RFC 7296 §2.15, RFC 7427, RFC 4754.

use keytoll_crypto_api::algorithm::{Hash, Prf, SignatureScheme};
use keytoll_crypto_api::credentials::Credential;
use keytoll_crypto_api::{Secret, SigningKey, about};
use keytoll_engine::Ctx;

use super::config::{Believe, Connection, Prove, Weakest};
use super::event::Reason;
use super::inbound::Inbound;
use super::keys::{AUTH, IkeKeys, Role, SignedOctets};
use super::schemes::{self, PeerHashes};
use super::signature::{self, DigitalSignature};
use crate::certificates::owns;
use crate::number::{AuthMethod, CertEncoding, HashId};
use crate::unproved::Likely;
use crate::wire::{Authentication, Identification};

/// Our encoded proof.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) method: AuthMethod,
    pub(super) data: Vec<u8>,
}

impl Proof {
    pub(super) fn payload(&self) -> Authentication<'_> {
        Authentication { method: self.method, data: &self.data }
    }

    /// RFC 7296 §2.16: after EAP both sides authenticate with the MSK, or without one with SK_p.
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

/// Verifies the peer's AUTH after EAP, see [`Proof::by_eap`].
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

/// Makes our AUTH.
pub(super) fn prove(
    connection: &Connection,
    octets: &SignedOctets<'_>,
    prf: Prf,
    peer: PeerHashes,
    cx: &mut Ctx<'_>,
) -> Result<Proof, Reason> {
    match &connection.local {
        Prove::Psk(secret) => {
            let data = octets.shared_key_mic(cx.crypto, prf, secret).to_vec();
            Ok(Proof { method: AuthMethod::SHARED_KEY_MIC, data })
        }
        Prove::Certificate(Credential { key, .. }) | Prove::RawKey(key) => {
            sign(key, &connection.signatures, octets, peer, cx)
        }
        // The proof comes at the end, see `Proof::by_eap`.
        Prove::Eap => Err(Reason::Eap),
    }
}

fn sign(
    key: &SigningKey,
    named: &[SignatureScheme],
    octets: &SignedOctets<'_>,
    peer: PeerHashes,
    cx: &mut Ctx<'_>,
) -> Result<Proof, Reason> {
    let (method, scheme) = schemes::choose(named, key.kind, peer).map_err(Reason::NoCommonSignature)?;
    let value = about(cx.crypto, AUTH, |crypto| crypto.sign(key, scheme, &octets.parts()));
    let data = match method {
        AuthMethod::DIGITAL_SIGNATURE => DigitalSignature { scheme, value: &value }.write(),
        _ => Some(value),
    };
    Ok(Proof { method, data: data.ok_or(Reason::AuthenticationFailed)? })
}

/// Verifies the peer's AUTH, and with certificates its identity.
pub(super) fn verify(
    connection: &Connection,
    announced: PeerHashes,
    octets: &SignedOctets<'_>,
    prf: Prf,
    id: &Identification<'_>,
    inbound: &Inbound<'_>,
    cx: &mut Ctx<'_>,
) -> Result<(), Reason> {
    let auth = inbound.need_auth()?;
    match &connection.remote {
        Believe::Psk { any, by_identity } => {
            let secret = by_identity.get(&id.to_identity()).or_else(|| any.clone());
            let secret = secret.ok_or(Reason::AuthenticationFailed)?;
            let sound = auth.method == AuthMethod::SHARED_KEY_MIC
                && octets.is_shared_key_mic(cx.crypto, prf, &secret, auth.data);
            sound.then_some(()).ok_or(Reason::AuthenticationFailed)
        }
        // Verified when EAP has ended, see `verify_eap`.
        Believe::Eap => Err(Reason::Eap),
        Believe::RawKey(spki) => {
            let (scheme, signature) = strong(auth, connection.weakest, announced)?;
            if !connection.weakest.takes_key(spki) {
                return Err(Reason::WeakSignature);
            }
            let verdict =
                about(cx.crypto, AUTH, |crypto| crypto.verify(spki, scheme, &octets.parts(), signature));
            verdict.map_err(|_| Reason::AuthenticationFailed)
        }
        Believe::Certificate(trust) => {
            // Without a signature there is no need for a certificate.
            let (scheme, signature) = strong(auth, connection.weakest, announced)?;
            let chain: Vec<&[u8]> = inbound
                .certificates()
                .filter(|certificate| certificate.encoding == CertEncoding::X509_SIGNATURE)
                .map(|certificate| certificate.data)
                .collect();
            let peer = about(cx.crypto, "CERT", |crypto| trust.verify(&chain, cx.now, crypto))
                .map_err(Reason::Certificate)?;
            if !owns(&peer, id) {
                return Err(Reason::WrongIdentity);
            }
            if !connection.weakest.takes_key(&peer.spki) {
                return Err(Reason::WeakSignature);
            }
            let verdict = about(cx.crypto, AUTH, |crypto| {
                crypto.verify(&peer.spki, scheme, &octets.parts(), signature)
            });
            verdict.map_err(|_| Reason::AuthenticationFailed)
        }
    }
}

/// The most likely cause of an AUTH that [`verify`] has refused.
pub(super) fn likely(
    reason: Reason,
    believe: &Believe,
    id: &Identification<'_>,
    inbound: &Inbound<'_>,
) -> Option<Likely> {
    let auth = inbound.auth().filter(|_| reason == Reason::AuthenticationFailed)?;
    let by_key = auth.method == AuthMethod::SHARED_KEY_MIC;
    match believe {
        Believe::Eap => None,
        Believe::Psk { .. } if !by_key => Some(Likely::OtherMethod),
        Believe::Psk { any: None, by_identity } if !by_identity.knows(&id.to_identity()) => {
            Some(Likely::NoKey)
        }
        Believe::Psk { .. } => Some(Likely::KeysDiffer),
        Believe::RawKey(_) | Believe::Certificate(_) if by_key => Some(Likely::OtherMethod),
        Believe::RawKey(_) | Believe::Certificate(_) => signature_of(auth).map(|_| Likely::OtherKey),
    }
}

/// The scheme and the bare signature, if they are not too weak for the connection and for the hashes that both sides have announced.
fn strong(
    auth: Authentication<'_>,
    weakest: Weakest,
    announced: PeerHashes,
) -> Result<(SignatureScheme, &[u8]), Reason> {
    let (scheme, signature) = signature_of(auth).ok_or(Reason::AuthenticationFailed)?;
    // RFC 8247 §3.2: a peer that knows SHA-2 has no reason for SHA-1, but an attacker between the peers has.
    let is_downgraded = scheme.hash() == Some(Hash::Sha1) && announced.knows_sha2();
    match weakest.takes(scheme) && !is_downgraded {
        true => Ok((scheme, signature)),
        false => Err(Reason::WeakSignature),
    }
}

/// The scheme and the bare signature of an AUTH payload.
fn signature_of(auth: Authentication<'_>) -> Option<(SignatureScheme, &[u8])> {
    match auth.method {
        AuthMethod::DIGITAL_SIGNATURE => {
            let DigitalSignature { scheme, value } = DigitalSignature::read(auth.data).ok()?;
            // RFC 8247 §3.2: SHA-1 is not to be used with method 14; we never announce it.
            (signature::hash_id(scheme) != Some(HashId::SHA1)).then_some((scheme, value))
        }
        old => schemes::of_old_method(old).map(|scheme| (scheme, auth.data)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides know SHA-2, and an attacker removed the responder's announcement from its response.
    #[test]
    fn rsa_with_sha_1_is_believed_only_of_a_peer_that_knows_no_other_and_where_it_is_named() {
        let auth = Authentication { method: AuthMethod::RSA_DIGITAL_SIGNATURE, data: &[1; 256] };
        let (none, sha2) = (PeerHashes::default(), PeerHashes::read(Some(&HashId::SHA2_256.0.to_be_bytes())));
        let verdict = |weakest, announced| strong(auth, weakest, announced).map(|(scheme, _)| scheme);
        let sha1 = SignatureScheme::RsaPkcs1(Hash::Sha1);
        assert_eq!(verdict(Weakest::default(), none), Ok(sha1));
        assert_eq!(verdict(Weakest::default(), sha2), Err(Reason::WeakSignature));
        let strict = Weakest { hash: Hash::Sha256, ..Weakest::default() };
        assert_eq!(verdict(strict, none), Err(Reason::WeakSignature));
        let p256 = Authentication { method: AuthMethod::ECDSA_SHA256_P256, data: &[1; 64] };
        assert!(strong(p256, strict, sha2).is_ok(), "an old method with SHA-2");
    }
}
