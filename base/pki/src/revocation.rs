//! Certificate revocation lists. Read RFC 5280 §5 and §6.3 first.
//!
//! webpki looks certificates up and verifies the lists' signatures; this module decides which list is valid. Delta and
//! indirect lists are refused when they are read. A list with an issuing distribution point covers only those of its issuer's
//! certificates that name the same point. Nothing is fetched: neither OCSP nor distribution points.

use std::cmp::Reverse;
use std::fmt;

use webpki::{
    Cert, CertRevocationList, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy,
};
use x509_parser::oid_registry::OID_X509_EXT_CRL_DISTRIBUTION_POINTS;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::x509::X509Version;

use crate::certificate;

/// A revocation list of one issuer.
pub struct RevocationList {
    list: CertRevocationList<'static>,
    this_update_unix_seconds: u64,
}

/// Why a revocation list cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListProblem {
    /// Not a CertificateList.
    #[error("malformed")]
    Malformed,
    /// RFC 5280 §5.1.2.1: version 2 has a number and names its issuer's key; other versions are refused.
    #[error("of version 1; make it with a CRL number")]
    Version,
    /// Changes to another list.
    #[error("a delta list; only whole ones are read")]
    Delta,
    /// It covers only some certificates, reasons or other issuers' certificates, in an unsupported way.
    #[error("of a kind that is not supported")]
    Unsupported,
}

impl RevocationList {
    /// Reads one list in DER.
    ///
    /// # Errors
    /// The bytes are not exactly one whole list of version 2.
    pub fn read(der: &[u8]) -> Result<Self, ListProblem> {
        let Ok((&[], parsed)) = CertificateRevocationList::from_der(der) else {
            return Err(ListProblem::Malformed);
        };
        if parsed.version() != Some(X509Version::V2) {
            return Err(ListProblem::Version);
        }
        let list = OwnedCertRevocationList::from_der(der).map_err(|error| problem(&error))?;
        let this_update = parsed.last_update().timestamp();
        // A date before 1970 is as good as 1970: the list has expired.
        let this_update_unix_seconds = u64::try_from(this_update).unwrap_or(0);
        Ok(Self { list: list.into(), this_update_unix_seconds })
    }

    fn is_of_a_part(&self) -> bool {
        self.list.issuing_distribution_point().is_some()
    }
}

impl fmt::Debug for RevocationList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevocationList(of {} s)", self.this_update_unix_seconds)
    }
}

fn problem(error: &webpki::Error) -> ListProblem {
    use webpki::Error;
    match error {
        Error::UnsupportedDeltaCrl => ListProblem::Delta,
        Error::UnsupportedIndirectCrl
        | Error::UnsupportedRevocationReason
        | Error::UnsupportedRevocationReasonsPartitioning
        | Error::UnsupportedCrlIssuingDistributionPoint
        | Error::UnsupportedCriticalExtension => ListProblem::Unsupported,
        _ => ListProblem::Malformed,
    }
}

/// All loaded revocation lists.
#[derive(Debug, Default)]
pub(crate) struct Lists(Vec<RevocationList>);

impl Lists {
    /// Sorts the lists: the first one that may cover a certificate is consulted, complete lists first, then by date.
    pub(crate) fn new(mut lists: Vec<RevocationList>) -> Self {
        lists.sort_by_key(|list| (list.is_of_a_part(), Reverse(list.this_update_unix_seconds)));
        Self(lists)
    }

    /// Whether every certificate must be covered by a list: if any list is loaded.
    pub(crate) const fn is_demanded(&self) -> bool {
        !self.0.is_empty()
    }

    /// The lists that are already issued and not replaced by a newer one.
    pub(crate) fn in_force(&self, unix_seconds: u64) -> InForce<'_> {
        let mut lists: Vec<&CertRevocationList<'static>> = Vec::new();
        for RevocationList { list, .. } in
            self.0.iter().filter(|list| list.this_update_unix_seconds <= unix_seconds)
        {
            if lists.iter().all(|newer| scope(newer) != scope(list)) {
                lists.push(list);
            }
        }
        InForce(lists)
    }
}

/// The issuer whose certificates a list covers, and the distribution point if it covers only a part of them.
fn scope<'a>(list: &'a CertRevocationList<'static>) -> (&'a [u8], Option<&'a [u8]>) {
    (list.issuer(), list.issuing_distribution_point())
}

/// The lists that count at a moment.
pub(crate) struct InForce<'a>(Vec<&'a CertRevocationList<'static>>);

impl InForce<'_> {
    /// Every certificate of a path must be covered by the current list of its issuer, and not be on it. `None` if no list is
    /// in force.
    pub(crate) fn options(&self) -> Option<RevocationOptions<'_>> {
        let options = RevocationOptionsBuilder::new(&self.0).ok()?;
        let options = options.with_depth(RevocationCheckDepth::Chain);
        // RFC 5280 §6.3.3: a certificate that no list covers is UNDETERMINED, and is refused here.
        let options = options.with_status_policy(UnknownStatusPolicy::Deny);
        Some(options.with_expiration_policy(ExpirationPolicy::Enforce).build())
    }

    /// Checks what webpki does not: it consults one list, and takes a partial list for a complete one if the certificate names
    /// no distribution point.
    pub(crate) fn judge(&self, certificate: &Cert<'_>) -> Result<(), webpki::Error> {
        let of_issuer = || self.0.iter().filter(|list| list.issuer() == certificate.issuer());
        for list in of_issuer() {
            if list.find_serial(certificate.serial())?.is_some() {
                return Err(webpki::Error::CertRevoked);
            }
        }
        // RFC 5280 §6.3.3: (b)(2)(i) the distribution point of the list is one that the certificate names.
        let has_whole_list = of_issuer().any(|list| list.issuing_distribution_point().is_none());
        if has_whole_list || names_distribution_points(certificate)? {
            return Ok(());
        }
        Err(webpki::Error::UnknownRevocationStatus)
    }
}

fn names_distribution_points(certificate: &Cert<'_>) -> Result<bool, webpki::Error> {
    let der = certificate.der();
    let parsed = certificate::parse(&der).map_err(|_| webpki::Error::BadDer)?;
    Ok(parsed.extensions().iter().any(|extension| extension.oid == OID_X509_EXT_CRL_DISTRIBUTION_POINTS))
}
