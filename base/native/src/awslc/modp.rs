//! Exponentiation modulo the primes of RFC 3526, RFC 2409 §6.1 and RFC 7296 appendix B, in time that does not depend on the exponent.

use std::sync::OnceLock;

use aws_lc_sys as sys;

use super::bn::{Bn, OddModulus};

/// A safe-prime group with generator 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prime {
    /// RFC 2409 §6.1.
    Bits768,
    /// RFC 7296 B.2.
    Bits1024,
    /// RFC 3526 §2.
    Bits1536,
    /// RFC 3526 §3.
    Bits2048,
    /// RFC 3526 §4.
    Bits3072,
    /// RFC 3526 §5.
    Bits4096,
    /// RFC 3526 §6.
    Bits6144,
    /// RFC 3526 §7.
    Bits8192,
}

/// A prime with everything that can be computed before the first exponent is known.
struct Modulus {
    prime: OddModulus,
    two: Bn,
    largest: Bn,
}

// SAFETY: after construction every field is only read, through const pointers.
unsafe impl Send for Modulus {}
// SAFETY: as above.
unsafe impl Sync for Modulus {}

impl Prime {
    /// Every prime.
    pub const ALL: [Self; 8] = [
        Self::Bits768,
        Self::Bits1024,
        Self::Bits1536,
        Self::Bits2048,
        Self::Bits3072,
        Self::Bits4096,
        Self::Bits6144,
        Self::Bits8192,
    ];

    /// Length of the prime, and of every value written, in bytes.
    pub const fn value_len(self) -> usize {
        match self {
            Self::Bits768 => 96,
            Self::Bits1024 => 128,
            Self::Bits1536 => 192,
            Self::Bits2048 => 256,
            Self::Bits3072 => 384,
            Self::Bits4096 => 512,
            Self::Bits6144 => 768,
            Self::Bits8192 => 1024,
        }
    }

    /// The prime, big-endian.
    pub fn constant(self) -> &'static [u8] {
        static BYTES: [OnceLock<Vec<u8>>; 8] = [const { OnceLock::new() }; Prime::ALL.len()];
        BYTES[self as usize].get_or_init(|| {
            let mut bytes = vec![0; self.value_len()];
            assert!(self.modulus().prime.value().write_be(&mut bytes), "the prime fits its own length");
            bytes
        })
    }

    /// Writes 2^exponent.
    ///
    /// # Panics
    /// If `out` is shorter than the prime.
    pub fn power_of_two(self, exponent: &[u8], out: &mut [u8]) {
        let modulus = self.modulus();
        modulus.power(&modulus.two, exponent, out);
    }

    /// Writes base^exponent. RFC 6989 §2.1: false unless 1 < base < p − 1.
    ///
    /// # Panics
    /// If `out` is shorter than the prime.
    pub fn power(self, base: &[u8], exponent: &[u8], out: &mut [u8]) -> bool {
        let (modulus, base) = (self.modulus(), Bn::from_be(base));
        let valid = modulus.contains(&base);
        if valid {
            modulus.power(&base, exponent, out);
        }
        valid
    }

    /// Computed once per process.
    fn modulus(self) -> &'static Modulus {
        static MODULI: [OnceLock<Modulus>; 8] = [const { OnceLock::new() }; Prime::ALL.len()];
        MODULI[self as usize].get_or_init(|| Modulus::new(self.number()))
    }

    fn number(self) -> Bn {
        let number = Bn::zero();
        let into = number.as_ptr();
        // SAFETY: each function writes its constant into the valid number given.
        unsafe {
            match self {
                Self::Bits768 => return Bn::from_be(&OAKLEY_1),
                Self::Bits1024 => return Bn::from_be(&OAKLEY_2),
                Self::Bits1536 => sys::BN_get_rfc3526_prime_1536(into),
                Self::Bits2048 => sys::BN_get_rfc3526_prime_2048(into),
                Self::Bits3072 => sys::BN_get_rfc3526_prime_3072(into),
                Self::Bits4096 => sys::BN_get_rfc3526_prime_4096(into),
                Self::Bits6144 => sys::BN_get_rfc3526_prime_6144(into),
                Self::Bits8192 => sys::BN_get_rfc3526_prime_8192(into),
            };
        }
        number
    }
}

impl Modulus {
    fn new(prime: Bn) -> Self {
        let largest = Bn::zero();
        // SAFETY: valid numbers.
        unsafe { sys::BN_sub(largest.as_ptr(), prime.as_ptr(), Bn::from_word(1).as_ptr()) };
        Self { prime: OddModulus::new(prime), two: Bn::from_word(2), largest }
    }

    /// Whether 1 < value < p − 1.
    fn contains(&self, value: &Bn) -> bool {
        // SAFETY: valid numbers, only read.
        unsafe {
            sys::BN_cmp(value.as_ptr(), sys::BN_value_one()) > 0
                && sys::BN_cmp(value.as_ptr(), self.largest.as_ptr()) < 0
        }
    }

    fn power(&self, base: &Bn, exponent: &[u8], out: &mut [u8]) {
        let result = self.prime.power(base, &Bn::from_be(exponent));
        assert!(result.write_be(out), "a residue is no longer than its prime");
    }
}

/// RFC 2409 §6.1, which the library does not have either: 2^768 − 2^704 − 1 + 2^64 · { ⌊2^638 π⌋ + 149686 }.
const OAKLEY_1: [u8; 96] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34, 0xc4,
    0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02, 0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74, 0x02, 0x0b,
    0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79, 0x8e, 0x34, 0x04, 0xdd, 0xef, 0x95, 0x19,
    0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f, 0x14, 0x37, 0x4f, 0xe1, 0x35, 0x6d,
    0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6, 0xf4, 0x4c, 0x42, 0xe9, 0xa6,
    0x3a, 0x36, 0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
];

/// RFC 7296 B.2, which the library does not have: 2^1024 − 2^960 − 1 + 2^64 · { ⌊2^894 π⌋ + 129093 }.
const OAKLEY_2: [u8; 128] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34, 0xc4,
    0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02, 0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74, 0x02, 0x0b,
    0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79, 0x8e, 0x34, 0x04, 0xdd, 0xef, 0x95, 0x19,
    0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f, 0x14, 0x37, 0x4f, 0xe1, 0x35, 0x6d,
    0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6, 0xf4, 0x4c, 0x42, 0xe9, 0xa6,
    0x37, 0xed, 0x6b, 0x0b, 0xff, 0x5c, 0xb6, 0xf4, 0x06, 0xb7, 0xed, 0xee, 0x38, 0x6b, 0xfb, 0x5a, 0x89,
    0x9f, 0xa5, 0xae, 0x9f, 0x24, 0x11, 0x7c, 0x4b, 0x1f, 0xe6, 0x49, 0x28, 0x66, 0x51, 0xec, 0xe6, 0x53,
    0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
];
