//! Derivation of octets: HKDF, and numbers below a prime.

use keytoll_crypto_api::algorithm::{Curve, Prf};
use keytoll_crypto_api::{Crypto, Secret};

use crate::keys::kdf;

/// HKDF-Expand, RFC 5869 §2.3. Its first half, HKDF-Extract, is the PRF itself.
pub(super) fn hkdf_expand(prf: Prf, key: &[u8], info: &[u8], len: usize, crypto: &mut dyn Crypto) -> Secret {
    let mut octets = Vec::with_capacity(len.next_multiple_of(prf.output_len()));
    let mut last = crypto.prf(prf, key, &[info, &[1]]);
    for counter in 2..=u8::MAX {
        octets.extend_from_slice(&last);
        if octets.len() >= len {
            break;
        }
        last = crypto.prf(prf, key, &[&last, info, &[counter]]);
    }
    octets.truncate(len);
    Secret::new(octets)
}

/// KDF-Hash-z with the prime of the field as context and as many bits, as a number.
pub(super) fn below(curve: Curve, key: &[u8], label: &[u8], crypto: &mut dyn Crypto) -> Secret {
    let bits = u16::try_from(curve.bits()).expect("a prime has less than 65,536 bits");
    let octets = kdf(Prf::HmacSha256, key, label, &prime(curve), bits, crypto);
    // The bits are the first of the octets, the number ends with the last.
    let unused = 8 * octets.len() - curve.bits();
    let above = std::iter::once(&0).chain(octets.iter());
    let shift = |(&byte, &above): (&u8, &u8)| match unused {
        0 => byte,
        unused => byte >> unused | above << (8 - unused),
    };
    Secret::new(octets.iter().zip(above).map(shift).collect())
}

/// SP 800-186 §3.2.1: 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1, 2³⁸⁴ − 2¹²⁸ − 2⁹⁶ + 2³² − 1, 2⁵²¹ − 1.
fn prime(curve: Curve) -> Vec<u8> {
    let mut prime = vec![0xff; curve.field_len()];
    let len = prime.len();
    match curve {
        Curve::P256 => {
            prime[4..20].fill(0);
            prime[7] = 1;
        }
        Curve::P384 => {
            prime[len - 17] = 0xfe;
            prime[len - 12..len - 4].fill(0);
        }
        Curve::P521 => prime[0] = 1,
    }
    prime
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;
    use keytoll_crypto_api::OnCurve;

    use super::super::testing::hex;
    use super::*;

    /// RFC 5869 A.1.
    #[test]
    fn hkdf_is_that_of_the_rfc() {
        let crypto = &mut Real::default();
        let key = crypto.prf(Prf::HmacSha256, &hex("000102030405060708090a0b0c"), &[&[0x0b; 22]]);
        let info = hex("f0f1f2f3f4f5f6f7f8f9");
        let expanded = hkdf_expand(Prf::HmacSha256, &key, &info, 42, crypto);
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(expanded[..], hex(expected));
    }

    /// A prime is the least number of its length that is no coordinate, and the one before it is one or has no element.
    #[test]
    fn primes_are_those_of_the_library() {
        let crypto = &mut Real::default();
        for &curve in Curve::ALL {
            let minus_one = {
                let mut number = prime(curve);
                *number.last_mut().unwrap() -= 1;
                number
            };
            let map =
                |octets: &[u8], crypto: &mut Real| crypto.on_curve(curve, OnCurve::Map(octets)).unwrap();
            let zero = vec![0; curve.field_len()];
            assert_eq!(map(&prime(curve), crypto), map(&zero, crypto), "{curve}");
            let one = [&zero[1..], &[1]].concat();
            // (−1)² = 1², so that x is the same.
            assert_eq!(map(&minus_one, crypto)[..zero.len()], map(&one, crypto)[..zero.len()], "{curve}");
        }
    }

    #[test]
    fn numbers_have_no_more_bits_than_the_prime() {
        let crypto = &mut Real::default();
        for seed in 0..20 {
            let number = below(Curve::P521, &[seed], b"label", crypto);
            assert!(number.len() == 66 && number[0] < 2);
        }
    }
}
