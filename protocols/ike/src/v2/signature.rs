//! Algorithm identifiers of Digital Signatures in AUTH: RFC 7427 §3, Appendix A; RFC 8420 §2 (Ed25519).
//!
//!   ASN.1 Length(1) AlgorithmIdentifier(*) Signature Value(*)

use keytoll_crypto_api::algorithm::{Hash, SignatureScheme};
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::HashId;

/// The data of an AUTH payload with method [`crate::number::AuthMethod::DIGITAL_SIGNATURE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitalSignature<'a> {
    /// How it was made.
    pub scheme: SignatureScheme,
    /// The signature.
    pub value: &'a [u8],
}

impl<'a> DigitalSignature<'a> {
    /// Reads the data of an AUTH payload; offsets in errors count from there.
    ///
    /// # Errors
    /// The data is truncated, or does not start with an AlgorithmIdentifier.
    pub fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(data);
        let length = r.u8("ASN.1 length")?;
        let at = r;
        let identifier = r.take(usize::from(length), "AlgorithmIdentifier")?;
        let scheme =
            scheme(identifier).ok_or(at.error("AlgorithmIdentifier", Problem::Value(length.into())))?;
        Ok(Self { scheme, value: r.rest() })
    }

    /// The data of an AUTH payload; `None` for schemes without AlgorithmIdentifier.
    pub fn write(&self) -> Option<Vec<u8>> {
        let identifier = algorithm_identifier(self.scheme)?;
        let mut w = Writer::with_capacity(1 + identifier.len() + self.value.len());
        w.u8(u8::try_from(identifier.len()).expect("the longest identifier has 67 bytes"));
        w.bytes(&identifier);
        w.bytes(self.value);
        Some(w.finish())
    }
}

/// The hash algorithm that the peer must have announced (SIGNATURE_HASH_ALGORITHMS) before this scheme may be used.
pub const fn hash_id(scheme: SignatureScheme) -> Option<HashId> {
    match scheme {
        SignatureScheme::RsaPkcs1(hash)
        | SignatureScheme::RsaPss(hash)
        | SignatureScheme::EcdsaDer(hash)
        | SignatureScheme::EcdsaRaw(hash) => HashId::of(hash),
        SignatureScheme::RsaPkcs1Bare => None,
        SignatureScheme::Ed25519 => Some(HashId::IDENTITY),
    }
}

/// DER AlgorithmIdentifier of a scheme; `None` for those that RFC 7427 does not cover.
pub fn algorithm_identifier(scheme: SignatureScheme) -> Option<Vec<u8>> {
    match scheme {
        SignatureScheme::RsaPkcs1(hash) => rsa_pkcs1(hash, NULL),
        SignatureScheme::RsaPss(hash) => rsa_pss(hash, Variant { hash_parameters: NULL, trailer: &[] }),
        SignatureScheme::EcdsaDer(hash) => ecdsa(hash),
        SignatureScheme::Ed25519 => Some(ED25519.to_vec()),
        SignatureScheme::EcdsaRaw(_) | SignatureScheme::RsaPkcs1Bare => None,
    }
}

/// The scheme of a DER AlgorithmIdentifier. All equivalent encodings that peers are known to send are accepted: parameters
/// NULL or absent, the default trailer field present or not.
pub fn scheme(identifier: &[u8]) -> Option<SignatureScheme> {
    if identifier == ED25519 {
        return Some(SignatureScheme::Ed25519);
    }
    let is = |candidate: Option<Vec<u8>>| candidate.as_deref() == Some(identifier);
    HASHES.into_iter().find_map(|hash| {
        if [NULL, &[]].into_iter().any(|parameters| is(rsa_pkcs1(hash, parameters))) {
            Some(SignatureScheme::RsaPkcs1(hash))
        } else if is(ecdsa(hash)) {
            Some(SignatureScheme::EcdsaDer(hash))
        } else if Variant::ALL.into_iter().any(|variant| is(rsa_pss(hash, variant))) {
            Some(SignatureScheme::RsaPss(hash))
        } else {
            None
        }
    })
}

/// RFC 7427 §7: the hashes that have a number.
const HASHES: [Hash; 4] = [Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Sha1];

/// ASN.1 NULL.
const NULL: &[u8] = &[0x05, 0x00];
/// RFC 8420 §2: id-Ed25519, without parameters.
const ED25519: &[u8] = &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];
/// 1.2.840.113549.1.1, the arc of PKCS #1.
const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4, the arc of ECDSA signatures.
const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
/// 2.16.840.1.101.3.4.2, the arc of the SHA-2 family.
const SHA2: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
/// 1.3.14.3.2.26, id-sha1.
const SHA1: [u8; 5] = [0x2b, 0x0e, 0x03, 0x02, 0x1a];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// One DER element of less than 128 bytes.
fn der(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = u8::try_from(content.len()).expect("AlgorithmIdentifiers are shorter than 128 bytes");
    [&[tag, length], &content[..]].concat()
}

fn rsa_pkcs1(hash: Hash, parameters: &[u8]) -> Option<Vec<u8>> {
    // RFC 7427 A.1: sha1WithRSAEncryption and its successors.
    let last = match hash {
        Hash::Sha1 => 5,
        Hash::Sha256 => 11,
        Hash::Sha384 => 12,
        Hash::Sha512 => 13,
        Hash::Md4 | Hash::Md5 => return None,
    };
    Some(der(SEQUENCE, &[&der(OBJECT_IDENTIFIER, &[&PKCS1, &[last]]), parameters]))
}

fn ecdsa(hash: Hash) -> Option<Vec<u8>> {
    // RFC 7427 A.3: ecdsa-with-SHA1 and its successors, without parameters.
    let last: &[u8] = match hash {
        Hash::Sha1 => &[1],
        Hash::Sha256 => &[3, 2],
        Hash::Sha384 => &[3, 3],
        Hash::Sha512 => &[3, 4],
        Hash::Md4 | Hash::Md5 => return None,
    };
    Some(der(SEQUENCE, &[&der(OBJECT_IDENTIFIER, &[&ECDSA, last])]))
}

/// A way to encode the parameters of RSASSA-PSS.
#[derive(Clone, Copy)]
struct Variant {
    hash_parameters: &'static [u8],
    trailer: &'static [u8],
}

impl Variant {
    /// RFC 7427 A.4.3 includes the default trailer field, RFC 4055 §3.1 omits it.
    const TRAILER: &'static [u8] = &[0xa3, 0x03, 0x02, 0x01, 0x01];
    const ALL: [Self; 4] = [
        Self { hash_parameters: NULL, trailer: &[] },
        Self { hash_parameters: NULL, trailer: Self::TRAILER },
        Self { hash_parameters: &[], trailer: &[] },
        Self { hash_parameters: &[], trailer: Self::TRAILER },
    ];
}

fn rsa_pss(hash: Hash, variant: Variant) -> Option<Vec<u8>> {
    let id = der(OBJECT_IDENTIFIER, &[&PKCS1, &[10]]);
    // RFC 7427 A.4.2: all parameters of SHA-1 are defaults and omitted.
    if hash == Hash::Sha1 {
        return Some(der(SEQUENCE, &[&id, &der(SEQUENCE, &[])]));
    }
    let hash_identifier = der(SEQUENCE, &[&hash_oid(hash)?, variant.hash_parameters]);
    let mgf1 = der(SEQUENCE, &[&der(OBJECT_IDENTIFIER, &[&PKCS1, &[8]]), &hash_identifier]);
    let salt_length = [0x02, 0x01, u8::try_from(hash.len()).ok()?];
    let parameters = [
        &der(0xa0, &[&hash_identifier])[..],
        &der(0xa1, &[&mgf1]),
        &der(0xa2, &[&salt_length]),
        variant.trailer,
    ];
    Some(der(SEQUENCE, &[&id, &der(SEQUENCE, &parameters)]))
}

fn hash_oid(hash: Hash) -> Option<Vec<u8>> {
    match hash {
        Hash::Md4 | Hash::Md5 => None,
        Hash::Sha1 => Some(der(OBJECT_IDENTIFIER, &[&SHA1])),
        Hash::Sha256 => Some(der(OBJECT_IDENTIFIER, &[&SHA2, &[1]])),
        Hash::Sha384 => Some(der(OBJECT_IDENTIFIER, &[&SHA2, &[2]])),
        Hash::Sha512 => Some(der(OBJECT_IDENTIFIER, &[&SHA2, &[3]])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 7427 Appendix A and RFC 8420.
    const EXAMPLES: [(&str, SignatureScheme); 9] = [
        ("300d06092a864886f70d0101050500", SignatureScheme::RsaPkcs1(Hash::Sha1)),
        ("300d06092a864886f70d01010b0500", SignatureScheme::RsaPkcs1(Hash::Sha256)),
        ("300d06092a864886f70d01010d0500", SignatureScheme::RsaPkcs1(Hash::Sha512)),
        ("300906072a8648ce3d0401", SignatureScheme::EcdsaDer(Hash::Sha1)),
        ("300a06082a8648ce3d040302", SignatureScheme::EcdsaDer(Hash::Sha256)),
        ("300a06082a8648ce3d040304", SignatureScheme::EcdsaDer(Hash::Sha512)),
        ("300d06092a864886f70d01010a3000", SignatureScheme::RsaPss(Hash::Sha1)),
        ("300506032b6570", SignatureScheme::Ed25519),
        (
            "304606092a864886f70d01010a3039a00f300d06096086480165030402010500a11c301a06092a864886f70d010108\
             300d06096086480165030402010500a203020120a303020101",
            SignatureScheme::RsaPss(Hash::Sha256),
        ),
    ];

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn the_examples_of_the_standard_are_understood() {
        for (identifier, meaning) in EXAMPLES {
            assert_eq!(scheme(&hex(identifier)), Some(meaning), "{identifier}");
        }
    }

    #[test]
    fn the_examples_of_the_standard_are_written() {
        for (identifier, meaning) in &EXAMPLES[..8] {
            assert_eq!(algorithm_identifier(*meaning), Some(hex(identifier)));
        }
    }

    #[test]
    fn another_salt_length_is_not_the_scheme_we_can_check() {
        let mut identifier = hex(EXAMPLES[8].0);
        let salt_at = identifier.len() - 6;
        identifier[salt_at] = 64;
        assert_eq!(scheme(&identifier), None);
    }

    #[test]
    fn truncated_or_unknown_identifiers_are_refused() {
        let data = DigitalSignature { scheme: SignatureScheme::Ed25519, value: &[] }.write().unwrap();
        for cut in 0..data.len() {
            assert!(DigitalSignature::read(&data[..cut]).is_err(), "cut at {cut}");
        }
        let error = DigitalSignature::read(&[2, 0x30, 0, 1]).unwrap_err();
        assert_eq!((error.field, error.offset), ("AlgorithmIdentifier", 1));
        assert_eq!(
            DigitalSignature { scheme: SignatureScheme::EcdsaRaw(Hash::Sha256), value: &[] }.write(),
            None
        );
    }

    fn schemes() -> impl Strategy<Value = SignatureScheme> {
        let hashes = proptest::sample::select(&HASHES[..]);
        let kinds: [fn(Hash) -> SignatureScheme; 4] =
            [SignatureScheme::RsaPkcs1, SignatureScheme::RsaPss, SignatureScheme::EcdsaDer, |_| {
                SignatureScheme::Ed25519
            }];
        (hashes, 0..kinds.len()).prop_map(move |(hash, kind)| kinds[kind](hash))
    }

    proptest! {
        #[test]
        fn round_trip(scheme in schemes(), value: Vec<u8>) {
            let signature = DigitalSignature { scheme, value: &value };
            let data = signature.write().unwrap();
            prop_assert_eq!(DigitalSignature::read(&data), Ok(signature));
        }

        #[test]
        fn no_bytes_make_it_panic(data: Vec<u8>) {
            let _ = DigitalSignature::read(&data);
        }
    }
}
