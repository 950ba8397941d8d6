//! Computations with the elements of curves, against published vectors, an independent implementation, and themselves.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::algorithm::{Curve, Group};
use keytoll_crypto_api::{Crypto, OnCurve, Rejected, Rng, Secret};
use num_bigint::BigUint;
use proptest::prelude::*;

fn on(curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
    let computed = Real::default().on_curve(curve, operation);
    #[cfg(feature = "ossl")]
    {
        let theirs = keytoll_crypto::Ossl::default().on_curve(curve, operation);
        assert_eq!(theirs, computed, "OpenSSL differs at {}", operation.operation());
    }
    computed
}

const fn group(curve: Curve) -> Group {
    match curve {
        Curve::P256 => Group::Ecp256,
        Curve::P384 => Group::Ecp384,
        Curve::P521 => Group::Ecp521,
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn element(curve: Curve, name: &str) -> Vec<u8> {
    Real::default().generate(group(curve), &mut Rng::named(1, name)).public
}

fn padded(curve: Curve, number: &BigUint) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    [vec![0; curve.field_len() - bytes.len()], bytes].concat()
}

/// SP 800-186 §3.2.1: the primes and the orders.
fn prime(curve: Curve) -> BigUint {
    let two = |exponent: u32| BigUint::from(2_u8).pow(exponent);
    match curve {
        Curve::P256 => two(256) - two(224) + two(192) + two(96) - 1_u8,
        Curve::P384 => two(384) - two(128) - two(96) + two(32) - 1_u8,
        Curve::P521 => two(521) - 1_u8,
    }
}

fn order(curve: Curve) -> BigUint {
    let hexadecimal: &[u8] = match curve {
        Curve::P256 => b"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        Curve::P384 => {
            b"ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        }
        Curve::P521 => {
            b"1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
    };
    BigUint::parse_bytes(hexadecimal, 16).unwrap()
}

/// RFC 9380 J.1.1 and J.3.1, the empty message: u and the point to which it is mapped.
#[test]
fn numbers_are_mapped_as_rfc_9380_maps_them() {
    for (curve, u, x, y) in [
        (
            Curve::P256,
            "ad5342c66a6dd0ff080df1da0ea1c04b96e0330dd89406465eeba11582515009",
            "ab640a12220d3ff283510ff3f4b1953d09fad35795140b1c5d64f313967934d5",
            "dccb558863804a881d4fff3455716c836cef230e5209594ddd33d85c565b19b1",
        ),
        (
            Curve::P256,
            "8c0f1d43204bd6f6ea70ae8013070a1518b43873bcd850aafa0a9e220e2eea5a",
            "51cce63c50d972a6e51c61334f0f4875c9ac1cd2d3238412f84e31da7d980ef5",
            "b45d1a36d00ad90e5ec7840a60a4de411917fbe7c82c3949a6e699e5a1b66aac",
        ),
    ] {
        let mapped = on(curve, OnCurve::Map(&hex(u))).unwrap();
        assert_eq!(&*mapped, hex(&format!("{x}{y}")), "{curve}");
        // The same number and a multiple of the prime.
        let larger = BigUint::from_bytes_be(&hex(u)) + prime(curve) * 0xffff_ffff_u32;
        assert_eq!(on(curve, OnCurve::Map(&larger.to_bytes_be())).unwrap(), mapped);
    }
}

/// RFC 9380 §6.6.2 step 4: a number for which the fraction has no denominator is an exception.
#[test]
fn zero_is_mapped_too() {
    for &curve in Curve::ALL {
        for zero in [&[][..], &[0], &prime(curve).to_bytes_be()] {
            let mapped = on(curve, OnCurve::Map(zero)).unwrap();
            assert!(on(curve, OnCurve::Check(&mapped)).is_ok(), "{curve}");
        }
    }
}

#[test]
fn a_product_is_the_sum_of_its_summands() {
    for &curve in Curve::ALL {
        let one = element(curve, "one");
        let two = on(curve, OnCurve::Add(&one, &one)).unwrap();
        let three = on(curve, OnCurve::Add(&two, &one)).unwrap();
        let times = |scalar: u8| {
            let scalar = padded(curve, &scalar.into());
            on(curve, OnCurve::Multiply { element: &one, scalar: &scalar })
        };
        assert_eq!((times(2).unwrap(), times(3).unwrap()), (two, three), "{curve}");
        assert_eq!(times(0), Err(Rejected), "{curve}");
        let last = padded(curve, &(order(curve) - 1_u8));
        let inverse = on(curve, OnCurve::Invert(&one)).unwrap();
        assert_eq!(on(curve, OnCurve::Multiply { element: &one, scalar: &last }).unwrap(), inverse);
        assert_eq!(on(curve, OnCurve::Add(&one, &inverse)), Err(Rejected), "{curve}: the identity");
    }
}

#[test]
fn what_is_no_element_and_no_scalar_is_rejected() {
    for &curve in Curve::ALL {
        let good = element(curve, "good");
        let len = curve.field_len();
        let mut off = good.clone();
        off[2 * len - 1] ^= 1;
        let beyond = [&padded(curve, &prime(curve))[..], &good[len..]].concat();
        let scalar = padded(curve, &5_u8.into());
        for bad in [&off[..], &beyond, &vec![0; 2 * len], &good[1..], &[], &[&good[..], &[0]].concat()] {
            assert_eq!(on(curve, OnCurve::Check(bad)), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::Invert(bad)), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::Add(bad, &good)), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::Add(&good, bad)), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::Multiply { element: bad, scalar: &scalar }), Err(Rejected));
        }
        let order = padded(curve, &order(curve));
        for bad in [&vec![0; len][..], &order, &vec![0xff; len], &scalar[1..], &[]] {
            assert_eq!(on(curve, OnCurve::Multiply { element: &good, scalar: bad }), Err(Rejected));
            assert_eq!(on(curve, OnCurve::AddScalars(bad, &scalar)), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::AddScalars(&scalar, bad)), Err(Rejected), "{curve}");
        }
        let blinding = vec![7; len + 1];
        for x in [&padded(curve, &prime(curve))[..], &[], &good] {
            assert_eq!(on(curve, OnCurve::Test { x, blinding: &blinding }), Err(Rejected), "{curve}");
            assert_eq!(on(curve, OnCurve::Solve { x, is_odd: true }), Err(Rejected), "{curve}");
        }
    }
}

/// Null takes whatever has the right length and gives what Real gives, in length.
#[test]
fn null_has_the_same_lengths() {
    for &curve in Curve::ALL {
        let (element, scalar) = (element(curve, "any"), padded(curve, &9_u8.into()));
        let blinding = vec![1; scalar.len() + 1];
        let (x, wide) = (&element[..scalar.len()], vec![3; 2 * scalar.len()]);
        for operation in [
            OnCurve::Multiply { element: &element, scalar: &scalar },
            OnCurve::Add(&element, &element),
            OnCurve::Invert(&element),
            OnCurve::Check(&element),
            OnCurve::Test { x, blinding: &blinding },
            OnCurve::Solve { x, is_odd: false },
            OnCurve::Map(&wide),
            OnCurve::AddScalars(&scalar, &scalar),
            OnCurve::Scalar(&wide),
        ] {
            let lens = [Provider::Real(Real::default()), Provider::Null(Null)]
                .map(|mut provider| provider.on_curve(curve, operation).map(|result| result.len()));
            assert_eq!(lens[0], lens[1], "{curve} {}", operation.operation());
        }
        assert_eq!(Null.on_curve(curve, OnCurve::Check(&element[1..])), Err(Rejected));
    }
}

#[test]
fn the_meter_has_a_name_for_each() {
    let mut metered = Metered::count_only(Null);
    _ = metered.on_curve(Curve::P256, OnCurve::Map(&[1]));
    _ = metered.on_curve(Curve::P384, OnCurve::Scalar(&[1]));
    let rows = metered.snapshot();
    let counted: Vec<_> = rows.iter().map(|row| (row.operation, &*row.algorithm, row.count)).collect();
    assert_eq!(counted, [("ec-map", "ecp256", 1), ("ec-scalar", "ecp384", 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// x³ − 3x + b is a square exactly if x has an element, whatever the blinding.
    #[test]
    fn tests_and_solutions_agree(x: [u8; 66], random: [u8; 67], is_odd: bool) {
        for &curve in Curve::ALL {
            let p = prime(curve);
            let x = padded(curve, &(BigUint::from_bytes_be(&x) % &p));
            let solved = on(curve, OnCurve::Solve { x: &x, is_odd });
            let tested = on(curve, OnCurve::Test { x: &x, blinding: &random[..=x.len()] });
            prop_assert_eq!(solved.is_ok(), tested.is_ok(), "{}", curve);
            if let Ok(element) = solved {
                prop_assert!(on(curve, OnCurve::Check(&element)).is_ok());
                prop_assert_eq!(element[element.len() - 1] % 2 == 1, is_odd);
                prop_assert_eq!(&element[..x.len()], &x[..]);
            }
        }
    }

    #[test]
    fn scalars_are_those_of_an_independent_calculation(octets: [u8; 80], a: [u8; 66], b: [u8; 66]) {
        for &curve in Curve::ALL {
            let r = order(curve);
            let expected = BigUint::from_bytes_be(&octets) % (&r - 1_u8) + 1_u8;
            prop_assert_eq!(&*on(curve, OnCurve::Scalar(&octets)).unwrap(), padded(curve, &expected));
            let [a, b] = [a, b].map(|number| BigUint::from_bytes_be(&number) % (&r - 1_u8) + 1_u8);
            let sum = on(curve, OnCurve::AddScalars(&padded(curve, &a), &padded(curve, &b))).unwrap();
            prop_assert_eq!(&*sum, padded(curve, &((a + b) % r)));
        }
    }

    /// (a + b) · P = a · P + b · P.
    #[test]
    fn multiplication_distributes(a: [u8; 66], b: [u8; 66], u: [u8; 32]) {
        for &curve in Curve::ALL {
            let element = on(curve, OnCurve::Map(&u)).unwrap();
            let [a, b] = [a, b].map(|octets| on(curve, OnCurve::Scalar(&octets)).unwrap());
            let times = |scalar: &[u8]| on(curve, OnCurve::Multiply { element: &element, scalar }).unwrap();
            let sum = on(curve, OnCurve::AddScalars(&a, &b)).unwrap();
            prop_assert_eq!(times(&sum), on(curve, OnCurve::Add(&times(&a), &times(&b))).unwrap());
        }
    }
}
