//! A laboratory authority: certificates whose bytes have the same lengths in every run, whatever the random numbers.
//! Read RFC 5280 §4 and RFC 4945 §5.1 first.
//!
//! ```text
//!   chain length 1   the end entity is self-signed; the peer must trust it directly ([`Authority::anchor_for`])
//!                2   root -> end entity
//!                3   root -> intermediate 1 -> end entity
//!                4   root -> intermediate 1 -> intermediate 2 -> end entity
//! ```
//!
//! Keys and serial numbers come from named streams of one seed. ECDSA signatures in DER vary by a byte or two, so
//! those certificates are signed again until the length is the likeliest one.

use keytoll_crypto_api::algorithm::{Hash, KeyKind};
use keytoll_crypto_api::credentials::{AlternativeName, Credential};
use keytoll_crypto_api::{Crypto, Rng, Seed, SigningKey};

use crate::algorithms::{likeliest_signature_len, usual};
use crate::certificate;
use crate::der::{self, Element};

/// Validity period of certificates, in seconds since 1970, both bounds included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// notBefore.
    pub from_unix_seconds: u64,
    /// notAfter.
    pub until_unix_seconds: u64,
}

/// Makes a key of a kind from a stream, usually `keytoll_crypto::keys::generate`.
pub type MakeKey<'a> = dyn FnMut(KeyKind, &mut Rng) -> SigningKey + 'a;

/// The parameters of an end entity certificate.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The common name in the subject; also names the streams of the key and the serial number.
    pub name: &'a str,
    /// Subject alternative names.
    pub alternatives: &'a [AlternativeName],
    /// The kind of key.
    pub kind: KeyKind,
    /// Number of certificates up to the root, the end entity's included: 1 (self-signed) to 4.
    pub chain_length: usize,
}

/// The authority: a root and as many intermediates as were needed so far, all with the same kind of key.
pub struct Authority {
    kind: KeyKind,
    validity: Validity,
    seed: Seed,
    /// The root, then the intermediates, each signed by the one before it.
    issuers: Vec<Issuer>,
}

struct Issuer {
    certificate: Vec<u8>,
    name: Vec<u8>,
    key: SigningKey,
}

impl Authority {
    /// Makes a root. One seed gives the same names, numbers and keys every time; randomised signatures (ECDSA) differ, but
    /// their lengths do not.
    pub fn new(
        kind: KeyKind,
        validity: Validity,
        seed: &Seed,
        make_key: &mut MakeKey<'_>,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let mut authority = Self { kind, validity, seed: seed.clone(), issuers: vec![] };
        authority.extend(make_key, crypto);
        authority
    }

    /// Issues a certificate with a new key.
    ///
    /// # Panics
    /// If the chain length is not 1 to 4.
    pub fn issue(
        &mut self,
        request: &Request<'_>,
        make_key: &mut MakeKey<'_>,
        crypto: &mut dyn Crypto,
    ) -> Credential {
        assert!((1..=4).contains(&request.chain_length), "chains have 1 to 4 certificates");
        while self.issuers.len() + 1 < request.chain_length {
            self.extend(make_key, crypto);
        }
        let label = format!("pki/{}/{}/{}", request.name, request.kind, request.chain_length);
        let key = make_key(request.kind, &mut self.seed.stream(&format!("{label}/key")));
        let name = distinguished_name(request.name);
        let issuer = match request.chain_length {
            1 => Signer { name: &name, key: &key },
            length => self.issuers[length - 2].signer(),
        };
        let extensions = end_entity_extensions(request.alternatives, &key.spki, issuer.key, crypto);
        let subject = Subject { name: &name, spki: &key.spki, extensions: &extensions };
        let certificate = self.certify(&label, &subject, &issuer, crypto);
        // The root is not sent: the peer has it already. The issuer of the end entity comes first.
        let intermediates = self.issuers.iter().take(request.chain_length.saturating_sub(1)).skip(1).rev();
        let rest = intermediates.map(|issuer| issuer.certificate.clone());
        Credential { chain: std::iter::once(certificate).chain(rest).collect(), key }
    }

    /// The root's certificate in DER.
    pub fn anchor(&self) -> Vec<u8> {
        self.issuers[0].certificate.clone()
    }

    /// A revocation list of every issuer, the root's first; each lists those of the certificates that it issued.
    pub fn revocation_lists(
        &self,
        revoked: &[&[u8]],
        dates: Validity,
        crypto: &mut dyn Crypto,
    ) -> Vec<Vec<u8>> {
        let list = |issuer: &Issuer| {
            let own = |der: &&&[u8]| {
                certificate::parse(der).is_ok_and(|parsed| parsed.issuer().as_raw() == issuer.name)
            };
            issuer.revocation_list(revoked.iter().filter(own).copied(), dates, crypto)
        };
        self.issuers.iter().map(list).collect()
    }

    /// The certificate that a peer must trust to accept a credential: the root, or a self-signed certificate.
    pub fn anchor_for(&self, credential: &Credential) -> Vec<u8> {
        let end_entity = &credential.chain[0];
        match certificate::parse(end_entity) {
            Ok(parsed) if parsed.issuer() == parsed.subject() => end_entity.clone(),
            _ => self.anchor(),
        }
    }

    /// Adds the root, or one more intermediate below the last issuer.
    fn extend(&mut self, make_key: &mut MakeKey<'_>, crypto: &mut dyn Crypto) {
        let title = match self.issuers.len() {
            0 => "root".to_owned(),
            number => format!("intermediate {number}"),
        };
        let label = format!("pki/{title}/{}", self.kind);
        let key = make_key(self.kind, &mut self.seed.stream(&format!("{label}/key")));
        let name = distinguished_name(&title);
        let issuer = self.issuers.last().map_or(Signer { name: &name, key: &key }, Issuer::signer);
        let extensions = authority_extensions(&key.spki, issuer.key, crypto);
        let subject = Subject { name: &name, spki: &key.spki, extensions: &extensions };
        let certificate = self.certify(&label, &subject, &issuer, crypto);
        self.issuers.push(Issuer { certificate, name, key });
    }

    /// RFC 5280 §4.1: Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }.
    fn certify(
        &self,
        label: &str,
        subject: &Subject<'_>,
        issuer: &Signer<'_>,
        crypto: &mut dyn Crypto,
    ) -> Vec<u8> {
        let (algorithm, _) = usual(issuer.key.kind);
        let algorithm = der::sequence(&[algorithm.as_ref()]);
        let serial = serial_number(&mut self.seed.stream(&format!("{label}/serial")));
        let dates = der::sequence(&[
            &der::time(self.validity.from_unix_seconds),
            &der::time(self.validity.until_unix_seconds),
        ]);
        let tbs = der::sequence(&[
            VERSION_3,
            &serial,
            &algorithm,
            issuer.name,
            &dates,
            subject.name,
            subject.spki,
            &der::wrap(0xa3, &[&der::sequence(&[subject.extensions])]),
        ]);
        let signature = sign_at_likeliest_length(issuer.key, &tbs, crypto);
        der::sequence(&[&tbs, &algorithm, &der::bit_string(&signature)])
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Authority({}, {} issuers)", self.kind, self.issuers.len())
    }
}

impl Issuer {
    fn signer(&self) -> Signer<'_> {
        Signer { name: &self.name, key: &self.key }
    }

    /// RFC 5280 §5.1: CertificateList ::= SEQUENCE { tbsCertList, signatureAlgorithm, signatureValue }.
    fn revocation_list<'a>(
        &self,
        revoked: impl Iterator<Item = &'a [u8]>,
        dates: Validity,
        crypto: &mut dyn Crypto,
    ) -> Vec<u8> {
        const VERSION_2: &[u8] = b"\x02\x01\x01";
        let (algorithm, _) = usual(self.key.kind);
        let algorithm = der::sequence(&[algorithm.as_ref()]);
        let this_update = der::time(dates.from_unix_seconds);
        let entries: Vec<u8> =
            revoked.flat_map(|certificate| revoked_entry(certificate, &this_update)).collect();
        let tbs = der::sequence(&[
            VERSION_2,
            &algorithm,
            &self.name,
            &this_update,
            &der::time(dates.until_unix_seconds),
            // RFC 5280 §5.1.2.6: without revoked certificates the list of them must be absent.
            &if entries.is_empty() { vec![] } else { der::sequence(&[&entries]) },
            &der::wrap(0xa0, &[&der::sequence(&[&list_extensions(&self.key, dates, crypto)])]),
        ]);
        let signature = sign_at_likeliest_length(&self.key, &tbs, crypto);
        der::sequence(&[&tbs, &algorithm, &der::bit_string(&signature)])
    }
}

/// SEQUENCE { userCertificate, revocationDate }.
fn revoked_entry(certificate: &[u8], date: &[u8]) -> Vec<u8> {
    let serial = certificate::parse(certificate).map(|parsed| parsed.raw_serial().to_vec());
    der::sequence(&[&der::wrap(der::INTEGER, &[&serial.unwrap_or_default()]), date])
}

// RFC 5280 §5.2: every list names its issuer's key and has a number, which increases.
fn list_extensions(issuer: &SigningKey, dates: Validity, crypto: &mut dyn Crypto) -> Vec<u8> {
    let number = der::unsigned(&dates.from_unix_seconds.to_be_bytes());
    [authority_key_identifier(issuer, crypto), extension(CRL_NUMBER, false, &number)].concat()
}

/// The issuer.
struct Signer<'a> {
    name: &'a [u8],
    key: &'a SigningKey,
}

/// The subject of a certificate; all in DER.
struct Subject<'a> {
    name: &'a [u8],
    spki: &'a [u8],
    extensions: &'a [u8],
}

/// Version ::= [0] INTEGER, 2 for v3.
const VERSION_3: &[u8] = b"\xa0\x03\x02\x01\x02";

/// 2.5.4.10, id-at-organizationName.
const ORGANIZATION_NAME: &[u8] = b"\x55\x04\x0a";
/// 2.5.4.3, id-at-commonName.
const COMMON_NAME: &[u8] = b"\x55\x04\x03";

/// 2.5.29.14, id-ce-subjectKeyIdentifier.
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x55\x1d\x0e";
/// 2.5.29.15, id-ce-keyUsage.
const KEY_USAGE: &[u8] = b"\x55\x1d\x0f";
/// 2.5.29.17, id-ce-subjectAltName.
const SUBJECT_ALT_NAME: &[u8] = b"\x55\x1d\x11";
/// 2.5.29.19, id-ce-basicConstraints.
const BASIC_CONSTRAINTS: &[u8] = b"\x55\x1d\x13";
/// 2.5.29.20, id-ce-cRLNumber.
const CRL_NUMBER: &[u8] = b"\x55\x1d\x14";
/// 2.5.29.35, id-ce-authorityKeyIdentifier.
const AUTHORITY_KEY_IDENTIFIER: &[u8] = b"\x55\x1d\x23";

/// RFC 5280 §4.2.1.3: bit 0 is digitalSignature, bits 5 and 6 are keyCertSign and cRLSign.
const DIGITAL_SIGNATURE: u8 = 0x80;
const CERTIFICATE_AND_CRL_SIGN: u8 = 0x06;

/// O=keytoll laboratory, CN=the name.
fn distinguished_name(common_name: &str) -> Vec<u8> {
    let organization = attribute(ORGANIZATION_NAME, "keytoll laboratory");
    der::sequence(&[&organization, &attribute(COMMON_NAME, common_name)])
}

/// RelativeDistinguishedName ::= SET OF SEQUENCE { type, value }.
fn attribute(kind: &[u8], value: &str) -> Vec<u8> {
    const UTF8_STRING: u8 = 0x0c;
    let kind = der::wrap(der::OBJECT_IDENTIFIER, &[kind]);
    der::set_of_one(&der::sequence(&[&kind, &der::wrap(UTF8_STRING, &[value.as_bytes()])]))
}

/// Sixteen bytes, of which the first is never zero and never makes the number negative.
fn serial_number(rng: &mut Rng) -> Vec<u8> {
    let mut serial: [u8; 16] = rng.bytes();
    serial[0] = serial[0] & 0x3f | 0x40;
    der::unsigned(&serial)
}

fn authority_extensions(spki: &[u8], issuer: &SigningKey, crypto: &mut dyn Crypto) -> Vec<u8> {
    const IS_AUTHORITY: &[u8] = b"\x30\x03\x01\x01\xff";
    [
        extension(BASIC_CONSTRAINTS, true, IS_AUTHORITY),
        extension(KEY_USAGE, true, &der::named_bits(CERTIFICATE_AND_CRL_SIGN)),
        key_identifiers(spki, issuer, crypto),
    ]
    .concat()
}

// RFC 4945 §5.1.3.12: no ExtendedKeyUsage in certificates for IKE.
fn end_entity_extensions(
    alternatives: &[AlternativeName],
    spki: &[u8],
    issuer: &SigningKey,
    crypto: &mut dyn Crypto,
) -> Vec<u8> {
    let names: Vec<u8> = alternatives.iter().flat_map(general_name).collect();
    let mut extensions = extension(KEY_USAGE, true, &der::named_bits(DIGITAL_SIGNATURE));
    if !names.is_empty() {
        extensions.extend(extension(SUBJECT_ALT_NAME, false, &der::sequence(&[&names])));
    }
    extensions.extend(key_identifiers(spki, issuer, crypto));
    extensions
}

/// RFC 5280 §4.2.1.6: GeneralName ::= CHOICE { rfc822Name [1], dNSName [2], iPAddress [7] … }.
fn general_name(name: &AlternativeName) -> Vec<u8> {
    match name {
        AlternativeName::Email(address) => der::wrap(0x81, &[address.as_bytes()]),
        AlternativeName::Dns(name) => der::wrap(0x82, &[name.as_bytes()]),
        AlternativeName::Ip(address) => der::wrap(0x87, &[address]),
    }
}

/// Subject and authority key identifier.
fn key_identifiers(spki: &[u8], issuer: &SigningKey, crypto: &mut dyn Crypto) -> Vec<u8> {
    let subject = der::wrap(der::OCTET_STRING, &[&key_identifier(spki, crypto)]);
    let mut extensions = extension(SUBJECT_KEY_IDENTIFIER, false, &subject);
    extensions.extend(authority_key_identifier(issuer, crypto));
    extensions
}

/// AuthorityKeyIdentifier ::= SEQUENCE { keyIdentifier [0] … }.
fn authority_key_identifier(issuer: &SigningKey, crypto: &mut dyn Crypto) -> Vec<u8> {
    let authority = der::sequence(&[&der::wrap(0x80, &[&key_identifier(&issuer.spki, crypto)])]);
    extension(AUTHORITY_KEY_IDENTIFIER, false, &authority)
}

/// RFC 5280 §4.2.1.2: the SHA-1 hash of the BIT STRING subjectPublicKey, without its count of unused bits.
fn key_identifier(spki: &[u8], crypto: &mut dyn Crypto) -> Vec<u8> {
    let key = Element::only(spki).and_then(|spki| spki.members().nth(1)).map(|key| key.contents);
    let key = key.and_then(|key| key.get(1..)).expect("SigningKey::spki is a SubjectPublicKeyInfo");
    crypto.hash(Hash::Sha1, &[key]).to_vec()
}

/// Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }.
fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    const TRUE: &[u8] = b"\x01\x01\xff";
    let id = der::wrap(der::OBJECT_IDENTIFIER, &[id]);
    der::sequence(&[&id, if critical { TRUE } else { &[] }, &der::wrap(der::OCTET_STRING, &[value])])
}

/// Half of all P-256 signatures have the likeliest length, so 128 attempts fail only for a provider whose signatures
/// always have another length; then its last one is used.
fn sign_at_likeliest_length(key: &SigningKey, message: &[u8], crypto: &mut dyn Crypto) -> Vec<u8> {
    let (_, scheme) = usual(key.kind);
    let mut signature = crypto.sign(key, scheme, &[message]);
    let Some(likeliest) = likeliest_signature_len(key.kind) else { return signature };
    for _ in 0..128 {
        if signature.len() == likeliest {
            break;
        }
        signature = crypto.sign(key, scheme, &[message]);
    }
    signature
}
