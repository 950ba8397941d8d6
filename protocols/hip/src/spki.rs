//! Host Identities that sign, as the crypto trait wants them: DER SubjectPublicKeyInfo (RFC 5280 §4.1, RFC 8017 §A.1.1,
//! RFC 5480 §2, RFC 8410 §4).

use keytoll_crypto_api::algorithm::Group;

use crate::wire::host_id::HostIdAlgorithm;

/// What a Host Identity is converted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// What stands before a key of a curve: SubjectPublicKeyInfo up to the key.
struct Curve {
    kind: Kind,
    algorithm: HostIdAlgorithm,
    /// What stands before it in a Host Identity.
    label: &'static [u8],
    spki: &'static [u8],
    key_len: usize,
}

const CURVES: [Curve; 3] = [
    Curve {
        kind: Kind::P256,
        algorithm: HostIdAlgorithm::ECDSA,
        label: &[0, 1],
        spki: &[
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
            0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ],
        key_len: 64,
    },
    Curve {
        kind: Kind::P384,
        algorithm: HostIdAlgorithm::ECDSA,
        label: &[0, 2],
        spki: &[
            0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b,
            0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04,
        ],
        key_len: 96,
    },
    Curve {
        kind: Kind::Ed25519,
        algorithm: HostIdAlgorithm::EDDSA,
        label: &[0, 1, 0, 0],
        spki: &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00],
        key_len: 32,
    },
];

/// rsaEncryption with its NULL.
const RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;
/// RSA keys have no more: 4096 bits.
const RSA_MODULUS_MAX: usize = 512;

/// The Host Identity of a key, with its algorithm.
pub(crate) fn to_host_identity(spki: &[u8]) -> Option<(HostIdAlgorithm, Vec<u8>)> {
    for curve in &CURVES {
        if let Some(key) = spki.strip_prefix(curve.spki)
            && key.len() == curve.key_len
        {
            return Some((curve.algorithm, [curve.label, key].concat()));
        }
    }
    let (modulus, exponent) = rsa_numbers(spki)?;
    let mut identity = Vec::with_capacity(modulus.len() + exponent.len() + 3);
    // RFC 3110 §2: a length of one octet, or zero and two octets.
    match u8::try_from(exponent.len()) {
        Ok(len) => identity.push(len),
        Err(_) => {
            identity.push(0);
            identity.extend_from_slice(&u16::try_from(exponent.len()).ok()?.to_be_bytes());
        }
    }
    identity.extend_from_slice(exponent);
    identity.extend_from_slice(modulus);
    Some((HostIdAlgorithm::RSA, identity))
}

// RFC 8410 §4: the key stands in the BIT STRING as it is.
/// The public value of a key of X25519.
pub(crate) fn x25519(spki: &[u8]) -> Option<&[u8]> {
    const HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00];
    spki.strip_prefix(&HEAD).filter(|public| public.len() == Group::X25519.public_len())
}

/// The key of a Host Identity of such an algorithm.
pub(crate) fn of_host_identity(algorithm: HostIdAlgorithm, identity: &[u8]) -> Option<(Kind, Vec<u8>)> {
    if algorithm == HostIdAlgorithm::RSA {
        return rsa_spki(identity).map(|spki| (Kind::Rsa, spki));
    }
    CURVES.iter().filter(|curve| curve.algorithm == algorithm).find_map(|curve| {
        let key = identity.strip_prefix(curve.label).filter(|key| key.len() == curve.key_len)?;
        Some((curve.kind, [curve.spki, key].concat()))
    })
}

fn rsa_spki(identity: &[u8]) -> Option<Vec<u8>> {
    let (exponent_len, rest) = match identity {
        [0, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        [len, rest @ ..] => (usize::from(*len), rest),
        [] => return None,
    };
    let (exponent, modulus) = rest.split_at_checked(exponent_len)?;
    if exponent.is_empty()
        || modulus.len() < 64
        || modulus.len() > RSA_MODULUS_MAX
        || exponent.len() > modulus.len()
    {
        return None;
    }
    let numbers = tlv(SEQUENCE, &[integer(modulus), integer(exponent)].concat());
    let key = tlv(BIT_STRING, &[&[0], &numbers[..]].concat());
    Some(tlv(SEQUENCE, &[&RSA, &key[..]].concat()))
}

fn rsa_numbers(spki: &[u8]) -> Option<(&[u8], &[u8])> {
    let (all, _) = read(SEQUENCE, spki)?;
    let (bits, _) = read(BIT_STRING, all.strip_prefix(&RSA)?)?;
    let (numbers, _) = read(SEQUENCE, bits.strip_prefix(&[0])?)?;
    let (modulus, rest) = read(INTEGER, numbers)?;
    let (exponent, _) = read(INTEGER, rest)?;
    Some((without_zeros(modulus), without_zeros(exponent)))
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    &number[zeros..]
}

fn integer(number: &[u8]) -> Vec<u8> {
    let number = without_zeros(number);
    let sign: &[u8] = if number.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    tlv(INTEGER, &[sign, number].concat())
}

fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).expect("keys are bounded").to_be_bytes();
    let head: &[u8] = match len {
        [0, low] if low < 0x80 => &[tag, low],
        [0, low] => &[tag, 0x81, low],
        [high, low] => &[tag, 0x82, high, low],
    };
    [head, value].concat()
}

/// The value of the structure with this tag, and what follows it.
fn read(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = match der.strip_prefix(&[tag])? {
        [len, rest @ ..] if *len < 0x80 => (usize::from(*len), rest),
        [0x81, len, rest @ ..] => (usize::from(*len), rest),
        [0x82, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::keys;
    use keytoll_crypto_api::Rng;
    use keytoll_crypto_api::algorithm::KeyKind;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_come_back_as_they_were() {
        for kind in
            [KeyKind::Rsa1024, KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::Ed25519]
        {
            let key = keys::generate_null(kind, &mut Rng::named(1, "spki"));
            let (algorithm, identity) = to_host_identity(&key.spki).unwrap();
            assert_eq!(of_host_identity(algorithm, &identity).unwrap().1, key.spki[..], "{kind}");
        }
    }

    #[test]
    fn a_long_exponent_is_read() {
        let identity = [&[0, 1, 0][..], &[7; 256], &[9; 256]].concat();
        let spki = rsa_spki(&identity).unwrap();
        assert_eq!(to_host_identity(&spki).unwrap().1, identity);
    }

    proptest! {
        #[test]
        fn what_anybody_sends_is_a_key_or_none(algorithm in 0_u16..16, identity in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = of_host_identity(HostIdAlgorithm(algorithm), &identity);
            let _ = to_host_identity(&identity);
        }
    }
}
