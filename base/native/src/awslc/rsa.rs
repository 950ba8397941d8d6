//! RSA keys made from the caller's random bytes, so that one seed gives one key on every machine.
//!
//! FIPS 186-5 A.1.3 in outline: probable primes by rejection sampling, public exponent 65537. The library's own
//! generator would draw from the operating system.

use aws_lc_sys as sys;

mod searches;

use super::bn::{Bn, Scratch};
use super::owned::owned;
use super::{succeeded, wipe};

owned! {
    /// A private key.
    pub(crate) Key(sys::RSA), sys::RSA_free
}

/// FIPS 186-5 A.1.1 allows odd exponents over 2^16; this one is the usual choice.
const PUBLIC_EXPONENT: u64 = 65_537;

/// The first odd primes, as many as have a product of 64 bits.
const SMALL_PRIMES: [u64; 15] = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// The longest prime: half of 4096 bits.
const PRIME_LEN_MAX: usize = 256;

/// Makes a key with a modulus of `bits` bits.
///
/// # Panics
/// If `bits` is not a multiple of 16 up to 4096.
pub(crate) fn generate(bits: usize, fill: &mut dyn FnMut(&mut [u8])) -> Key {
    assert!(bits.is_multiple_of(16) && bits <= 16 * PRIME_LEN_MAX, "an RSA modulus of 16·n bits, up to 4096");
    let scratch = Scratch::new();
    let p = prime(bits / 16, fill, &scratch);
    let q = prime(bits / 16, fill, &scratch);
    from_primes(&p, &q, &scratch)
}

/// Draws candidates until one is prime. Candidates that a [search](searches) of the same stream has rejected before are not tested again.
fn prime(len: usize, fill: &mut dyn FnMut(&mut [u8]), scratch: &Scratch) -> Bn {
    let mut buffer = [0; PRIME_LEN_MAX];
    let candidate = &mut buffer[..len];
    fill(candidate);
    let search = searches::Search::of(candidate);
    let mut rejected = search.rejected();
    (0..rejected).for_each(|_| fill(candidate));
    let prime = loop {
        // The two highest bits give the product its full length, the lowest makes the number odd.
        candidate[0] |= 0xc0;
        candidate[len - 1] |= 1;
        let number = Bn::from_be(candidate);
        if !has_small_factor(&number) && suits_exponent(&number) && is_prime(&number, scratch) {
            break number;
        }
        fill(candidate);
        rejected += 1;
    };
    search.ended(rejected);
    wipe(&mut buffer);
    prime
}

/// Whether one of the [`SMALL_PRIMES`] divides it, which is so for five of seven odd numbers. The library's own trial division takes
/// the same time for every number, and a quarter of all the time for a key; what is thrown away need not be kept secret.
fn has_small_factor(number: &Bn) -> bool {
    let product = SMALL_PRIMES.iter().product();
    // SAFETY: a valid number, only read.
    let rest = unsafe { sys::BN_mod_word(number.as_ptr(), product) };
    SMALL_PRIMES.iter().any(|prime| rest.is_multiple_of(*prime))
}

/// Whether p − 1 has no factor in common with the public exponent, which is prime.
fn suits_exponent(number: &Bn) -> bool {
    // SAFETY: a valid number, only read.
    unsafe { sys::BN_mod_word(number.as_ptr(), PUBLIC_EXPONENT) != 1 }
}

fn is_prime(number: &Bn, scratch: &Scratch) -> bool {
    let mut answer = 0;
    // SAFETY: valid number, scratch space and place for the answer; no callback.
    let done = unsafe {
        sys::BN_primality_test(
            &raw mut answer,
            number.as_ptr(),
            sys::BN_prime_checks_for_generation,
            scratch.as_ptr(),
            1,
            std::ptr::null_mut(),
        )
    };
    assert!(succeeded(done), "a primality test fails only without memory");
    answer == 1
}

/// RFC 8017 §3.2: n = p·q, d = e⁻¹ mod λ(n), dP = d mod (p − 1), dQ = d mod (q − 1), qInv = q⁻¹ mod p.
fn from_primes(p: &Bn, q: &Bn, scratch: &Scratch) -> Key {
    let e = Bn::from_word(PUBLIC_EXPONENT);
    let (p1, q1) = (minus_one(p), minus_one(q));
    let n = multiply(p, q, scratch);
    let d = invert(&e, &least_common_multiple(&p1, &q1, scratch), scratch);
    let (dp, dq) = (divide(&d, &p1, scratch).1, divide(&d, &q1, scratch).1);
    let q_inverse = invert(q, p, scratch);
    // SAFETY: all are valid numbers, which the library copies and checks against each other.
    let key = unsafe {
        sys::RSA_new_private_key(
            n.as_ptr(),
            e.as_ptr(),
            d.as_ptr(),
            p.as_ptr(),
            q.as_ptr(),
            dp.as_ptr(),
            dq.as_ptr(),
            q_inverse.as_ptr(),
        )
    };
    Key::own(key).expect("two different primes make a key")
}

fn minus_one(number: &Bn) -> Bn {
    let result = Bn::zero();
    // SAFETY: valid numbers.
    let done = unsafe { sys::BN_sub(result.as_ptr(), number.as_ptr(), sys::BN_value_one()) };
    assert!(succeeded(done), "subtraction fails only without memory");
    result
}

fn multiply(a: &Bn, b: &Bn, scratch: &Scratch) -> Bn {
    let result = Bn::zero();
    // SAFETY: valid numbers and scratch space.
    let done = unsafe { sys::BN_mul(result.as_ptr(), a.as_ptr(), b.as_ptr(), scratch.as_ptr()) };
    assert!(succeeded(done), "multiplication fails only without memory");
    result
}

/// Quotient and remainder.
fn divide(a: &Bn, b: &Bn, scratch: &Scratch) -> (Bn, Bn) {
    let (quotient, rest) = (Bn::zero(), Bn::zero());
    // SAFETY: valid numbers and scratch space; the divisor is not zero in any call above.
    let done =
        unsafe { sys::BN_div(quotient.as_ptr(), rest.as_ptr(), a.as_ptr(), b.as_ptr(), scratch.as_ptr()) };
    assert!(succeeded(done), "division by a positive number fails only without memory");
    (quotient, rest)
}

fn least_common_multiple(a: &Bn, b: &Bn, scratch: &Scratch) -> Bn {
    let divisor = Bn::zero();
    // SAFETY: valid numbers and scratch space.
    let done = unsafe { sys::BN_gcd(divisor.as_ptr(), a.as_ptr(), b.as_ptr(), scratch.as_ptr()) };
    assert!(succeeded(done), "the greatest common divisor fails only without memory");
    divide(&multiply(a, b, scratch), &divisor, scratch).0
}

fn invert(a: &Bn, modulus: &Bn, scratch: &Scratch) -> Bn {
    let result = Bn::zero();
    // SAFETY: valid numbers and scratch space; the result is ours already.
    let done =
        unsafe { sys::BN_mod_inverse(result.as_ptr(), a.as_ptr(), modulus.as_ptr(), scratch.as_ptr()) };
    assert!(!done.is_null(), "the primes were chosen so that the inverse exists");
    result
}
