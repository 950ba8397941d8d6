//! Authentication: our proof, and verification of the peer's: HASH with a shared key, SIG with RSA. RFC 2409 §5.1, §5.4.

use std::net::IpAddr;

use keytoll_crypto_api::algorithm::SignatureScheme;
use keytoll_crypto_api::{Digest, Secret, SigningKey, about};
use keytoll_engine::Ctx;

use super::inbound::Inbound;
use super::number::AuthenticationMethod;
use super::wire::{Identification, Payload};
use crate::certificates::owns;
use crate::config::{Believe, Connection, Prove};
use crate::event::Reason;
use crate::number::CertEncoding;
use crate::wire::{Certificate, Identity, MessageBuilder};

/// The authentication method of a connection, the same for both sides (RFC 2409 §4); `None` if IKEv1 has no such method.
pub(super) fn method(connection: &Connection) -> Option<AuthenticationMethod> {
    match (&connection.local, &connection.remote) {
        (Prove::Psk(_), Believe::Psk { .. }) => Some(AuthenticationMethod::PRE_SHARED_KEY),
        _ if connection.believes_anybody() => None,
        (local, Believe::Certificate(_) | Believe::RawKey(_)) => {
            let key = signing_key(local)?;
            key.kind.rsa_bits().map(|_| AuthenticationMethod::RSA_SIGNATURES)
        }
        _ => None,
    }
}

const fn signing_key(prove: &Prove) -> Option<&SigningKey> {
    match prove {
        Prove::Certificate(credential) => Some(&credential.key),
        Prove::RawKey(key) => Some(key),
        Prove::Psk(_) | Prove::Eap => None,
    }
}

/// The key shared with a peer, by its identity if known, else by its address.
// RFC 2409 §5.4: in main mode the key can only be found by the peer's address.
pub(super) fn shared_key(connection: &Connection, identity: Option<&Identity>, ip: IpAddr) -> Option<Secret> {
    let Believe::Psk { any, by_identity } = &connection.remote else { return None };
    let named = identity.or(connection.remote_id.as_ref()).and_then(|identity| by_identity.get(identity));
    named.or_else(|| by_identity.get(&Identity::from(ip))).or_else(|| any.clone())
}

/// Whether the key of a peer with this name and address belongs to the address rather than the name.
pub(super) fn is_key_of_address(connection: &Connection, identity: &Identity, ip: IpAddr) -> bool {
    let Believe::Psk { by_identity, .. } = &connection.remote else { return false };
    !by_identity.knows(identity) && by_identity.knows(&Identity::from(ip))
}

/// Whether a connection has a key for this address.
pub(super) fn names_address(connection: &Connection, ip: IpAddr) -> bool {
    let identity = Identity::from(ip);
    let has_key =
        matches!(&connection.remote, Believe::Psk { by_identity, .. } if by_identity.knows(&identity));
    has_key || connection.remote_id.as_ref() == Some(&identity)
}

/// Our proof, ready for the wire.
pub(super) enum Proof {
    Hash(Digest),
    Signature(Vec<u8>),
}

impl Proof {
    /// RFC 2409 §5.1: the signature is over HASH_I or HASH_R itself, in PKCS #1 padding without an algorithm identifier.
    pub(super) fn make(connection: &Connection, hash: Digest, cx: &mut Ctx<'_>) -> Self {
        match signing_key(&connection.local) {
            Some(key) => {
                let scheme = SignatureScheme::RsaPkcs1Bare;
                Self::Signature(about(cx.crypto, "SIG", |crypto| crypto.sign(key, scheme, &[&hash])))
            }
            None => Self::Hash(hash),
        }
    }

    /// [CERT, …] SIG, or HASH.
    pub(super) fn push(&self, m: &mut MessageBuilder, connection: &Connection) {
        if let Prove::Certificate(credential) = &connection.local {
            for der in credential.chain.iter() {
                push(m, &Payload::Certificate(Certificate::x509(der)));
            }
        }
        match self {
            Self::Hash(hash) => push(m, &Payload::Hash(hash)),
            Self::Signature(value) => push(m, &Payload::Signature(value)),
        }
    }
}

fn push(m: &mut MessageBuilder, payload: &Payload<'_>) {
    super::wire::message::push(m, payload);
}

/// Verifies the peer's HASH or SIG over `expected`, and with certificates its identity.
pub(super) fn verify(
    connection: &Connection,
    expected: &Digest,
    id: &Identification<'_>,
    inbound: &Inbound<'_>,
    cx: &mut Ctx<'_>,
) -> Result<(), Reason> {
    let trust = match &connection.remote {
        Believe::Psk { .. } => {
            let hash = inbound.hashes().next().ok_or(Reason::Syntax("HASH is missing"))?;
            return expected.matches(hash).then_some(()).ok_or(Reason::AuthenticationFailed);
        }
        Believe::Eap => return Err(Reason::AuthenticationFailed),
        Believe::RawKey(spki) => return verify_signature(spki, expected, inbound, cx),
        Believe::Certificate(trust) => trust,
    };
    let x509 = inbound.certificates().filter(|one| one.encoding == CertEncoding::X509_SIGNATURE);
    let chain: Vec<&[u8]> = x509.map(|certificate| certificate.data).collect();
    let peer = about(cx.crypto, "CERT", |crypto| trust.verify(&chain, cx.now, crypto))
        .map_err(Reason::Certificate)?;
    let claimed = id.to_identity();
    if !owns(&peer, &claimed.as_payload()) {
        return Err(Reason::WrongIdentity);
    }
    verify_signature(&peer.spki, expected, inbound, cx)
}

fn verify_signature(
    spki: &[u8],
    expected: &Digest,
    inbound: &Inbound<'_>,
    cx: &mut Ctx<'_>,
) -> Result<(), Reason> {
    let signature = inbound.signatures().next().ok_or(Reason::Syntax("SIG is missing"))?;
    let scheme = SignatureScheme::RsaPkcs1Bare;
    let verdict = about(cx.crypto, "SIG", |crypto| crypto.verify(spki, scheme, &[expected], signature));
    verdict.map_err(|_| Reason::AuthenticationFailed)
}
