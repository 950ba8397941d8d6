//! Verification of certificates and handshake signatures by the engine's [`Trust`] and the lent crypto.
//! Read RFC 8446 §4.4.2 and §4.4.3, RFC 5216 §5.2 and §5.3 first.
//!
//! An EAP peer does not know the server's name from a URL, so the chain is verified without one; a [`NameCheck`] may check the
//! name.

use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::credentials::{CertificateError as Engine, PeerCertificate, Trust};
use keytoll_engine::Ctx;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved, SignatureScheme,
};

use crate::config::NameCheck;
use crate::lent::{Lent, lent};
use crate::signature::{CHECKED, checked, fits_tls13};

/// Both kinds of verifier: RFC 5216 treats peer and server alike.
pub(crate) struct Verifier {
    pub(crate) trust: Arc<dyn Trust>,
    pub(crate) name: Option<Arc<NameCheck>>,
}

impl Verifier {
    /// Verifies a chain again.
    pub(crate) fn judge(&self, chain: &[CertificateDer<'_>], cx: &mut Ctx<'_>) -> Result<(), Error> {
        let chain: Vec<&[u8]> = chain.iter().map(|certificate| &**certificate).collect();
        self.trust.verify(&chain, cx.now, cx.crypto).map(|_| ()).map_err(refused)
    }

    fn chain(&self, end_entity: &[u8], rest: &[CertificateDer<'_>]) -> Result<(), Error> {
        let chain: Vec<&[u8]> =
            std::iter::once(end_entity).chain(rest.iter().map(|certificate| &**certificate)).collect();
        let peer = self.verify(&chain).map_err(refused)?;
        // RFC 5216 §5.2: names in the certificate should match what the peer was configured with.
        if self.name.as_ref().is_some_and(|accepts| !accepts(&peer)) {
            return Err(Error::InvalidCertificate(CertificateError::NotValidForName));
        }
        let shown = chain.into_iter().map(<[u8]>::to_vec).collect();
        lent(|lent| (lent.notes.peer, lent.notes.shown) = (Some(peer), Some(shown)));
        Ok(())
    }

    fn verify(&self, chain: &[&[u8]]) -> Result<PeerCertificate, Engine> {
        lent(|lent| self.trust.verify(chain, lent.now, lent.crypto))
    }

    /// Whether a chain that was valid once still is.
    pub(crate) fn accepts(&self, chain: &[Vec<u8>]) -> bool {
        self.verify(&chain.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_ok()
    }
}

/// The corresponding error of rustls, which determines the alert.
fn refused(why: Engine) -> Error {
    Error::InvalidCertificate(match why {
        // RFC 8446 §6.2: a certificate with an invalid signature is a bad_certificate; rustls uses decrypt_error, its alert for
        // BadSignature, for signatures of the handshake.
        Engine::Malformed | Engine::BadSignature => CertificateError::BadEncoding,
        Engine::UnknownIssuer => CertificateError::UnknownIssuer,
        Engine::Expired => CertificateError::Expired,
        Engine::NotYetValid => CertificateError::NotValidYet,
        Engine::Revoked => CertificateError::Revoked,
        Engine::NoRevocationList => CertificateError::UnknownRevocationStatus,
        Engine::RevocationListExpired => CertificateError::ExpiredRevocationList,
        Engine::NotAcceptable => CertificateError::InvalidPurpose,
    })
}

/// Verifies a signature of the handshake with the certificate whose path was just verified.
fn handshake_signature(
    message: &[u8],
    signed: &DigitallySignedStruct,
    fits: impl FnOnce(&PeerCertificate) -> bool,
) -> Result<HandshakeSignatureValid, Error> {
    let scheme = checked(signed.scheme)
        .ok_or(Error::PeerMisbehaved(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme))?;
    let verified = lent(|Lent { crypto, notes, .. }| match &notes.peer {
        Some(peer) if fits(peer) => crypto.verify(&peer.spki, scheme, &[message], signed.signature()).is_ok(),
        _ => false,
    });
    if verified {
        Ok(HandshakeSignatureValid::assertion())
    } else {
        Err(Error::InvalidCertificate(CertificateError::BadSignature))
    }
}

fn schemes() -> Vec<SignatureScheme> {
    CHECKED.into_iter().map(|(scheme, _)| scheme).collect()
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.chain(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        _certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature(message, signed, |_| true)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature(message, signed, |peer| fits_tls13(signed.scheme, &peer.spki))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // RFC 8446 §4.2.4: the list may be omitted; `Trust` has hashes of keys, not names.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.chain(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        _certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature(message, signed, |_| true)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature(message, signed, |peer| fits_tls13(signed.scheme, &peer.spki))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}
