//! Trust anchors that verify a peer's chain. Read RFC 5280 §6 and RFC 4945 §5.1 first.
//!
//! ```text
//!   checked by webpki: signatures, dates, basicConstraints with path lengths, ExtendedKeyUsage of all certificates of the
//!                      path, host names and addresses against nameConstraints (constraints on other kinds of names
//!                      refuse), critical extensions, revocation lists
//!   checked here:      keyUsage and path length of authorities, strength of RSA keys, which certificates may sign, which
//!                      revocation list covers a certificate; how many certificates are looked at (`issuers`)
//!   not checked:       certificate policies, OCSP; nothing is fetched. For an anchor neither dates nor ExtendedKeyUsage nor
//!                      revocation; for an anchor that is presented as the peer's own certificate only the dates
//! ```
//!
//! Each signature is verified by the crypto provider that the engine lends, through `Bridge`, so verification is metered
//! and costs nothing under the null provider.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::credentials::{CertificateError, PeerCertificate, Trust};
use keytoll_engine::Time;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{Cert, EndEntityCert, VerifiedPath};

use crate::algorithms::ACCEPTED;
use crate::anchor::{Anchor, Powers, powers};
use crate::bridge::Bridge;
use crate::certificate::{self, describe};
use crate::issuers;
use crate::purpose::Purpose;
use crate::revocation::{Lists, RevocationList};

/// The trusted certificates, and the requirements on paths to them.
///
/// RFC 5280 §6.1.1 takes an anchor's name and key as given, so an anchor never expires by itself. A peer may also
/// present an anchor as its own certificate (a chain of one), which is trusted within its dates. An anchor that is no
/// authority is trusted in this way only.
pub struct Anchors {
    certificates: Vec<Anchor>,
    /// Those that are authorities.
    anchors: Vec<TrustAnchor<'static>>,
    /// What they may sign, in the same order.
    powers: Vec<Powers>,
    /// Hashes of the keys of all.
    authorities: Vec<[u8; 20]>,
    purpose: Purpose,
    renewable: RwLock<Renewable>,
}

/// What may be replaced while engines use it.
#[derive(Debug, Clone)]
struct Renewable {
    lists: Arc<Lists>,
    unix_seconds_at_zero: u64,
}

impl Renewable {
    fn unix_seconds(&self, now: Time) -> u64 {
        self.unix_seconds_at_zero.saturating_add(now.since(Time::ZERO).as_secs())
    }
}

impl Anchors {
    /// Trusts these DER certificates for IKE, without revocation lists. Dates are judged by a calendar that stands at
    /// `unix_seconds_at_zero` when the engine's time is [`Time::ZERO`].
    ///
    /// # Errors
    /// `Malformed` if one of them is not a certificate.
    pub fn new<'a>(
        certificates: impl IntoIterator<Item = &'a [u8]>,
        unix_seconds_at_zero: u64,
        crypto: &mut dyn Crypto,
    ) -> Result<Self, CertificateError> {
        let mut trusted = Self {
            certificates: vec![],
            anchors: vec![],
            powers: vec![],
            authorities: vec![],
            purpose: Purpose::Ike,
            renewable: RwLock::new(Renewable { lists: Arc::default(), unix_seconds_at_zero }),
        };
        certificates.into_iter().try_for_each(|certificate| trusted.add(certificate, crypto))?;
        Ok(trusted)
    }

    /// Verifies certificates for this purpose instead.
    #[must_use]
    pub fn for_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// From now on every certificate below an anchor must be covered by the current list of its issuer, and not be on it;
    /// without any lists there is no such requirement.
    pub fn renew_lists(&self, lists: Vec<RevocationList>) {
        self.renew(|renewable| renewable.lists = Arc::new(Lists::new(lists)));
    }

    /// Sets the calendar anew: it follows the engine's time, which notices neither a corrected clock nor a machine that slept.
    pub fn renew_calendar(&self, unix_seconds_at_zero: u64) {
        self.renew(|renewable| renewable.unix_seconds_at_zero = unix_seconds_at_zero);
    }

    fn renew(&self, change: impl FnOnce(&mut Renewable)) {
        change(&mut self.renewable.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn current(&self) -> Renewable {
        self.renewable.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&mut self, der: &[u8], crypto: &mut dyn Crypto) -> Result<(), CertificateError> {
        let certificate = Anchor::read(der)?;
        if let Some(powers) = certificate.authority {
            self.anchors.push(certificate.trust_anchor()?);
            self.powers.push(powers);
        }
        self.certificates.push(certificate);
        // RFC 7296 §3.7: a Certification Authority is named by the SHA-1 hash of its SubjectPublicKeyInfo.
        let digest = crypto.hash(Hash::Sha1, &[certificate::parse(der)?.public_key().raw]);
        self.authorities.push(digest[..].try_into().expect("SHA-1 has 20 bytes"));
        Ok(())
    }

    /// Accepts an anchor as the peer's own certificate.
    fn verify_pinned(&self, end_entity: &[u8], now: Time) -> Result<PeerCertificate, CertificateError> {
        let validity = certificate::parse(end_entity)?.validity().clone();
        let now = i64::try_from(self.current().unix_seconds(now)).unwrap_or(i64::MAX);
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
        now: Time,
        crypto: &mut dyn Crypto,
    ) -> Result<(), CertificateError> {
        let certificate = CertificateDer::from(end_entity);
        let end_entity = EndEntityCert::try_from(&certificate).map_err(|error| reason(&error))?;
        let others = issuers::of(&certificate, others);
        let others: Vec<CertificateDer<'_>> = others.into_iter().map(CertificateDer::from).collect();
        let current = self.current();
        let unix_seconds = current.unix_seconds(now);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(unix_seconds));
        let lists = current.lists.in_force(unix_seconds);
        let is_revocable = current.lists.is_demanded();
        let revocation = lists.options();
        if is_revocable && revocation.is_none() {
            return Err(CertificateError::NoRevocationList);
        }
        let crypto = Mutex::new(crypto);
        let bridges = ACCEPTED.each_ref().map(|algorithm| Bridge { algorithm, crypto: &crypto });
        let algorithms = bridges.each_ref().map(|bridge| bridge as &dyn SignatureVerificationAlgorithm);
        let judge = |path: &VerifiedPath<'_>| {
            self.judge_authorities(path, is_revocable)?;
            if !is_revocable {
                return Ok(());
            }
            lists.judge(path.end_entity())?;
            path.intermediate_certificates().try_for_each(|certificate| lists.judge(certificate))
        };
        end_entity
            .verify_for_usage(
                &algorithms,
                &self.anchors,
                &others,
                now,
                self.purpose,
                revocation,
                Some(&judge),
            )
            .map_err(|error| reason(&error))?;
        Ok(())
    }

    /// Checks what webpki does not about the authorities of a path.
    fn judge_authorities(&self, path: &VerifiedPath<'_>, is_revocable: bool) -> Result<(), webpki::Error> {
        path.intermediate_certificates().try_for_each(judge_intermediate)?;
        let place = self.anchors.iter().position(|anchor| std::ptr::eq(anchor, path.anchor()));
        let powers = place.and_then(|place| self.powers.get(place)).ok_or(webpki::Error::UnknownIssuer)?;
        // RFC 5280 §6.1.4: (l) a self-issued certificate does not count; RFC 5937 §3.2: the anchor's constraint holds like that
        // of any authority.
        let intermediates = path.intermediate_certificates().filter(|one| one.subject() != one.issuer());
        if powers.path_length_max.is_some_and(|max| intermediates.count() > max as usize) {
            return Err(webpki::Error::PathLenConstraintViolated);
        }
        // RFC 5280 §6.3.3: (f) an issuer of revocation lists must be allowed to sign them.
        if is_revocable && !powers.signs_lists {
            return Err(webpki::Error::IssuerNotCrlSigner);
        }
        Ok(())
    }
}

/// Checks an intermediate; webpki has checked cA and path length.
fn judge_intermediate(certificate: &Cert<'_>) -> Result<(), webpki::Error> {
    let parsed = certificate.der();
    let parsed = certificate::parse(&parsed).map_err(|_| webpki::Error::BadDer)?;
    match powers(&parsed) {
        Ok(Some(_)) => Ok(()),
        _ => Err(webpki::Error::EndEntityUsedAsCa),
    }
}

impl Trust for Anchors {
    fn verify(
        &self,
        chain: &[&[u8]],
        now: Time,
        crypto: &mut dyn Crypto,
    ) -> Result<PeerCertificate, CertificateError> {
        let (&end_entity, others) = chain.split_first().ok_or(CertificateError::Malformed)?;
        if self.certificates.iter().any(|anchor| anchor.is(end_entity)) {
            return self.verify_pinned(end_entity, now);
        }
        // Parsed first, so that nothing is computed for unusable input.
        let peer = describe(end_entity)?;
        self.verify_path(end_entity, others, now, crypto)?;
        Ok(peer)
    }

    fn authorities(&self) -> &[[u8; 20]] {
        &self.authorities
    }
}

impl fmt::Debug for Anchors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, purpose) = (self.certificates.len(), self.purpose);
        write!(f, "Anchors({count} certificates, for {purpose:?}, {:?})", self.current())
    }
}

/// Maps webpki's error to the engine's.
pub(crate) fn reason(error: &webpki::Error) -> CertificateError {
    use webpki::Error;
    match error {
        Error::CertExpired { .. } => CertificateError::Expired,
        Error::CertNotValidYet { .. } => CertificateError::NotYetValid,
        Error::UnknownIssuer => CertificateError::UnknownIssuer,
        Error::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        Error::CertRevoked => CertificateError::Revoked,
        Error::CrlExpired { .. } => CertificateError::RevocationListExpired,
        Error::UnknownRevocationStatus
        | Error::IssuerNotCrlSigner
        | Error::InvalidCrlSignatureForPublicKey
        | Error::UnsupportedCrlSignatureAlgorithmContext(_)
        | Error::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_) => CertificateError::NoRevocationList,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that sends rubbish is distinguished from one whose authority may not sign for it: the operator repairs the first
    /// at the peer, the second at the authority.
    #[test]
    fn every_error_says_whether_the_peer_or_the_authority_is_at_fault() {
        use webpki::Error;
        let (time, next) =
            (UnixTime::since_unix_epoch(Duration::ZERO), UnixTime::since_unix_epoch(Duration::MAX));
        for (word, findings) in [
            (CertificateError::Expired, vec![Error::CertExpired { time: next, not_after: time }]),
            (CertificateError::NotYetValid, vec![Error::CertNotValidYet { time, not_before: next }]),
            (CertificateError::UnknownIssuer, vec![Error::UnknownIssuer]),
            (CertificateError::BadSignature, vec![Error::InvalidSignatureForPublicKey]),
            (CertificateError::Revoked, vec![Error::CertRevoked]),
            (
                CertificateError::RevocationListExpired,
                vec![Error::CrlExpired { time: next, next_update: time }],
            ),
            (
                CertificateError::NoRevocationList,
                vec![
                    Error::UnknownRevocationStatus,
                    Error::IssuerNotCrlSigner,
                    Error::InvalidCrlSignatureForPublicKey,
                ],
            ),
            (
                CertificateError::Malformed,
                vec![
                    Error::BadDer,
                    Error::BadDerTime,
                    Error::ExtensionValueInvalid,
                    Error::MalformedExtensions,
                    Error::InvalidSerialNumber,
                    Error::SignatureAlgorithmMismatch,
                ],
            ),
            (
                CertificateError::NotAcceptable,
                vec![
                    Error::CaUsedAsEndEntity,
                    Error::EndEntityUsedAsCa,
                    Error::PathLenConstraintViolated,
                    Error::NameConstraintViolation,
                    Error::UnsupportedCriticalExtension,
                ],
            ),
        ] {
            for finding in findings {
                assert_eq!(reason(&finding), word, "{finding:?}");
            }
        }
    }
}
