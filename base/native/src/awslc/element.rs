//! Elements of P-256, P-384 and P-521 by themselves, and arithmetic modulo the primes of their fields and modulo their orders.
//!
//! Numbers are big-endian. Nothing but [`remainder`] takes time that depends on their values.

use std::sync::OnceLock;

use aws_lc_sys as sys;

use super::bn::{Bn, OddModulus, Scratch};
use super::ec::{Curve, POINT_LEN_MAX, Point};
use super::succeeded;

/// The prime of a field or the order of a group.
pub struct Modulus {
    odd: OddModulus,
    bytes: Vec<u8>,
}

/// A curve y² = x³ − 3x + b.
struct Parameters {
    field: Modulus,
    order: Modulus,
    b: Vec<u8>,
}

impl Curve {
    /// Writes element · scalar; false unless x ‖ y is on the curve and the scalar in [1, n − 1].
    ///
    /// # Panics
    /// If `out` is not two coordinates long.
    pub fn multiply(self, element: &[u8], scalar: &[u8], out: &mut [u8]) -> bool {
        let (Some(element), Some(key)) = (self.point(element), self.key(scalar)) else { return false };
        let (product, scratch) = (self.new_point(), Scratch::new());
        // SAFETY: all are valid and of this curve; the key has a private part; the base is not multiplied.
        let done = unsafe {
            sys::EC_POINT_mul(
                self.group(),
                product.as_ptr(),
                std::ptr::null(),
                element.as_ptr(),
                sys::EC_KEY_get0_private_key(key.as_ptr()),
                scratch.as_ptr(),
            )
        };
        assert!(succeeded(done), "multiplying a point fails only without memory");
        self.write(&product, out)
    }

    /// Writes the sum of two elements; false unless both are on the curve and the sum is not the identity.
    ///
    /// # Panics
    /// If `out` is not two coordinates long.
    pub fn add(self, a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
        let (Some(a), Some(b)) = (self.point(a), self.point(b)) else { return false };
        let (sum, scratch) = (self.new_point(), Scratch::new());
        let [into, a, b] = [&sum, &a, &b].map(Point::as_ptr);
        // SAFETY: all are valid and of this curve.
        let done = unsafe { sys::EC_POINT_add(self.group(), into, a, b, scratch.as_ptr()) };
        assert!(succeeded(done), "adding points fails only without memory");
        self.write(&sum, out)
    }

    /// Whether x ‖ y is on the curve.
    pub fn contains(self, element: &[u8]) -> bool {
        self.point(element).is_some()
    }

    /// The prime of the field.
    pub fn field(self) -> &'static Modulus {
        &self.parameters().field
    }

    /// The order of the group.
    pub fn order(self) -> &'static Modulus {
        &self.parameters().order
    }

    /// The coefficient b.
    pub fn b(self) -> &'static [u8] {
        &self.parameters().b
    }

    /// False for the identity, which has no coordinates.
    fn write(self, point: &Point, out: &mut [u8]) -> bool {
        assert_eq!(out.len(), 2 * self.field_len(), "a point has two coordinates");
        // SAFETY: the point is valid and of this curve.
        if unsafe { sys::EC_POINT_is_at_infinity(self.group(), point.as_ptr()) } == 1 {
            return false;
        }
        let mut encoded = [0; POINT_LEN_MAX];
        self.encode(point, &mut encoded[..=out.len()]);
        out.copy_from_slice(&encoded[1..=out.len()]);
        super::wipe(&mut encoded);
        true
    }

    /// Computed once per process.
    fn parameters(self) -> &'static Parameters {
        static PARAMETERS: [OnceLock<Parameters>; Curve::ALL.len()] =
            [const { OnceLock::new() }; Curve::ALL.len()];
        PARAMETERS[self as usize].get_or_init(|| Parameters::of(self))
    }
}

impl Parameters {
    fn of(curve: Curve) -> Self {
        let ([p, a, b], scratch) = ([Bn::zero(), Bn::zero(), Bn::zero()], Scratch::new());
        let mut coefficient = vec![0; curve.field_len()];
        // SAFETY: valid numbers and scratch space; the order is a constant of the library, of which a copy is made.
        let (done, order) = unsafe {
            let (group, scratch) = (curve.group(), scratch.as_ptr());
            let done = sys::EC_GROUP_get_curve_GFp(group, p.as_ptr(), a.as_ptr(), b.as_ptr(), scratch);
            (done, Bn::copy(sys::EC_GROUP_get0_order(group)))
        };
        assert!(
            succeeded(done) && b.write_be(&mut coefficient),
            "the curve has coefficients below its prime"
        );
        let modulus = |value| Modulus::new(value, curve.field_len());
        Self { field: modulus(p), order: modulus(order), b: coefficient }
    }
}

impl Modulus {
    fn new(value: Bn, len: usize) -> Self {
        let mut bytes = vec![0; len];
        assert!(value.write_be(&mut bytes), "the modulus fits the length of its curve");
        Self { odd: OddModulus::new(value), bytes }
    }

    /// The modulus itself.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a number has the modulus' length and is below it.
    pub fn contains(&self, number: &[u8]) -> bool {
        // SAFETY: valid numbers, only read.
        number.len() == self.bytes.len()
            && unsafe { sys::BN_cmp(Bn::from_be(number).as_ptr(), self.odd.value().as_ptr()) } < 0
    }

    /// Writes a + b.
    ///
    /// # Panics
    /// If a number is not below the modulus, or `out` shorter than it.
    pub fn add(&self, a: &[u8], b: &[u8], out: &mut [u8]) {
        self.compute(a, b, out, |sum, a, b, modulus| {
            // SAFETY: valid numbers below the modulus.
            unsafe { sys::BN_mod_add_quick(sum, a, b, modulus) }
        });
    }

    /// Writes a − b.
    ///
    /// # Panics
    /// As [`Modulus::add`].
    pub fn subtract(&self, a: &[u8], b: &[u8], out: &mut [u8]) {
        self.compute(a, b, out, |difference, a, b, modulus| {
            // SAFETY: valid numbers below the modulus.
            unsafe { sys::BN_mod_sub_quick(difference, a, b, modulus) }
        });
    }

    /// Writes a · b.
    ///
    /// # Panics
    /// As [`Modulus::add`].
    pub fn multiply(&self, a: &[u8], b: &[u8], out: &mut [u8]) {
        let product = self.odd.product(&self.residue(a), &self.residue(b));
        assert!(product.write_be(out), "a residue is no longer than its modulus");
    }

    /// Writes base^exponent.
    ///
    /// # Panics
    /// If the base is not below the modulus, or `out` shorter than it.
    pub fn power(&self, base: &[u8], exponent: &[u8], out: &mut [u8]) {
        let power = self.odd.power(&self.residue(base), &Bn::from_be(exponent));
        assert!(power.write_be(out), "a residue is no longer than its modulus");
    }

    fn compute(
        &self,
        a: &[u8],
        b: &[u8],
        out: &mut [u8],
        step: fn(*mut sys::BIGNUM, *const sys::BIGNUM, *const sys::BIGNUM, *const sys::BIGNUM) -> i32,
    ) {
        let (result, a, b) = (Bn::zero(), self.residue(a), self.residue(b));
        let done = step(result.as_ptr(), a.as_ptr(), b.as_ptr(), self.odd.value().as_ptr());
        assert!(succeeded(done) && result.write_be(out), "a residue is no longer than its modulus");
    }

    fn residue(&self, number: &[u8]) -> Bn {
        assert!(self.contains(number), "callers reduce numbers first");
        Bn::from_be(number)
    }
}

/// Writes a number of any length modulo another one, in time that depends on it.
///
/// # Panics
/// If the modulus is zero, or `out` shorter than it.
pub fn remainder(number: &[u8], modulus: &[u8], out: &mut [u8]) {
    let (result, scratch) = (Bn::zero(), Scratch::new());
    let (number, modulus) = (Bn::from_be(number), Bn::from_be(modulus));
    // SAFETY: valid numbers and scratch space.
    let done = unsafe { sys::BN_nnmod(result.as_ptr(), number.as_ptr(), modulus.as_ptr(), scratch.as_ptr()) };
    assert!(succeeded(done) && result.write_be(out), "a remainder is no longer than its modulus");
}
