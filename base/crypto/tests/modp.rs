//! The MODP primes are what RFC 3526, RFC 2409 §6.1 and RFC 7296 appendix B define by a formula over π, and exponentiation agrees with
//! plain big numbers.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use keytoll_crypto::{Exponents, Real};
use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::{Crypto, PrivateKey, Rejected, Rng, Secret};
use keytoll_native::awslc::modp::Prime;
use num_bigint::BigUint;
use proptest::prelude::*;

/// Bits, the constant that makes the prime safe, and the prime.
const GROUPS: [(usize, u32, Prime, Group); 8] = [
    (768, 149_686, Prime::Bits768, Group::Modp768),
    (1024, 129_093, Prime::Bits1024, Group::Modp1024),
    (1536, 741_804, Prime::Bits1536, Group::Modp1536),
    (2048, 124_476, Prime::Bits2048, Group::Modp2048),
    (3072, 1_690_314, Prime::Bits3072, Group::Modp3072),
    (4096, 240_904, Prime::Bits4096, Group::Modp4096),
    (6144, 929_484, Prime::Bits6144, Group::Modp6144),
    (8192, 4_743_158, Prime::Bits8192, Group::Modp8192),
];

#[test]
fn primes_follow_the_formula() {
    let one = BigUint::from(1_u32);
    for (bits, constant, prime, _) in GROUPS {
        // RFC 3526 §2: 2^n − 2^(n−64) − 1 + 2^64 · { ⌊2^(n−130) π⌋ + c }
        let expected = (&one << bits) - (&one << (bits - 64)) - &one + ((pi(bits - 130) + constant) << 64);
        assert_eq!(BigUint::from_bytes_be(prime.constant()), expected, "{bits} bits");
    }
}

/// ⌊2^bits · π⌋ by Machin's formula π = 16 atan(1/5) − 4 atan(1/239), with 64 bits to spare.
fn pi(bits: usize) -> BigUint {
    let scaled = bits + 64;
    (arctan_inverse(5, scaled) * 16_u32 - arctan_inverse(239, scaled) * 4_u32) >> 64
}

/// 2^bits · atan(1/x) = Σ (−1)^k 2^bits / ((2k + 1) x^(2k+1)).
fn arctan_inverse(x: u32, bits: usize) -> BigUint {
    let mut power = (BigUint::from(1_u32) << bits) / x;
    let (mut plus, mut minus) = (BigUint::ZERO, BigUint::ZERO);
    for k in 0_u32.. {
        if power == BigUint::ZERO {
            break;
        }
        *(if k % 2 == 0 { &mut plus } else { &mut minus }) += &power / (2 * k + 1);
        power /= x * x;
    }
    plus - minus
}

#[test]
fn values_without_a_secret_are_refused() {
    for (_, _, prime, group) in GROUPS {
        let p = BigUint::from_bytes_be(prime.constant());
        let one = BigUint::from(1_u32);
        let private = Real::default().generate(group, &mut Rng::named(1, "modp")).private;
        // RFC 6989 §2.1: 1 < y < p − 1.
        for bad in [BigUint::ZERO, one.clone(), &p - &one, p.clone(), &p + &one] {
            assert_eq!(
                Real::default().agree(&private, &padded(&bad, group)).unwrap_err(),
                Rejected,
                "{group}"
            );
        }
        for good in [BigUint::from(2_u32), &p - 2_u32] {
            assert!(Real::default().agree(&private, &padded(&good, group)).is_ok(), "{group}");
        }
        assert!(Real::default().agree(&private, &padded(&one, group)[1..]).is_err(), "{group}: too short");
    }
}

fn padded(number: &BigUint, group: Group) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    [&vec![0; group.public_len() - bytes.len()], &bytes[..]].concat()
}

#[test]
fn exponents_have_the_length_that_is_reported() {
    let mut rng = Rng::named(1, "exponents");
    for policy in [Exponents::Short, Exponents::Full] {
        for (_, _, _, group) in GROUPS {
            let pair = Real::new(policy).generate(group, &mut rng);
            let bits = BigUint::from_bytes_be(&pair.private.secret).bits();
            assert_eq!(Some(usize::try_from(bits).unwrap()), policy.bits(group), "{policy} {group}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn exponentiation_agrees_with_plain_big_numbers(
        which in 0..6_usize,
        base in prop::collection::vec(any::<u8>(), 512),
        exponent in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let (bits, _, prime, group) = GROUPS[which];
        let p = BigUint::from_bytes_be(prime.constant());
        let base = BigUint::from_bytes_be(&base[..bits / 8]) % &p;
        prop_assume!(base > BigUint::from(1_u32));
        let power = base.modpow(&BigUint::from_bytes_be(&exponent), &p);
        let private = PrivateKey { group, secret: Secret::from(&exponent[..]) };
        let secret = Real::default().agree(&private, &padded(&base, group)).unwrap();
        prop_assert_eq!(&secret[..], &padded(&power, group)[..]);
        let mut public = vec![0; bits / 8];
        prime.power_of_two(&exponent, &mut public);
        let two = BigUint::from(2_u32).modpow(&BigUint::from_bytes_be(&exponent), &p);
        prop_assert_eq!(public, padded(&two, group));
    }
}
