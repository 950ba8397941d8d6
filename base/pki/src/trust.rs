//! Trust anchors that judge a peer's chain. Read RFC 5280 §6 and RFC 4945 §5.1 first.
//!
//! webpki builds the path; each signature on it is checked by the crypto provider that the engine lends, through
//! `Bridge`, so verification is metered, and under the null provider it costs nothing.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use keytoll_engine::Crypto;
use keytoll_engine::algorithm::{Hash, SignatureScheme};
use keytoll_engine::credentials::{CertificateError, PeerCertificate, Trust};
use rustls_pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm, TrustAnchor,
    UnixTime,
};
use webpki::{EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, anchor_from_trusted_cert};

use crate::algorithms::{ACCEPTED, Algorithm};
use crate::certificate::{self, RSA_BITS, describe};
use crate::der::{self, Element};

/// The certificates that are trusted, at a fixed moment.
///
/// RFC 5280 §6.1.1 takes an anchor's name and key as given, so an anchor never expires by itself. A peer may also
/// present an anchor as its own certificate (a chain of one); that is trusted as it stands, within its dates.
pub struct Anchors {
    certificates: Vec<Vec<u8>>,
    anchors: Vec<TrustAnchor<'static>>,
    authorities: Vec<[u8; 20]>,
    unix_seconds: u64,
}

impl Anchors {
    /// Trusts these DER certificates, and judges validity at `unix_seconds`.
    ///
    /// # Errors
    /// `Malformed` if one of them is no certificate.
    pub fn new<'a>(
        certificates: impl IntoIterator<Item = &'a [u8]>,
        unix_seconds: u64,
        crypto: &mut dyn Crypto,
    ) -> Result<Self, CertificateError> {
        let mut trusted = Self { certificates: vec![], anchors: vec![], authorities: vec![], unix_seconds };
        certificates.into_iter().try_for_each(|certificate| trusted.add(certificate, crypto))?;
        Ok(trusted)
    }

    fn add(&mut self, der: &[u8], crypto: &mut dyn Crypto) -> Result<(), CertificateError> {
        let certificate = CertificateDer::from(der);
        let anchor = anchor_from_trusted_cert(&certificate).map_err(|error| reason(&error))?;
        let parsed = certificate::parse(der)?;
        // RFC 7296 §3.7: a Certification Authority is named by the SHA-1 hash of its SubjectPublicKeyInfo.
        let digest = crypto.hash(Hash::Sha1, &[parsed.public_key().raw]);
        self.authorities.push(digest[..].try_into().expect("SHA-1 has 20 bytes"));
        self.anchors.push(anchor.to_owned());
        self.certificates.push(der.to_vec());
        Ok(())
    }

    /// Accepts an anchor as the peer's own certificate.
    fn verify_pinned(&self, end_entity: &[u8]) -> Result<PeerCertificate, CertificateError> {
        let validity = certificate::parse(end_entity)?.validity().clone();
        let now = i64::try_from(self.unix_seconds).unwrap_or(i64::MAX);
        if now < validity.not_before.timestamp() {
            return Err(CertificateError::NotYetValid);
        }
        if now > validity.not_after.timestamp() {
            return Err(CertificateError::Expired);
        }
        describe(end_entity)
    }

    fn verify_path(
        &self,
        end_entity: &[u8],
        others: &[&[u8]],
        crypto: &mut dyn Crypto,
    ) -> Result<(), CertificateError> {
        let certificate = CertificateDer::from(end_entity);
        let end_entity = EndEntityCert::try_from(&certificate).map_err(|error| reason(&error))?;
        let others: Vec<CertificateDer<'_>> = others.iter().map(|&der| CertificateDer::from(der)).collect();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(self.unix_seconds));
        let crypto = Mutex::new(crypto);
        let bridges = ACCEPTED.each_ref().map(|algorithm| Bridge { algorithm, crypto: &crypto });
        let algorithms = bridges.each_ref().map(|bridge| bridge as &dyn SignatureVerificationAlgorithm);
        end_entity
            .verify_for_usage(&algorithms, &self.anchors, &others, now, AnyPurpose, None, None)
            .map_err(|error| reason(&error))?;
        Ok(())
    }
}

impl Trust for Anchors {
    fn verify(&self, chain: &[&[u8]], crypto: &mut dyn Crypto) -> Result<PeerCertificate, CertificateError> {
        let (&end_entity, others) = chain.split_first().ok_or(CertificateError::Malformed)?;
        if self.certificates.iter().any(|anchor| anchor == end_entity) {
            return self.verify_pinned(end_entity);
        }
        // Parsing first, so that nothing is computed for what cannot be used.
        let peer = describe(end_entity)?;
        self.verify_path(end_entity, others, crypto)?;
        Ok(peer)
    }

    fn authorities(&self) -> &[[u8; 20]] {
        &self.authorities
    }
}

impl fmt::Debug for Anchors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Anchors({} certificates, at {} s)", self.certificates.len(), self.unix_seconds)
    }
}

/// Lets webpki check one kind of signature with the lent provider. webpki asks for `&self` and `Sync`, hence the lock,
/// which nobody contends for.
struct Bridge<'m, 'c> {
    algorithm: &'static Algorithm,
    crypto: &'m Mutex<&'c mut dyn Crypto>,
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

/// Accepts every extended key usage.
struct AnyPurpose;

impl ExtendedKeyUsageValidator for AnyPurpose {
    // RFC 4945 §5.1.3.12: certificates for IKE need no ExtendedKeyUsage, and those made for other protocols are in
    // wide use with it, so its purposes are read but none is demanded.
    fn validate(&self, mut purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        purposes.try_for_each(|purpose| purpose.map(|_| ()))
    }
}

/// The engine's word for what webpki found.
fn reason(error: &webpki::Error) -> CertificateError {
    use webpki::Error;
    match error {
        Error::CertExpired { .. } => CertificateError::Expired,
        Error::CertNotValidYet { .. } => CertificateError::NotYetValid,
        Error::UnknownIssuer => CertificateError::UnknownIssuer,
        Error::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        Error::BadDer
        | Error::BadDerTime
        | Error::TrailingData(_)
        | Error::ExtensionValueInvalid
        | Error::MalformedExtensions
        | Error::InvalidSerialNumber
        | Error::SignatureAlgorithmMismatch => CertificateError::Malformed,
        _ => CertificateError::NotAcceptable,
    }
}
