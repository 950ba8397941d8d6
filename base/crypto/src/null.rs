//! The provider that computes nothing: all lengths are right and both sides agree, but no bit is secret.
//!
//! What remains of a protocol run is parsing, state, memory and messages. Digests, tags, secrets and signatures are zeros;
//! encryption leaves the data unchanged.

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf, SignatureScheme,
    StreamCipher,
};
use keytoll_crypto_api::{Crypto, Digest, KeyPair, OnCurve, PrivateKey, Rejected, Rng, Secret, SigningKey};

use crate::keys::{kind_of_spki, signature_len};

/// No cryptography.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl Crypto for Null {
    fn hash(&mut self, algorithm: Hash, _parts: &[&[u8]]) -> Digest {
        Digest::zeroed(algorithm.len())
    }

    fn sha1_compress(&mut self, state: &mut [u32; 5], _block: &[u8; 64]) {
        *state = [0; 5];
    }

    fn block(&mut self, _cipher: BlockCipher, _key: &[u8], _block: &mut [u8]) {}

    fn stream(&mut self, _cipher: StreamCipher, _key: &[u8], _data: &mut [u8]) {}

    fn wrap_key(&mut self, _cipher: KeyWrap, _key: &[u8], data: &[u8]) -> Vec<u8> {
        [&[0; KeyWrap::OVERHEAD], data].concat()
    }

    fn unwrap_key(&mut self, _cipher: KeyWrap, _key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
        let data = wrapped.strip_prefix(&[0; KeyWrap::OVERHEAD]).ok_or(Rejected)?;
        accept(KeyWrap::fits(data.len())).map(|()| data.into())
    }

    fn prf(&mut self, algorithm: Prf, _key: &[u8], _parts: &[&[u8]]) -> Digest {
        Digest::zeroed(algorithm.output_len())
    }

    fn mac(&mut self, algorithm: Integrity, _key: &[u8], _parts: &[&[u8]]) -> Digest {
        Digest::zeroed(algorithm.tag_len())
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        _key: &[u8],
        _parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        accept(is_zero(tag, algorithm.tag_len()))
    }

    fn encrypt(
        &mut self,
        _algorithm: Encryption,
        _key: &[u8],
        _iv: &[u8],
        _aad: &[u8],
        _data: &mut [u8],
        tag: &mut [u8],
    ) {
        tag.fill(0);
    }

    fn decrypt(
        &mut self,
        algorithm: Encryption,
        _key: &[u8],
        _iv: &[u8],
        _aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        let whole = data.len().is_multiple_of(algorithm.block_len());
        accept(whole && is_zero(tag, algorithm.tag_len()))
    }

    fn generate(&mut self, group: Group, _rng: &mut Rng) -> KeyPair {
        let private = PrivateKey { group, secret: Secret::default() };
        KeyPair { private, public: vec![0; group.public_len()] }
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        let group = private.group;
        accept(peer.len() == group.public_len()).map(|()| Secret::new(vec![0; group.secret_len()]))
    }

    /// Elements are zeros. A sum of scalars is their exclusive or, so that different secrets make different commitments, in
    /// which both sides agree.
    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        let zeros = |len| Secret::new(vec![0; len]);
        match operation {
            OnCurve::Multiply { element, scalar } => {
                accept(element.len() == curve.element_len() && scalar.len() == curve.field_len())
                    .map(|()| zeros(curve.element_len()))
            }
            OnCurve::Add(a, b) => {
                accept(a.len() == curve.element_len() && b.len() == a.len()).map(|()| zeros(a.len()))
            }
            OnCurve::Invert(element) => {
                accept(element.len() == curve.element_len()).map(|()| zeros(element.len()))
            }
            OnCurve::Check(element) => {
                accept(element.len() == curve.element_len()).map(|()| Secret::default())
            }
            OnCurve::Test { x, blinding } => {
                accept(x.len() == curve.field_len() && blinding.len() == x.len() + 1)
                    .map(|()| Secret::default())
            }
            OnCurve::Solve { x, .. } => {
                accept(x.len() == curve.field_len()).map(|()| zeros(curve.element_len()))
            }
            OnCurve::Map(_) => Ok(zeros(curve.element_len())),
            OnCurve::AddScalars(a, b) => {
                accept(a.len() == curve.field_len() && b.len() == a.len())?;
                Ok(Secret::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect()))
            }
            OnCurve::Scalar(_) => Ok(zeros(curve.field_len())),
        }
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, _parts: &[&[u8]]) -> Vec<u8> {
        vec![0; signature_len(key.kind, scheme)]
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        _parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        let kind = kind_of_spki(spki).ok_or(Rejected)?;
        accept(is_plausible(kind, scheme, signature.len()))
    }

    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected> {
        let bits = kind_of_spki(spki).and_then(KeyKind::rsa_bits).ok_or(Rejected)?;
        padded(message, bits / 8).ok_or(Rejected)
    }

    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected> {
        let bits = key.kind.rsa_bits().ok_or(Rejected)?;
        accept(ciphertext.len() == bits / 8)?;
        unpadded(ciphertext).map(Secret::from).ok_or(Rejected)
    }
}

/// RFC 8017 §7.2.1 step 2: 00 02, padding without zeros, 00, the message; `None` if it does not fit.
fn padded(message: &[u8], len: usize) -> Option<Vec<u8>> {
    let padding = len.checked_sub(message.len() + 3).filter(|&padding| padding >= 8)?;
    Some([&[0, 2], &vec![0xff; padding][..], &[0], message].concat())
}

fn unpadded(block: &[u8]) -> Option<&[u8]> {
    let rest = block.strip_prefix(&[0, 2])?;
    let end = rest.iter().position(|&byte| byte == 0).filter(|&padding| padding >= 8)?;
    Some(&rest[end + 1..])
}

/// Whether a signature of this length can be from this key, including real ones in certificates: in DER each of the two
/// numbers of ECDSA may be a byte longer or shorter than likeliest.
fn is_plausible(kind: KeyKind, scheme: SignatureScheme, len: usize) -> bool {
    let tolerance = if matches!(scheme, SignatureScheme::EcdsaDer(_)) { 3 } else { 0 };
    len.abs_diff(signature_len(kind, scheme)) <= tolerance
}

fn is_zero(tag: &[u8], len: usize) -> bool {
    tag.len() == len && tag.iter().all(|&byte| byte == 0)
}

fn accept(condition: bool) -> Result<(), Rejected> {
    condition.then_some(()).ok_or(Rejected)
}
