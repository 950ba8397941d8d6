//! Lets webpki verify signatures with the engine's crypto provider. Read RFC 5280 §4.1.1.2 and RFC 8017 §A.1.1 first.

use std::fmt;
use std::sync::Mutex;

use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::SignatureScheme;
use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::algorithms::Algorithm;
use crate::certificate::RSA_BITS;
use crate::der::{self, Element};

/// Verifies one kind of signature for webpki with the lent provider. webpki requires `&self` and `Sync`, hence the lock,
/// which is never contended.
pub(crate) struct Bridge<'m, 'c> {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) crypto: &'m Mutex<&'c mut dyn Crypto>,
}

impl fmt::Debug for Bridge<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bridge({})", self.algorithm.scheme)
    }
}

impl SignatureVerificationAlgorithm for Bridge<'_, '_> {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let algorithm = self.algorithm;
        check_strength(algorithm.scheme, public_key)?;
        let identifier = der::sequence(&[algorithm.public_key.as_ref()]);
        let spki = der::sequence(&[&identifier, &der::bit_string(public_key)]);
        let mut crypto = self.crypto.lock().map_err(|_| InvalidSignature)?;
        crypto.verify(&spki, algorithm.scheme, &[message], signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature
    }
}

/// An authority's RSA key must have an acceptable length: RSAPublicKey is SEQUENCE { modulus, exponent }.
fn check_strength(scheme: SignatureScheme, public_key: &[u8]) -> Result<(), InvalidSignature> {
    if !matches!(scheme, SignatureScheme::RsaPkcs1(_) | SignatureScheme::RsaPss(_)) {
        return Ok(());
    }
    let modulus = Element::only(public_key).and_then(|key| key.members().next()).ok_or(InvalidSignature)?;
    if RSA_BITS.contains(&der::bit_length(modulus.contents)) { Ok(()) } else { Err(InvalidSignature) }
}
