//! Certificates and private keys in files as OpenSSL and strongSwan write them: PEM or DER.
//! Read RFC 7468 (PEM), RFC 5208 (PKCS #8), RFC 8017 §A.1.2 (RSA) and RFC 5915 (EC) first.
//!
//! A private key in any of the three forms is returned as PKCS #8, which providers load.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keytoll_engine::trace::output::{self, Output};
use rustls_pki_types::pem::{self, SectionKind};
use zeroize::Zeroizing;

use crate::certificate;
use crate::der::{self, Element};
use crate::revocation::{ListProblem, RevocationList};

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{verb} {what} {}: {why}", path.display())]
pub struct FileError {
    verb: &'static str,
    what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub why: FileProblem,
}

/// What can be wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// PEM that is truncated or contains something other than base64.
    #[error("damaged PEM: {0}")]
    Pem(String),
    /// Neither PEM with the required section nor DER.
    #[error("holds no {0}")]
    Missing(&'static str),
    /// The n-th certificate does not parse.
    #[error("certificate {0} is malformed")]
    Certificate(usize),
    /// The n-th revocation list cannot be used.
    #[error("revocation list {0} is {1}")]
    RevocationList(usize, ListProblem),
    /// The private key needs a passphrase.
    #[error("the private key is encrypted; decrypt it first: openssl pkey -in FILE -out PLAIN")]
    Encrypted,
    /// Not a SubjectPublicKeyInfo.
    #[error("the public key is malformed")]
    PublicKey,
    /// Not PKCS #8, PKCS #1 or SEC1.
    #[error("the private key is malformed")]
    Key,
    /// The curve is missing, which RFC 5915 allows.
    #[error("the EC private key does not name its curve; convert it: openssl pkcs8 -topk8 -nocrypt -in FILE")]
    CurveMissing,
}

/// Loads all certificates of a file, in its order.
///
/// # Errors
/// When the file cannot be read, holds none, or one is malformed.
pub fn load_certificates(path: &Path) -> Result<Vec<Vec<u8>>, FileError> {
    let failed = |why| FileError::new("read", "certificates from", path, why);
    let bytes = fs::read(path).map_err(|error| failed(error.into()))?;
    parse_certificates(&bytes).map_err(failed)
}

/// Loads all revocation lists of a file.
///
/// # Errors
/// When the file cannot be read, holds none, or one cannot be used.
pub fn load_revocation_lists(path: &Path) -> Result<Vec<RevocationList>, FileError> {
    let failed = |why| FileError::new("read", "revocation lists from", path, why);
    let bytes = fs::read(path).map_err(|error| failed(error.into()))?;
    parse_revocation_lists(&bytes).map_err(failed)
}

/// Loads the private key of a file as PKCS #8 DER.
///
/// # Errors
/// When the file cannot be read, or holds no private key that can be used as it is.
pub fn load_private_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let failed = |why| FileError::new("read", "a private key from", path, why);
    let bytes = fs::read(path).map(Zeroizing::new).map_err(|error| failed(error.into()))?;
    parse_private_key(&bytes).map_err(failed)
}

/// Loads the public key of a file, or that of the certificate in it, as `SubjectPublicKeyInfo`.
///
/// # Errors
/// When the file cannot be read, or holds neither.
pub fn load_public_key(path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |why| FileError::new("read", "a public key from", path, why);
    let bytes = fs::read(path).map_err(|error| failed(error.into()))?;
    parse_public_key(&bytes).map_err(failed)
}

/// Writes certificates as PEM, replacing the file.
///
/// # Errors
/// When the operating system refuses.
pub fn write_certificates(path: &Path, certificates: &[Vec<u8>]) -> Result<(), FileError> {
    let text: String = certificates.iter().map(|der| section("CERTIFICATE", der)).collect();
    output::replace(path, |out| out.write_all(text.as_bytes()))
        .map_err(|error| FileError::new("write", "certificates to", path, error.into()))
}

/// Writes revocation lists as PEM, replacing the file.
///
/// # Errors
/// When the operating system refuses.
pub fn write_revocation_lists(path: &Path, lists: &[Vec<u8>]) -> Result<(), FileError> {
    let text: String = lists.iter().map(|der| section("X509 CRL", der)).collect();
    output::replace(path, |out| out.write_all(text.as_bytes()))
        .map_err(|error| FileError::new("write", "revocation lists to", path, error.into()))
}

/// Writes a PKCS #8 private key as PEM, replacing the file, which only its owner may read.
///
/// # Errors
/// When the operating system refuses.
pub fn write_private_key(path: &Path, pkcs8: &[u8]) -> Result<(), FileError> {
    let text = Zeroizing::new(section("PRIVATE KEY", pkcs8));
    write_secret(path, text.as_bytes())
        .map_err(|error| FileError::new("write", "a private key to", path, error.into()))
}

/// Reads certificates out of PEM or DER.
///
/// # Errors
/// When there are none, or one is malformed.
pub fn parse_certificates(bytes: &[u8]) -> Result<Vec<Vec<u8>>, FileProblem> {
    let certificates = match is_der(bytes) {
        true => vec![bytes.to_vec()],
        false => of_kinds(sections(bytes)?, &[SectionKind::Certificate]),
    };
    if certificates.is_empty() {
        return Err(FileProblem::Missing("certificate"));
    }
    match certificates.iter().position(|der| certificate::parse(der).is_err()) {
        Some(at) => Err(FileProblem::Certificate(at + 1)),
        None => Ok(certificates),
    }
}

/// Reads revocation lists out of PEM or DER.
///
/// # Errors
/// When there are none, or one cannot be used.
pub fn parse_revocation_lists(bytes: &[u8]) -> Result<Vec<RevocationList>, FileProblem> {
    let lists = match is_der(bytes) {
        true => vec![bytes.to_vec()],
        false => of_kinds(sections(bytes)?, &[SectionKind::Crl]),
    };
    if lists.is_empty() {
        return Err(FileProblem::Missing("revocation list"));
    }
    let read = |(at, der): (usize, &Vec<u8>)| {
        RevocationList::read(der).map_err(|why| FileProblem::RevocationList(at + 1, why))
    };
    lists.iter().enumerate().map(read).collect()
}

/// Reads a public key out of PEM or DER: itself or in a certificate.
///
/// # Errors
/// When there is none.
pub fn parse_public_key(bytes: &[u8]) -> Result<Vec<u8>, FileProblem> {
    let kinds = [SectionKind::PublicKey, SectionKind::Certificate];
    let der = match is_der(bytes) {
        true => bytes.to_vec(),
        false => {
            of_kinds(sections(bytes)?, &kinds).into_iter().next().ok_or(FileProblem::Missing("public key"))?
        }
    };
    if let Ok(certificate) = certificate::describe(&der) {
        return Ok(certificate.spki);
    }
    // RFC 5280 §4.1: SEQUENCE { algorithm SEQUENCE, subjectPublicKey BIT STRING }.
    let tags: Option<Vec<_>> =
        Element::only(&der).map(|whole| whole.members().map(|member| member.tag).collect());
    let is_spki = tags.is_some_and(|tags| tags == [der::SEQUENCE, der::BIT_STRING]);
    if is_spki { Ok(der) } else { Err(FileProblem::PublicKey) }
}

/// Reads a private key out of PEM or DER, and returns it as PKCS #8.
///
/// # Errors
/// When there is none that can be used as it is.
pub fn parse_private_key(bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, FileProblem> {
    if is_der(bytes) {
        return to_pkcs8(bytes);
    }
    // RFC 7468 §11 has its own label for encrypted PKCS #8; OpenSSL's older form uses a header.
    if bytes.windows(9).any(|window| window == b"ENCRYPTED") {
        return Err(FileProblem::Encrypted);
    }
    const KEYS: &[SectionKind] =
        &[SectionKind::PrivateKey, SectionKind::RsaPrivateKey, SectionKind::EcPrivateKey];
    let found = of_kinds(sections(bytes)?, KEYS).into_iter().map(Zeroizing::new).next();
    to_pkcs8(&found.ok_or(FileProblem::Missing("private key"))?)
}

impl FileError {
    fn new(verb: &'static str, what: &'static str, path: &Path, why: FileProblem) -> Self {
        Self { verb, what, path: path.to_owned(), why }
    }
}

/// All DER that is read here starts with a SEQUENCE; text never does.
fn is_der(bytes: &[u8]) -> bool {
    bytes.first() == Some(&der::SEQUENCE) && Element::only(bytes).is_some()
}

fn sections(mut text: &[u8]) -> Result<Vec<(SectionKind, Vec<u8>)>, FileProblem> {
    let next = || pem::from_buf(&mut text).transpose();
    std::iter::from_fn(next).collect::<Result<_, _>>().map_err(|error| FileProblem::Pem(plain(&error)))
}

/// The problem, with lines from the library's errors shown as text, not as numbers.
fn plain(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("no line -----END {}-----", String::from_utf8_lossy(end_marker))
        }
        pem::Error::IllegalSectionStart { line } => {
            format!("strange line {}", String::from_utf8_lossy(line).trim_end())
        }
        other => other.to_string(),
    }
}

fn of_kinds(sections: Vec<(SectionKind, Vec<u8>)>, kinds: &[SectionKind]) -> Vec<Vec<u8>> {
    sections.into_iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, der)| der).collect()
}

/// Distinguishes the three forms by their second field, whatever the file's label:
///
/// ```text
///   PKCS #8  SEQUENCE { INTEGER 0, SEQUENCE algorithm, OCTET STRING key … }     RFC 5208 §5
///   PKCS #1  SEQUENCE { INTEGER 0, INTEGER modulus, INTEGER exponent … }        RFC 8017 §A.1.2
///   SEC1     SEQUENCE { INTEGER 1, OCTET STRING key, [0] curve OPTIONAL … }     RFC 5915 §3
/// ```
fn to_pkcs8(key: &[u8]) -> Result<Zeroizing<Vec<u8>>, FileProblem> {
    let fields = Element::only(key).filter(|key| key.tag == der::SEQUENCE).ok_or(FileProblem::Key)?;
    let mut tags = fields.members().map(|field| field.tag);
    match (tags.next().ok_or(FileProblem::Key)?, tags.next().ok_or(FileProblem::Key)?) {
        // RFC 5208 §6: EncryptedPrivateKeyInfo has no version before its algorithm.
        (der::SEQUENCE, _) => Err(FileProblem::Encrypted),
        (der::INTEGER, second) => plain_to_pkcs8(key, fields, second),
        _ => Err(FileProblem::Key),
    }
}

fn plain_to_pkcs8(key: &[u8], fields: Element<'_>, second: u8) -> Result<Zeroizing<Vec<u8>>, FileProblem> {
    match second {
        der::SEQUENCE => Ok(Zeroizing::new(key.to_vec())),
        der::INTEGER => Ok(private_key_info(RSA_ENCRYPTION, key)),
        der::OCTET_STRING => {
            let curve = fields.members().find(|field| field.tag == 0xa0).ok_or(FileProblem::CurveMissing)?;
            Ok(private_key_info(&[EC_PUBLIC_KEY, curve.contents].concat(), key))
        }
        _ => Err(FileProblem::Key),
    }
}

/// 1.2.840.113549.1.1.1 with its NULL.
const RSA_ENCRYPTION: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
/// 1.2.840.10045.2.1; the curve follows it.
const EC_PUBLIC_KEY: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01";

fn private_key_info(algorithm: &[u8], key: &[u8]) -> Zeroizing<Vec<u8>> {
    let key = Zeroizing::new(der::wrap(der::OCTET_STRING, &[key]));
    Zeroizing::new(der::sequence(&[&der::unsigned(&[0]), &der::sequence(&[algorithm]), &key]))
}

/// RFC 7468 §2: base64 in lines of 64 characters between the two markers.
fn section(label: &str, der: &[u8]) -> String {
    // Large enough from the start, so that growing leaves no copy of a key behind: 65 characters for 48 bytes.
    let mut text = String::with_capacity(der.len() / 48 * 65 + 200);
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    for line in der.chunks(48) {
        line.chunks(3).for_each(|group| base64(group, &mut text));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// RFC 4648 §4: one to three bytes as four characters.
fn base64(group: &[u8], text: &mut String) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
    for at in 0..4 {
        let sextet = bits >> (18 - 6 * at) & 0x3f;
        let used = at <= group.len();
        text.push(if used { char::from(ALPHABET[sextet as usize]) } else { '=' });
    }
}

/// Writes a file so that neither an older file's mode nor a half-written key is ever visible.
fn write_secret(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut output = Output::create_secret(path)?;
    output.write_all(text)?;
    output.finish()
}
