//! A public key's length, read from its SubjectPublicKeyInfo (RFC 5280 §4.1, RFC 8017 §A.1.1).

/// The bits of an RSA modulus; `None` if the key is no RSA key, or malformed.
pub fn rsa_bits(spki: &[u8]) -> Option<usize> {
    // RFC 3279 §2.3.1: rsaEncryption, 1.2.840.113549.1.1.1.
    const RSA_ENCRYPTION: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
    const SEQUENCE: u8 = 0x30;
    const INTEGER: u8 = 0x02;
    const BIT_STRING: u8 = 0x03;
    let (contents, _) = element(spki, SEQUENCE)?;
    let (algorithm, rest) = element(contents, SEQUENCE)?;
    let (bits, _) = element(rest, BIT_STRING)?;
    let (key, _) = element(bits.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, _) = element(key, INTEGER)?;
    let zeros: u32 = match modulus.iter().position(|byte| *byte != 0) {
        Some(first) => 8 * first as u32 + modulus[first].leading_zeros(),
        None => return None,
    };
    algorithm.starts_with(RSA_ENCRYPTION).then_some(8 * modulus.len() - zeros as usize)
}

/// The contents of a DER element of this tag, and the bytes behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [first, len, rest @ ..] = der else { return None };
    // X.690 §8.1.3: up to 127 the length itself, else how many bytes have it.
    let (len, rest) = match usize::from(*len) {
        len @ ..0x80 => (len, rest),
        many => {
            let (len, rest) = rest.split_at_checked(many - 0x80).filter(|(len, _)| len.len() <= 4)?;
            (len.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(len).filter(|_| *first == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of 12 bits.
    const KEY: &[u8] = b"\x30\x1d\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x0c\x00\x30\x09\x02\x02\x0c\xa1\x02\x03\x01\x00\x01";

    #[test]
    fn the_bits_of_a_modulus_are_counted() {
        assert_eq!(rsa_bits(KEY), Some(12));
    }

    #[test]
    fn what_is_no_rsa_key_has_none() {
        (0..KEY.len()).for_each(|len| assert_eq!(rsa_bits(&KEY[..len]), None, "{len} bytes"));
        let mut other = KEY.to_vec();
        other[14] ^= 1;
        assert_eq!(rsa_bits(&other), None, "another algorithm");
        assert_eq!(rsa_bits(b"\x30\x85\xff\xff\xff\xff\xff\x00"), None, "a length of five bytes");
    }
}
